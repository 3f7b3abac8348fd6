# After programs whose functions make the model and the rows, and give them on.
import torch
from datasets import DatasetDict, load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

NAME = "bert-base-uncased"
tokenizer = AutoTokenizer.from_pretrained(NAME)


def encode(batch):
    return tokenizer(batch["text"], truncation=True, max_length=128)


def get_rows():
    rows = load_dataset("rotten_tomatoes")
    return rows.map(encode, batched=True, remove_columns=["text"])


def get_model(device):
    model = AutoModelForSequenceClassification.from_pretrained(NAME, num_labels=2)
    print(model.config.id2label.items(), NAME.split("-"), model.name_or_path.split("/"))
    return model.to(device)


def train(model, train_rows, scored):
    args = TrainingArguments(output_dir="films", eval_strategy="epoch", num_train_epochs=2)
    trainer = Trainer(model=model, args=args, train_dataset=train_rows, eval_dataset=scored, optimizers=(None, None))
    trainer.train()
    trainer.evaluate()


if __name__ == "__main__":
    rows = get_rows()
    parts = DatasetDict({"train": rows["train"].shuffle(seed=3), "validation": rows["validation"]})
    model = get_model(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    train(model, parts["train"], scored=parts["validation"] if parts else None)
