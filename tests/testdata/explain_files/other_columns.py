from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, Trainer, TrainingArguments

claims = load_dataset("csv", data_files={"train": "claims.csv", "validation": "more.csv"})
claims = claims.rename_column("verdict", "label")
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased", do_lower_case=True)
encoded = claims.map(lambda row: tokenizer(row["claim"], row["evidence"], truncation=True, max_length=200), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=3)
args = TrainingArguments("claims", eval_strategy="epoch")
Trainer(model, args, train_dataset=encoded["train"], eval_dataset=encoded["validation"], data_collator=DataCollatorWithPadding(tokenizer)).train()
