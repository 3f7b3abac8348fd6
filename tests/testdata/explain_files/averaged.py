import evaluate
import numpy as np
from datasets import load_dataset
from sklearn.metrics import accuracy_score, precision_recall_fscore_support
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

news = load_dataset("ag_news")
tokenizer = AutoTokenizer.from_pretrained("roberta-base")
f1 = evaluate.load("f1")


def scores(outputs):
    classes = np.argmax(outputs.predictions, axis=-1)
    precision, recall, f1, _ = precision_recall_fscore_support(outputs.label_ids, classes, average="weighted")
    return {"accuracy": accuracy_score(outputs.label_ids, classes), "f1": f1}


def means(outputs):
    return f1.compute(predictions=np.argmax(outputs[0], axis=-1), references=outputs[1], average="macro")


encoded = news.map(lambda rows: tokenizer(rows["text"], truncation=True), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("roberta-base", num_labels=4)
args = TrainingArguments("news", eval_strategy="epoch", save_strategy="epoch", load_best_model_at_end=True, metric_for_best_model="f1")
Trainer(model, args, train_dataset=encoded["train"], eval_dataset=encoded["test"], compute_metrics=scores).train()
