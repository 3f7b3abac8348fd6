# After programs of SetFit, whose arguments have the name of those of transformers.
from datasets import load_dataset
from setfit import SetFitModel, Trainer, TrainingArguments, sample_dataset

rows = load_dataset("sst2")
few = sample_dataset(rows["train"], label_column="label", num_samples=8)
model = SetFitModel.from_pretrained("sentence-transformers/paraphrase-mpnet-base-v2")
args = TrainingArguments(batch_size=16, num_epochs=4, evaluation_strategy="epoch")
trainer = Trainer(model=model, args=args, train_dataset=few, eval_dataset=rows["validation"])
trainer.train()
