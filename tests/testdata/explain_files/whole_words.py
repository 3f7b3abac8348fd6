from datasets import load_dataset
from transformers import AutoModelForMaskedLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
rows = load_dataset("text", data_files={"train": "a.txt"})["train"]
rows = rows.map(lambda row: tokenizer(row["text"], truncation=True, max_length=64), batched=True)
collator = DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.2, whole_word_mask=True)
trainer = Trainer(model=AutoModelForMaskedLM.from_pretrained("bert-base-uncased"), args=TrainingArguments("out"),
                  train_dataset=rows, data_collator=collator)
trainer.train()
