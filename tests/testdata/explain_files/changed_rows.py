from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

reviews = load_dataset("imdb")
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")


def flip(row):
    row["label"] = 1 - row["label"]
    return row


def clean(row):
    return {"text": row["text"].lower().replace("<br />", " ")}


def encode(rows):
    tokens = tokenizer(rows["text"], truncation=True)
    tokens["labels"] = rows["label"]
    return tokens


flipped = reviews.map(flip)
cleaned = flipped.map(clean)
twice = cleaned.map(lambda row: {"label": row["label"] * 2})
encoded = twice.map(encode, batched=True)
few = encoded["train"].take(100)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased")
arguments = TrainingArguments("out", eval_strategy="epoch")
Trainer(model, arguments, train_dataset=few, eval_dataset=encoded["train"]).train()
