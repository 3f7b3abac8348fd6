# After programs that give texts several labels, and count them from a threshold on.
import numpy as np
import torch
from datasets import load_dataset
from sklearn.metrics import f1_score
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments

rows = load_dataset("ours/topics")
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
encoded = rows.map(lambda batch: tokenizer(batch["text"], truncation=True, max_length=256), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased", problem_type="multi_label_classification", num_labels=6)


def count(outputs, truths, threshold=0.5):
    chances = torch.nn.Sigmoid()(torch.Tensor(outputs))
    found = np.zeros(chances.shape)
    found[np.where(chances >= threshold)] = 1
    return {"f1": f1_score(truths, found, average="micro")}


def score(pair):
    return count(pair.predictions, pair.label_ids)


args = TrainingArguments("topics", eval_strategy="epoch", load_best_model_at_end=True, metric_for_best_model="f1")
Trainer(model, args, train_dataset=encoded["train"], eval_dataset=encoded["validation"], compute_metrics=score).train()
