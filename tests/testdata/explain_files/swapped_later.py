from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
first = load_dataset("imdb", split="train")
second = load_dataset("imdb", split="test")


def encode(row):
    return tokenizer(row["text"], truncation=True)


one = first.map(encode, batched=True)
two = second.map(encode, batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
trainer = Trainer(model=model, args=TrainingArguments("out", eval_strategy="epoch"), train_dataset=two, eval_dataset=one)
trainer.train()
