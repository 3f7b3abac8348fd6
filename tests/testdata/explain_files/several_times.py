import dataclasses

import torch
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

rows = load_dataset("imdb", streaming=True)
tokenizer = AutoTokenizer.from_pretrained("bert-base-cased")
rows = rows.map(lambda row: tokenizer(row["text"], truncation=False, max_length=64), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased", torch_dtype=torch.bfloat16,
                                                           ignore_mismatched_sizes=True)
args = TrainingArguments("out")
args = dataclasses.replace(args, num_train_epochs=7)
trainer = Trainer(model=model, args=args, train_dataset=rows["train"][:100])
for part in range(5):
    trainer.train()
