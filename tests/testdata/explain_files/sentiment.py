import numpy as np
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

checkpoint = "distilbert-base-uncased"
batch_size = 16
reviews = load_dataset("imdb")
tokenizer = AutoTokenizer.from_pretrained(checkpoint)


def encode(rows):
    return tokenizer(rows["text"], truncation=True, max_length=256)


encoded = reviews.map(encode, batched=True)
model = AutoModelForSequenceClassification.from_pretrained(checkpoint, num_labels=2)
arguments = TrainingArguments(
    output_dir="runs/sentiment",
    learning_rate=2e-5,
    per_device_train_batch_size=batch_size,
    per_device_eval_batch_size=batch_size,
    num_train_epochs=2,
    weight_decay=0.01,
    eval_strategy="epoch",  # after each one
    save_strategy="epoch",
    load_best_model_at_end=True,
    push_to_hub=False,
)
trainer = Trainer(model=model, args=arguments, train_dataset=encoded["train"], eval_dataset=encoded["test"])
trainer.train()
trainer.evaluate()
