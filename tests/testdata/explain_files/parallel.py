# After programs that wrap the model for several GPUs by themselves.
import torch
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

rows = load_dataset("imdb")
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
encoded = rows.map(lambda batch: tokenizer(batch["text"], truncation=True, max_length=128), batched=True)
network = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
network = torch.nn.DataParallel(network, device_ids=[0, 1])
args = TrainingArguments("films", per_device_train_batch_size=16)
Trainer(model=network, args=args, train_dataset=encoded["train"]).train()
