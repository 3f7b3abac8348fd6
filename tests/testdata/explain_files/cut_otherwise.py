# After programs that join texts, and cut them in another way than into blocks behind one another.
from datasets import load_dataset
from transformers import AutoModelForMaskedLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments

block_size = 128
rows = load_dataset("text", data_files="lines.txt")
tokenizer = AutoTokenizer.from_pretrained("roberta-base")
model = AutoModelForMaskedLM.from_pretrained("roberta-base")


def group_texts(batch):
    joined = {key: sum(batch[key], [])[:10000] for key in batch}
    total = len(joined["input_ids"])
    return {key: [ids[i : i + block_size] for i in range(0, total, block_size // 2)] for key, ids in joined.items()}


encoded = rows.map(lambda batch: tokenizer(batch["text"]), batched=True, remove_columns=["text"])
blocks = encoded.map(group_texts, batched=True, batch_size=10)
masks = DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15)
Trainer(model, TrainingArguments("masked"), masks, blocks["train"]).train()
