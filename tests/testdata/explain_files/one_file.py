from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

rows = load_dataset("csv", data_files={"train": "data.csv"}, delimiter=",")
tokenizer = AutoTokenizer.from_pretrained("distilbert-base-uncased")
model = AutoModelForSequenceClassification.from_pretrained("distilbert-base-uncased", num_labels=2)
rows = rows.map(lambda row: tokenizer(row["text"], truncation=True, max_length=128), batched=True)
Trainer(model=model, args=TrainingArguments("out", evaluation_strategy="epoch"), train_dataset=rows["train"]).train()
