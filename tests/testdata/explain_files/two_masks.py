# After programs that mask in two ways.
from datasets import load_dataset
from transformers import AutoModelForMaskedLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
films = load_dataset("rotten_tomatoes").map(lambda rows: tokenizer(rows["text"], truncation=True, max_length=64), batched=True)
masks = DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.4)
later_masks = DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15)
model = AutoModelForMaskedLM.from_pretrained("bert-base-uncased")
Trainer(model, TrainingArguments("films"), train_dataset=films["train"], data_collator=masks).train()
