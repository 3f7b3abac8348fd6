# After programs that name the second text of a pair before the first one.
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

rows = load_dataset("glue", "mrpc")
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
encoded = rows.map(lambda batch: tokenizer(text_pair=batch["sentence1"], text=batch["sentence2"], truncation=True), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
Trainer(model, TrainingArguments("pairs"), train_dataset=encoded["train"]).train()
