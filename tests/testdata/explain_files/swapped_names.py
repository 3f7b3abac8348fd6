from datasets import DatasetDict, load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
first = load_dataset("imdb", split="train")
second = load_dataset("imdb", split="test")
rows = DatasetDict({"train": second, "test": first})
rows = rows.map(lambda row: tokenizer(row["text"], truncation=True), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
trainer = Trainer(model=model, args=TrainingArguments("out", eval_strategy="epoch"), train_dataset=rows["train"], eval_dataset=rows["test"])
trainer.train()
