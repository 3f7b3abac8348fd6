"""Compares an exported model in transformers with berth's own predictions.

    python tests/peers/check_model.py MODEL_DIR TEXTS.jsonl PREDICTIONS.tsv

Each line of TEXTS is {"text": ...}. PREDICTIONS is the output of `berth --mode predict` for it. The probabilities must agree to
1e-5. The labels and their order must be the same.
"""

import json
import sys

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

model_dir, texts_file, predictions_file = sys.argv[1:]
tokenizer = AutoTokenizer.from_pretrained(model_dir)
model = AutoModelForSequenceClassification.from_pretrained(model_dir).eval()
texts = [json.loads(line)["text"] for line in open(texts_file, encoding="utf-8")]
lines = [line.rstrip("\n").split("\t") for line in open(predictions_file, encoding="utf-8")]
header, rows = lines[0], lines[1:]
labels = [model.config.id2label[i] for i in range(model.config.num_labels)]
assert header == ["id", "prediction"] + labels, header
assert len(rows) == len(texts), (len(rows), len(texts))

largest = 0.0
with torch.no_grad():
    for row, text in zip(rows, texts):
        inputs = tokenizer(text, truncation=True, max_length=128, return_tensors="pt")
        probabilities = model(**inputs).logits.softmax(-1)[0].double()
        ours = torch.tensor([float(value) for value in row[2:]], dtype=torch.float64)
        largest = max(largest, float((probabilities - ours).abs().max()))
        assert row[1] == labels[int(ours.argmax())], row
print(f"{len(texts)} texts: probabilities differ by at most {largest:.2e}")
sys.exit(largest > 1e-5)
