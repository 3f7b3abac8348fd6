from simpletransformers.classification import ClassificationModel

model = ClassificationModel("roberta", "roberta-base", args={"num_train_epochs": 3})
model.train_model(rows)
