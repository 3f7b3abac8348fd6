from datasets import load_dataset
from transformers import BertForSequenceClassification, BertTokenizerFast, Trainer, TrainingArguments

rows = load_dataset("csv", data_files={"train": "train.csv", "val": "val.csv", "test": "test.csv"})
tokenizer = BertTokenizerFast.from_pretrained("bert-base-uncased")
model = BertForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=4)
rows = rows.map(lambda row: tokenizer(row["review"], truncation=True, max_length=64), batched=True)
rows = rows.rename_column("stars", "labels")
trainer = Trainer(model=model, args=TrainingArguments("out", eval_strategy="epoch"), train_dataset=rows["train"],
                  eval_dataset=rows["val"])
trainer.train()
