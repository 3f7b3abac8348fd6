from datasets import load_dataset
from transformers import AutoModelForMaskedLM, AutoTokenizer, DataCollatorForLanguageModeling, DataCollatorForWholeWordMask, Trainer, TrainingArguments

name = "bert-base-uncased"
texts = load_dataset("text", data_files={"train": "a.txt", "validation": "b.txt"})
tokenizer = AutoTokenizer.from_pretrained(name)


def group_texts(rows):
    return {key: [part[i : i + 64] for part in parts for i in range(0, len(part), 64)] for key, parts in rows.items()}


blocks = texts.map(lambda rows: tokenizer(rows["text"], truncation=True), batched=True).map(group_texts, batched=True)
model = AutoModelForMaskedLM.from_pretrained(name)
masks = DataCollatorForLanguageModeling(tokenizer, True, 0.3, mask_replace_prob=1.0)
args = TrainingArguments("masked", eval_strategy="epoch")
Trainer(model, args, train_dataset={"a": blocks["train"]}, eval_dataset=blocks["validation"], data_collator=masks).train()
