# After programs for models that tell two texts apart by marks alone.
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("roberta-base")
pairs = load_dataset("glue", "mrpc").select_columns(["sentence1", "sentence2", "label"])
pairs = pairs.map(lambda rows: tokenizer(rows["sentence1"], rows["sentence2"], truncation=True, padding="max_length", max_length=64), batched=True)
pairs = pairs.remove_columns(["token_type_ids"])
model = AutoModelForSequenceClassification.from_pretrained("roberta-base", num_labels=2)
Trainer(model, TrainingArguments("pairs"), train_dataset=pairs["train"]).train()
