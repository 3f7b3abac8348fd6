# After programs that rename columns together, and take labels from another column.
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

rows = load_dataset("ours/reviews").rename_columns({"headline": "title", "id": "number"})
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")


def encode(batch):
    encoded = tokenizer(batch["title"], truncation=True, max_length=128)
    encoded["labels"] = batch["stars"]
    return encoded


encoded = rows.map(encode, batched=True)
train = encoded["train"]
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=6)
Trainer(model, TrainingArguments("stars"), train_dataset=train).train()
