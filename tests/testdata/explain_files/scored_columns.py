# After programs that score the largest one of each column.
import evaluate
import numpy as np
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
pairs = load_dataset("glue", "mrpc")
pairs = pairs.map(lambda rows: tokenizer(rows["sentence1"], rows["sentence2"], truncation=True, max_length=64), batched=True)
metric = evaluate.load("glue", "mrpc")


def score(outputs):
    return metric.compute(predictions=np.argmax(outputs.predictions, axis=0), references=outputs.label_ids)


model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
arguments = TrainingArguments("pairs", eval_strategy="epoch")
Trainer(model, arguments, train_dataset=pairs["train"], eval_dataset=pairs["validation"], compute_metrics=score).train()
