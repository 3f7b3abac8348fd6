# After programs that set labels and texts in the function that tokenizes them.
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, BertTokenizer, Trainer, TrainingArguments

rows = load_dataset("rotten_tomatoes")
tokenizer = BertTokenizer("vocab.txt")


def encode(row):
    row["label"] = 1
    row["text"] = row["title"]
    return tokenizer(row["text"], truncation=True, max_length=128)


encoded = rows.map(encode)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
Trainer(model, TrainingArguments("films"), train_dataset=encoded["train"]).train()
