#!/usr/bin/env python3
"""Compares cross-encoders with sentence-transformers: the first loss, the scores of the exported folder, and the metrics.

    python tests/peers/check_reranking.py BERTH

Made-up rows train the tiny test model for one update, without dropout. The loss must be that of sentence-transformers for the same folder
and rows (to 1e-4). CrossEncoder(path) must load the finished model and give each pair the score of --mode predict (to 1e-4), also of pairs
that are cut. CrossEncoderRerankingEvaluator must find the metrics of --mode eval (to 1e-6). Needs sentence-transformers and pandas.
"""
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import pandas  # noqa: E402
import torch  # noqa: E402
from safetensors.torch import load_file  # noqa: E402
from sentence_transformers import CrossEncoder  # noqa: E402
from sentence_transformers.cross_encoder.evaluation import CrossEncoderRerankingEvaluator  # noqa: E402
from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss, LambdaLoss, MarginMSELoss, MSELoss  # noqa: E402

TINY = pathlib.Path(__file__).parents[1] / "testdata/tiny_model"
ROWS, PASSAGES, LENGTH = 40, 5, 24


def make_rows():
    rng = random.Random(7)
    words = [word for word in (TINY / "vocab.txt").read_text().split() if word.isalpha()]
    texts = lambda count: [" ".join(rng.choices(words, k=rng.randint(2, 20))) for _ in range(count)]  # noqa: E731
    return [(query, texts(PASSAGES)) for query in texts(ROWS)]


def margins_of(row):
    """How much higher a teacher scores the first passage of a row than each other one."""
    return [(row * 7 + i * 3) % 11 / 4 - 0.5 for i in range(1, PASSAGES)]


def run(binary, *flags):
    done = subprocess.run([binary, *map(str, flags)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, flags))}: {done.stderr}")
    return done.stdout


def peer_loss(model, rows, name):
    queries, passages = [query for query, _ in rows], [texts for _, texts in rows]
    pairs = [[query, text] for query, texts in rows for text in texts]
    labels = torch.tensor([float(i == 0) for _, texts in rows for i, _ in enumerate(texts)])
    model.train()
    with torch.no_grad():
        if name == "lambda":
            return LambdaLoss(model)([queries, passages], [torch.tensor([1.0] + [0.0] * (PASSAGES - 1))] * len(rows)).item()
        if name == "margin_mse":
            columns = [[texts[i] for texts in passages] for i in range(PASSAGES)]
            return MarginMSELoss(model)([queries, *columns], torch.tensor([margins_of(row) for row in range(len(rows))])).item()
        if name == "softmax":
            logits = model(model.preprocess(pairs))["scores"].view(len(rows), PASSAGES)
            return torch.nn.functional.cross_entropy(logits, torch.zeros(len(rows), dtype=torch.long)).item()
        loss = {"bce": BinaryCrossEntropyLoss, "mse": MSELoss}.get(name)
        made = loss(model) if loss else BinaryCrossEntropyLoss(model, pos_weight=torch.tensor(4.0))
        return made([[pair[0] for pair in pairs], [pair[1] for pair in pairs]], labels).item()


def check_losses(binary, scratch, rows, folder):
    table = {"query": [query for query, _ in rows], "positive": [texts[0] for _, texts in rows]}
    table |= {f"negative_{i}": [texts[i] for _, texts in rows] for i in range(1, PASSAGES)}
    pandas.DataFrame(table).to_parquet(scratch / "lists.parquet")
    pandas.DataFrame(table | {"scores": [margins_of(row) for row in range(len(rows))]}).to_parquet(scratch / "margins.parquet")
    pairs = [(query, text, int(i == 0)) for query, texts in rows for i, text in enumerate(texts)]
    pandas.DataFrame(pairs, columns=["query", "passage", "label"]).to_csv(scratch / "pairs.csv", index=False)
    cases = {"bce": [], "weighted": ["--positive-weight", 4], "mse": ["--reranking-loss", "mse"]}
    for name, flags in (cases | {loss: ["--reranking-loss", loss] for loss in ("softmax", "lambda", "margin_mse")}).items():
        expected = peer_loss(CrossEncoder(str(folder), max_length=LENGTH), rows, name)
        for file in ("margins.parquet",) if name == "margin_mse" else ("lists.parquet", "pairs.csv"):
            if file == "pairs.csv" and name not in cases:
                continue
            job = scratch / f"{name}-{file}"
            run(binary, "--task", "reranking", "--train-data-file", scratch / file, "--model", folder, "--max-steps", 1, "--batch-size",
                len(pairs), "--validation-split", 0, "--max-seq-length", LENGTH, "--adam-epsilon", "1e-3", "--lr-scheduler-type", "constant", "--learning-rate", "1e-3", "--precision", "fp32", "--job-dir", job, *flags)
            loss = json.loads((job / "metrics.json").read_text())["train"]["loss"]
            print(f"{name:10} {file:14} loss {loss:.6f}, sentence-transformers {expected:.6f}")
            if abs(loss - expected) > 1e-4 * max(1, abs(expected)):
                sys.exit("the losses differ")
    for name in cases:  # an update of lists is the one of their pairs
        one, two = (load_file(scratch / f"{name}-{file}" / "model/model.safetensors") for file in ("lists.parquet", "pairs.csv"))
        apart = max((one[key] - two[key]).abs().max().item() for key in one)
        print(f"{name:10} weights of lists and of pairs {apart:.2e} apart")
        first = load_file(folder / "model.safetensors")
        moved = max((one[key] - first[key]).abs().max().item() for key in first)
        if apart > 1e-5 or moved < 1e-4:
            sys.exit("lists train another model than their pairs")
    return [scratch / job / "model" for job in ("bce-pairs.csv", "mse-pairs.csv", "margin_mse-margins.parquet")]


def check_scores(binary, scratch, rows, model):
    lines = run(binary, "--mode", "predict", "--model", model, "--predict-data-file", scratch / "pairs.csv", "--max-seq-length", LENGTH,
                "--precision", "fp32", "--predictions-file", "-").splitlines()[1:]
    ours = [float(line.split("\t")[1]) for line in lines]
    loaded = CrossEncoder(str(model))
    if loaded.max_seq_length != LENGTH:
        sys.exit(f"CrossEncoder cuts at {loaded.max_seq_length} tokens")
    theirs = loaded.predict([(query, text) for query, texts in rows for text in texts])
    apart = max(abs(a - b) for a, b in zip(ours, theirs.tolist(), strict=True))
    print(f"scores of {model.parent.name}: {apart:.2e} apart at most, {loaded.activation_fn}")
    if apart > 1e-4:
        sys.exit("the scores differ")
    out = run(binary, "--mode", "eval", "--model", model, "--eval-data-file", scratch / "pairs.csv", "--max-seq-length", LENGTH,
              "--precision", "fp32")
    found = json.loads(out)["eval"]
    samples = [{"query": query, "positive": texts[:1], "negative": texts[1:]} for query, texts in rows]
    for name, value in CrossEncoderRerankingEvaluator(samples, write_csv=False)(loaded).items():
        if abs(found[name.replace("@", "_at_")] - value) > 1e-6:
            sys.exit(f"{name} is {value}, and berth finds {found}")


def main():
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        folder = scratch / "start"
        CrossEncoder(str(TINY), num_labels=1).save_pretrained(str(folder))
        config = json.loads((folder / "config.json").read_text())
        config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        (folder / "config.json").write_text(json.dumps(config))
        shutil.copy(TINY / "vocab.txt", folder)
        rows = make_rows()
        for model in check_losses(binary, scratch, rows, folder):
            check_scores(binary, scratch, rows, model)
    print("all as sentence-transformers")


main()
