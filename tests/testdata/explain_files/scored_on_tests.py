from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

rows = load_dataset("rotten_tomatoes")
print(rows["validation"][0])
tokenizer = AutoTokenizer.from_pretrained("bert-base-cased")
rows = rows.map(lambda row: tokenizer(row["text"], truncation=True), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased")
scored = rows["test"]
args = TrainingArguments("out", eval_strategy="epoch")
Trainer(model=model, args=args, train_dataset=rows["train"], eval_dataset=scored).train()
