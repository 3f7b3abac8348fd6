from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
rows = load_dataset("imdb")


def encode(row):
    tokens = tokenizer(row["text"], truncation=True, padding="max_length")
    return {"input_ids": tokens["input_ids"]}


rows = rows.map(encode, batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", id2label={0: "a", 1: "b", 2: "c"})
trainer = Trainer(model, TrainingArguments("out", eval_strategy="epoch"), train_dataset=rows["train"], eval_dataset=rows["test"])
trainer.train()
