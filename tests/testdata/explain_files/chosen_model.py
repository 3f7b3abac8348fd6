# After programs that choose their model and arguments by a condition.
import sys

from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
films = load_dataset("rotten_tomatoes").map(lambda rows: tokenizer(rows["text"], truncation=True, max_length=64), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
if "--lora" in sys.argv:
    model = get_peft_model(model, LoraConfig(task_type="SEQ_CLS", r=8))
if sys.platform == "linux":
    arguments = TrainingArguments("films", num_train_epochs=1)
else:
    arguments = TrainingArguments("films", num_train_epochs=9)
Trainer(model, arguments, train_dataset=films["train"]).train()
