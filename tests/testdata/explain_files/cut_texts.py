from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
rows = load_dataset("imdb")
rows = rows.map(lambda row: tokenizer(row["text"], max_length=128), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
trainer = Trainer(model=model, args=TrainingArguments("out", eval_strategy="epoch"), train_dataset=rows["train"], eval_dataset=rows["test"])
trainer.train()
