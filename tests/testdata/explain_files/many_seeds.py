from datasets import load_dataset
from torch.utils.data import Subset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

reviews = load_dataset("imdb")
tokenizer = AutoTokenizer.from_pretrained("roberta-base")
encoded = reviews.map(lambda rows: tokenizer(rows["text"], truncation=True), batched=True)


def train(seed):
    model = AutoModelForSequenceClassification.from_pretrained("roberta-base", num_labels=2)
    args = TrainingArguments("out", lr_scheduler_type="polynomial", lr_scheduler_kwargs={"power": 2.0}, accelerator_config={"split_batches": True})
    Trainer(model, args, train_dataset=Subset(encoded["train"], range(100))).train()


for seed in (1, 2, 3):
    train(seed)
