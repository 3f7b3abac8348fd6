# After programs that learn scores with the outputs of classes.
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
pairs = load_dataset("glue", "stsb")
pairs = pairs.map(lambda rows: tokenizer(rows["sentence1"], rows["sentence2"], truncation=True, max_length=64), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
Trainer(model, TrainingArguments("pairs"), train_dataset=pairs["train"]).train()
