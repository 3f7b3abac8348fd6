# After programs that make their arguments twice, and train with the second ones.
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

rows = load_dataset("yelp_review_full")
tokenizer = AutoTokenizer.from_pretrained("bert-base-cased")
tokenized = rows.map(lambda batch: tokenizer(batch["text"], padding="max_length", truncation=True), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased", num_labels=5)
args = TrainingArguments(output_dir="first_try")
args = TrainingArguments(output_dir="scored", evaluation_strategy="epoch")
trainer = Trainer(model=model, args=args, train_dataset=tokenized["train"], eval_dataset=tokenized["test"])
trainer.train()
