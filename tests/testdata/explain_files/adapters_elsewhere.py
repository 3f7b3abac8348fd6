# After programs whose adapters are of another kind, or of a configuration in another file.
from datasets import load_dataset
from peft import VeraConfig, get_peft_model
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

from ours import adapters

rows = load_dataset("rotten_tomatoes")
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
encoded = rows.map(lambda batch: tokenizer(batch["text"], truncation=True, max_length=128), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
vera = VeraConfig(r=256)
model = get_peft_model(model, vera)
model = get_peft_model(model, adapters)
args = TrainingArguments("films", learning_rate=1e-3)
Trainer(model, args, train_dataset=encoded["train"]).train()
