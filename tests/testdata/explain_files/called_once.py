# After programs whose main function trains, and that another program may start, too.
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


def main():
    once()


def start(index):
    main()


if __name__ == "__main__":
    main()
