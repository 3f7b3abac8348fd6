"""Fine-tunes with transformers' Trainer on a task's raw files. berth's accuracy and time are compared with its.

    python bench/peer/trainer_tasks.py --task mrpc --data-dir MRPC --model DIRECTORY --output-dir scratch

The Trainer uses its defaults except for the flags, which are named as berth's. --pad-to-max-length pads to --max-seq-length, which is the
default of run_glue.py. Without it a batch is padded to its longest text. --max-steps stops early, for timings. --evaluations N evaluates
N times at even distances and reports the best, as load_best_model_at_end would choose. Prints one JSON object. Its "seconds" are the
Trainer's train_runtime without the evaluations; loading is not included.
"""

import argparse
import csv
import json
import logging
import math
import os
import time

import numpy
import pandas
import torch
from scipy.stats import pearsonr
from sklearn.metrics import accuracy_score, f1_score
from transformers import (AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, Trainer,
                          TrainingArguments, default_data_collator)

TASKS = {"mrpc": ("#1 String", "#2 String", "Quality"), "stsb": ("sentence1", "sentence2", "score"),
         "sst2": ("sentence", None, "label"), "ag": ("text", None, "label")}

arguments = argparse.ArgumentParser()
arguments.add_argument("--task", choices=TASKS, required=True)
arguments.add_argument("--data-dir", required=True)
arguments.add_argument("--model", required=True)
arguments.add_argument("--output-dir", required=True)
arguments.add_argument("--epochs", type=float, default=3)
arguments.add_argument("--batch-size", type=int, default=16)
arguments.add_argument("--learning-rate", type=float, default=1e-4)
arguments.add_argument("--warmup-ratio", type=float, default=0.1)
arguments.add_argument("--max-seq-length", type=int, default=128)
arguments.add_argument("--pad-to-max-length", action="store_true")
arguments.add_argument("--seed", type=int, default=42)
arguments.add_argument("--threads", type=int, default=2)
arguments.add_argument("--max-steps", type=int, default=-1)
arguments.add_argument("--evaluations", type=int, default=1)
arguments.add_argument("--bf16", action="store_true")
arguments.add_argument("--no-dropout", action="store_true")
options = arguments.parse_args()
torch.set_num_threads(options.threads)
logging.disable(logging.WARNING)
begin = time.time()


def table(name):
    """The columns of a file: the text, the second text or None, and the label."""
    if options.task == "ag":
        name = {"train": "df.pickle", "dev": "test_head3000.csv"}[name]
        path = os.path.join(options.data_dir, name)
        return pandas.read_pickle(path) if name.endswith("pickle") else pandas.read_csv(path)
    path = os.path.join(options.data_dir, name + ".tsv")
    return pandas.read_csv(path, sep="\t", quoting=csv.QUOTE_NONE, encoding="utf-8-sig", on_bad_lines="skip")


first, second, label = TASKS[options.task]
is_regression = options.task == "stsb"
tokenizer = AutoTokenizer.from_pretrained(options.model)


def examples(name):
    rows = table(name)
    texts = [list(rows[column].astype(str)) for column in (first, second) if column]
    encoded = tokenizer(*texts, truncation=True, max_length=options.max_seq_length,
                        padding="max_length" if options.pad_to_max_length else False)
    labels = rows[label].astype(float if is_regression else int).tolist()
    return [{**{key: encoded[key][i] for key in encoded}, "label": labels[i]} for i in range(len(labels))]


def metrics(prediction):
    if is_regression:
        return {"pearson": pearsonr(prediction.predictions.squeeze(), prediction.label_ids)[0]}
    classes = numpy.argmax(prediction.predictions, axis=1)
    scores = {"accuracy": accuracy_score(prediction.label_ids, classes)}
    if options.task == "mrpc":
        scores["f1"] = f1_score(prediction.label_ids, classes)
    return scores


train, dev = examples("train"), examples("dev") if options.max_steps <= 0 else None
classes = 1 if is_regression else 1 + max(example["label"] for example in train)
dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0} if options.no_dropout else {}
updates = math.ceil(options.epochs * math.ceil(len(train) / options.batch_size))
between = {"evaluation_strategy": "steps", "eval_steps": math.ceil(updates / options.evaluations)} if options.evaluations > 1 else {}
torch.manual_seed(options.seed)  # the head is initialized before the Trainer sets its seed
model = AutoModelForSequenceClassification.from_pretrained(options.model, num_labels=classes, **dropout)
trainer = Trainer(
    model=model,
    args=TrainingArguments(output_dir=options.output_dir, num_train_epochs=options.epochs,
                           per_device_train_batch_size=options.batch_size, per_device_eval_batch_size=options.batch_size,
                           learning_rate=options.learning_rate, warmup_ratio=options.warmup_ratio, seed=options.seed,
                           weight_decay=0.01, max_steps=options.max_steps, bf16=options.bf16, use_cpu=True,
                           save_strategy="no", logging_strategy="no", report_to="none", disable_tqdm=True, **between),
    train_dataset=train, eval_dataset=dev,
    data_collator=default_data_collator if options.pad_to_max_length else DataCollatorWithPadding(tokenizer),
    compute_metrics=metrics)
seconds = trainer.train().metrics["train_runtime"]
evaluations = [entry for entry in trainer.state.log_history if "eval_loss" in entry]
seconds -= sum(entry["eval_runtime"] for entry in evaluations)
if options.max_steps <= 0 and (not evaluations or evaluations[-1]["step"] < trainer.state.global_step):
    evaluations.append(trainer.evaluate())
metric = {"stsb": "eval_pearson", "mrpc": "eval_f1"}.get(options.task, "eval_accuracy")
scores = {}
if evaluations:
    best = max(evaluations, key=lambda entry: entry[metric])
    scores = {key[5:]: best[key] for key in ("eval_pearson", "eval_accuracy", "eval_f1") if key in best}
    scores["evaluations"] = [entry[metric] for entry in evaluations]
print(json.dumps({"task": options.task, "seed": options.seed, "seconds": seconds, "whole_seconds": time.time() - begin,
                  "examples": len(train), "updates": trainer.state.global_step, "torch": torch.__version__, **scores}))
