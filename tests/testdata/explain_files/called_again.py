# After programs whose function trains each time that others call it.
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
films = load_dataset("rotten_tomatoes").map(lambda rows: tokenizer(rows["text"], truncation=True, max_length=64), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
trainer = Trainer(model, TrainingArguments("films"), train_dataset=films["train"])


class Job:
    def learn(self):
        trainer.train()

    def unused(self):
        trainer.train()


def once():
    Job().learn()


def twice():
    once()
    once()


if __name__ == "__main__":
    twice()
