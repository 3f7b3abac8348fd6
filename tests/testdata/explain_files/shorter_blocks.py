# After programs whose function for blocks has a length of its own.
from datasets import load_dataset
from transformers import AutoModelForMaskedLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments

block_size = 128
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
texts = load_dataset("wikitext", "wikitext-2-raw-v1")


def group_texts(rows, block_size=64):
    joined = {key: sum(rows[key], []) for key in rows}
    total = len(joined["input_ids"]) // block_size * block_size
    blocks = {key: [ids[i : i + block_size] for i in range(0, total, block_size)] for key, ids in joined.items()}
    blocks["labels"] = blocks["input_ids"].copy()
    return blocks


blocks = texts.map(lambda rows: tokenizer(rows["text"]), batched=True, remove_columns=["text"]).map(group_texts, batched=True)
model = AutoModelForMaskedLM.from_pretrained("bert-base-uncased")
Trainer(model, TrainingArguments("blocks"), train_dataset=blocks["train"], data_collator=DataCollatorForLanguageModeling(tokenizer)).train()
