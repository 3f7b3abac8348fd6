# After programs that mask the tokens of two texts, which berth does for one text of a row.
from datasets import load_dataset
from transformers import AutoModelForMaskedLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments

rows = load_dataset("ours/titles")
tokenizer = AutoTokenizer.from_pretrained("roberta-base")
model = AutoModelForMaskedLM.from_pretrained("roberta-base")
encoded = rows.map(lambda batch: tokenizer(batch["title"], batch["text"], truncation=True, max_length=128), batched=True)
masks = DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15)
Trainer(model, TrainingArguments("masked"), masks, encoded["train"]).train()
