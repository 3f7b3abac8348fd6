# After programs whose adapters keep the task's head as it is.
from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

rows = load_dataset("rotten_tomatoes")
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
encoded = rows.map(lambda batch: tokenizer(batch["text"], truncation=True, max_length=128), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
model = get_peft_model(model, LoraConfig(r=8, lora_alpha=16, target_modules=["query", "value"]))
args = TrainingArguments("films", learning_rate=1e-3)
Trainer(model, args, train_dataset=encoded["train"]).train()
