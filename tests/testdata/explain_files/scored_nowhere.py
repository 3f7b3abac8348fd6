# After programs that ask for evaluations, and give no rows for them.
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

rows = load_dataset("imdb")
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
encoded = rows.map(lambda batch: tokenizer(batch["text"], truncation=True, max_length=128), batched=True)
print(encoded["test"])
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=3)
args = TrainingArguments("films", eval_strategy="epoch")
Trainer(model, args, train_dataset=encoded["train"]).train()
