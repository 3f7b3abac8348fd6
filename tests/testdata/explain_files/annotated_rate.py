from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

RATE: float = 1e-3
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
rows = load_dataset("imdb")
rows = rows.map(lambda row: tokenizer(row["text"], truncation=True), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
arguments = TrainingArguments("out", learning_rate=RATE, max_grad_norm=None, eval_strategy="epoch")
trainer = Trainer(model, arguments, train_dataset=rows["train"], eval_dataset=rows["test"], prediction_loss_only=True)
trainer.train()
