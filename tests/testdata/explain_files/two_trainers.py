# After programs that train several models one after the other.
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

rows = load_dataset("rotten_tomatoes")
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
encoded = rows.map(lambda batch: tokenizer(batch["text"], truncation=True, max_length=128), batched=True)
small = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
large = AutoModelForSequenceClassification.from_pretrained("bert-large-uncased", num_labels=2)
first = TrainingArguments("small", num_train_epochs=2)
second = TrainingArguments("large", num_train_epochs=5)
print(large, second)
small_trainer = Trainer(small, first, lambda rows: rows, encoded["train"])
large_trainer = Trainer(large, second, None, encoded["train"])
small_trainer.train()
large_trainer.train()
