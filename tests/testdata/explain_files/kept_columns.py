# After programs that keep all columns that count.
from datasets import load_dataset
from transformers import BertForSequenceClassification, BertTokenizer, Trainer, TrainingArguments

tokenizer = BertTokenizer.from_pretrained("bert-base-uncased")
pairs = load_dataset("glue", "mrpc").select_columns(["sentence1", "sentence2", "label"])
pairs = pairs.map(lambda rows: tokenizer(rows["sentence1"], rows["sentence2"], truncation=True, padding="max_length", max_length=64), batched=True)
pairs.set_format("torch", columns=["input_ids", "token_type_ids", "attention_mask", "label"])
model = BertForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
Trainer(model, TrainingArguments("pairs"), train_dataset=pairs["train"]).train()
