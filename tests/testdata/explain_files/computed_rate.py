import argparse

from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=8e-5)
rate = parser.parse_args().lr

rows = load_dataset("org/reviews", split="train").train_test_split(test_size=0.1, seed=1)
tokenizer = AutoTokenizer.from_pretrained("org/encoder")
tokenizer.model_max_length = 256
rows = rows.map(lambda row: tokenizer(row["text"], truncation=True), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("org/encoder", num_labels=2)
arguments = TrainingArguments("out", eval_strategy="epoch", learning_rate=rate)
Trainer(model=model, args=arguments, train_dataset=rows["train"], eval_dataset=rows["test"], tokenizer=tokenizer).train()
