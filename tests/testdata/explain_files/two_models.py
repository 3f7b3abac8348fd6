# After programs with several models and arguments, of which the Trainer gets the first ones.
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
Trainer(small, first, None, encoded["train"]).train()
