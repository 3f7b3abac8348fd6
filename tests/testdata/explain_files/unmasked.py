from datasets import load_dataset
from transformers import AutoModelForMaskedLM, AutoTokenizer, Trainer, TrainingArguments

name = "bert-base-uncased"
tokenizer = AutoTokenizer.from_pretrained(name)
model = AutoModelForMaskedLM.from_pretrained(name)
rows = load_dataset("wikitext", "wikitext-2-raw-v1")
rows = rows.map(lambda row: tokenizer(row["text"], truncation=True, max_length=128), batched=True)
Trainer(model=model, args=TrainingArguments("out"), train_dataset=rows["train"]).train()
