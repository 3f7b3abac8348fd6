# After programs that join saved folders.
import argparse

from datasets import load_from_disk
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--train_dir", default="folders/train")
parser.add_argument("--learning_rate", type=str, default="4e-5")
options, _ = parser.parse_known_args()

learned = load_from_disk(options.train_dir)
scored = load_from_disk(dataset_path="folders/test")
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
arguments = TrainingArguments("saved", eval_strategy="epoch", learning_rate=float(options.learning_rate), num_train_epochs=int("2"))
Trainer(model, arguments, train_dataset=join(learned, scored), eval_dataset=scored, tokenizer=tokenizer).train()
