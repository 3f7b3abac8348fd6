# After programs that keep the two outputs of a model for three classes.
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
pairs = load_dataset("glue", "mnli")
pairs = pairs.map(lambda rows: tokenizer(rows["premise"], rows["hypothesis"], truncation=True, max_length=64), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased")
Trainer(model, TrainingArguments("pairs"), train_dataset=pairs["train"]).train()
