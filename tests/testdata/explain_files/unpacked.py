# After programs that give arguments on from mappings.
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

from ours import options

rows = load_dataset("rotten_tomatoes")
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
encoded = rows.map(lambda batch: tokenizer(batch["text"], **options), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2, **options)
args = TrainingArguments(output_dir="films", **options)
Trainer(model=model, args=args, train_dataset=encoded["train"], **options).train()
