"""Fine-tunes with PyTorch and transformers, as berth does, for comparison.

    python bench/peer/train_torch.py --train df.pickle --eval test.csv --config bert_config.json --vocab vocab.txt

The optimizer is AdamW with decay 0.01 (not on biases and LayerNorm), gradients clipped to norm 1.0, linear warm-up over 10 % of the
updates and linear decay. Each batch is padded to its longest text, as the Hugging Face Trainer does. Texts are tokenized before the
clock starts. Prints one JSON object.
"""

import argparse
import json
import time

import pandas
import torch
from tokenizers import BertWordPieceTokenizer
from transformers import AutoConfig, AutoModelForSequenceClassification, get_linear_schedule_with_warmup

arguments = argparse.ArgumentParser()
for name in ("train", "eval", "config", "vocab"):
    arguments.add_argument("--" + name, required=True)
arguments.add_argument("--epochs", type=int, default=2)
arguments.add_argument("--batch-size", type=int, default=32)
arguments.add_argument("--learning-rate", type=float, default=5e-4)
arguments.add_argument("--warmup-ratio", type=float, default=0.1)
arguments.add_argument("--max-seq-length", type=int, default=128)
arguments.add_argument("--seed", type=int, default=42)
arguments.add_argument("--threads", type=int, default=2)
arguments.add_argument("--max-steps", type=int, default=0)
options = arguments.parse_args()
torch.manual_seed(options.seed)
torch.set_num_threads(options.threads)

tokenizer = BertWordPieceTokenizer(options.vocab, lowercase=True)
tokenizer.enable_truncation(options.max_seq_length)


def load(path):
    table = pandas.read_pickle(path) if path.endswith("pickle") else pandas.read_csv(path)
    ids = [torch.tensor(encoding.ids) for encoding in tokenizer.encode_batch(list(table["text"]))]
    return ids, torch.tensor(table["label"].to_numpy())


def collate(ids, rows):
    padded = torch.nn.utils.rnn.pad_sequence([ids[i] for i in rows], batch_first=True)
    return {"input_ids": padded, "attention_mask": (padded != 0).long()}


train_ids, train_labels = load(options.train)
eval_ids, eval_labels = load(options.eval)
keys = json.load(open(options.config))
config = AutoConfig.for_model(keys.pop("model_type", "bert"), **keys)
config.num_labels = int(train_labels.max()) + 1
model = AutoModelForSequenceClassification.from_config(config)
plain = [p for n, p in model.named_parameters() if n.endswith("bias") or "LayerNorm" in n]
decayed = [p for n, p in model.named_parameters() if not (n.endswith("bias") or "LayerNorm" in n)]
optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}],
                              lr=options.learning_rate)
steps_per_epoch = -(-len(train_ids) // options.batch_size)
total = steps_per_epoch * options.epochs
schedule = get_linear_schedule_with_warmup(optimizer, int(options.warmup_ratio * total), total)

seconds, examples, steps, accuracies = 0.0, 0, 0, []
for epoch in range(options.epochs):
    model.train()
    order = torch.randperm(len(train_ids)).tolist()
    for begin in range(0, len(order), options.batch_size):
        start = time.perf_counter()
        rows = order[begin : begin + options.batch_size]
        loss = model(**collate(train_ids, rows), labels=train_labels[rows]).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        seconds += time.perf_counter() - start
        examples += len(rows)
        steps += 1
        if steps == options.max_steps:
            break
    if steps == options.max_steps:
        break
    model.eval()
    correct = 0
    with torch.no_grad():
        for begin in range(0, len(eval_ids), 100):
            rows = range(begin, min(begin + 100, len(eval_ids)))
            logits = model(**collate(eval_ids, rows)).logits
            correct += int((logits.argmax(-1) == eval_labels[begin : begin + len(rows)]).sum())
    accuracies.append(correct / len(eval_ids))
print(json.dumps({"torch": torch.__version__, "examples_per_second": examples / seconds, "accuracy": accuracies}))
