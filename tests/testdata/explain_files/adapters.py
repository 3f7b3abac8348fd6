from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

films = load_dataset("rotten_tomatoes")
tokenizer = AutoTokenizer.from_pretrained("roberta-base")
encoded = films.map(lambda rows: tokenizer(rows["text"], truncation=True), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("roberta-base", num_labels=2)
model = get_peft_model(model, LoraConfig(task_type="SEQ_CLS", r=4, lora_alpha=16, bias="all", use_dora=True))
args = TrainingArguments("films", learning_rate=1e-3)
Trainer(model, args, train_dataset=encoded["train"]).train()
