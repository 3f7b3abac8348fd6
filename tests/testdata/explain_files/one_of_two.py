# After programs that read one of two texts, turn two round by keywords, and choose classes in ways that they do not show.
import evaluate
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

rows = load_dataset("glue", "mrpc")
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")


def encode(batch, places):
    return tokenizer(batch["sentence1"], truncation=True)


def score(outputs):
    return evaluate.load("accuracy").compute(predictions=outputs.predictions.squeeze(), references=outputs.label_ids)


encoded = rows.map(encode, batched=True, with_indices=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
model.bert.encoder.layer[0].attention.self.dropout.p = 0
Trainer(model, TrainingArguments("one"), train_dataset=encoded["train"], compute_metrics=score).train()
