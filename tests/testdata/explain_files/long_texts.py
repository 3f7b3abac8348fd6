from datasets import load_from_disk
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

rows = load_from_disk("saved/reviews")
tokenizer = AutoTokenizer.from_pretrained("answerdotai/ModernBERT-base")
tokens = rows.map(lambda batch: tokenizer(batch["text"], truncation=True), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("answerdotai/ModernBERT-base")
arguments = TrainingArguments("out", per_device_train_batch_size=4)
Trainer(model, arguments, train_dataset=tokens["train"]).train()
