# After programs that give a split the name of another one.
from datasets import DatasetDict, load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
films = load_dataset("rotten_tomatoes").map(lambda rows: tokenizer(rows["text"], truncation=True, max_length=64), batched=True)
films["train"] = films["validation"]
films = DatasetDict({"train": films["train"], "validation": films["test"]})
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
Trainer(model, TrainingArguments("films", eval_strategy="epoch"), train_dataset=films["train"], eval_dataset=films["validation"]).train()
