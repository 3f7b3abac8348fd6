from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

rows = load_dataset("imdb")
tokenizer = AutoTokenizer.from_pretrained("bert-base-cased")
rows = rows.map(lambda row: tokenizer(row["text"], truncation=True), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased")
args = TrainingArguments("out", eval_strategy="epoch")
Trainer(model=model, args=args, train_dataset=rows["test"], eval_dataset=rows["train"]).train()
