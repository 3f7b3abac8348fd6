# After programs that score other rows at their end than the Trainer evaluates on.
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

rows = load_dataset("rotten_tomatoes")
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
encoded = rows.map(lambda batch: tokenizer(batch["text"], truncation=True, max_length=128), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
args = TrainingArguments("films", eval_strategy="epoch")
trainer = Trainer(model, args, train_dataset=encoded["train"], eval_dataset=encoded["validation"])
trainer.train()
trainer.evaluate(encoded["validation"])
trainer.evaluate(encoded["test"])
