# After programs whose functions get their values as arguments.
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

epochs = 3
rate = 1e-5


def arguments(out, epochs, rate=4e-5):
    return TrainingArguments(out, num_train_epochs=epochs, learning_rate=rate)


def train(name, epochs):
    tokenizer = AutoTokenizer.from_pretrained(name)
    films = load_dataset("rotten_tomatoes").map(lambda rows: tokenizer(rows["text"], truncation=True, max_length=64), batched=True)
    model = AutoModelForSequenceClassification.from_pretrained(name, num_labels=2)
    Trainer(model, arguments("films", epochs), train_dataset=films["train"]).train()


train("bert-base-cased", 5)
