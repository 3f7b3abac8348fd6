from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

posts = load_dataset("csv", data_files={"train": "posts.csv", "validation": "more.csv"})
tokenizer = AutoTokenizer.from_pretrained("bert-base-cased")


def encode(row):
    return tokenizer(row["title"] + " " + row["body"], truncation=True)


def shift(row):
    row["labels"] = row["stars"] - 1
    return tokenizer(row["body"], truncation=True, add_special_tokens=False)


encoded = posts.map(encode)
shifted = posts.map(shift)
prompted = posts.map(lambda row: tokenizer(f"review: {row['body']}", truncation=True))
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=5)
args = TrainingArguments("posts", eval_strategy="epoch")
args.num_train_epochs = 7
Trainer(model, args, train_dataset=encoded["train"], eval_dataset=encoded["validation"], data_collator=lambda rows: rows).train()
