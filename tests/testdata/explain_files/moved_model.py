# After programs that move their model by a condition.
import torch
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
films = load_dataset("rotten_tomatoes").map(lambda rows: tokenizer(rows["text"], truncation=True, max_length=64), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
if torch.cuda.is_available():
    model = model.to("cuda")
if __name__ == "__main__":
    Trainer(model, TrainingArguments("films"), train_dataset=films["train"]).train()
