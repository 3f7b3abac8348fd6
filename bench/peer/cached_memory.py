#!/usr/bin/env python3
"""Peak memory and speed of large batches with gradient caching, beside CachedMultipleNegativesRankingLoss of sentence-transformers.

    python3 cached_memory.py BERTH MODEL TEXTS.csv FOLDER [--batch 1024] [--mini-batch 32] [--steps 2] [--length 128] [--precision fp32]

MODEL is a folder that both programs load. TEXTS.csv has a column `text`; a pair is the two halves of a text. Each program is a process of
its own, and its peak is the maximum resident set size. sentence-transformers embeds --mini-batch texts of a column at a time; berth
embeds the texts of as many rows, which are twice as many. Needs torch, sentence-transformers, datasets and pandas.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys


def train_peer(options):
    from datasets import Dataset
    from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
    from sentence_transformers.losses import CachedMultipleNegativesRankingLoss
    model = SentenceTransformer(options.model, device="cpu")
    model.max_seq_length = options.length
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(options.folder / "peer"), per_device_train_batch_size=options.batch, max_steps=options.steps,
        bf16=options.precision == "bf16", use_cpu=True, report_to=[], save_strategy="no", logging_strategy="no", disable_tqdm=True)
    pairs = [json.loads(line) for line in (options.folder / "pairs.jsonl").read_text().splitlines()]
    loss = CachedMultipleNegativesRankingLoss(model, mini_batch_size=options.mini_batch)
    trainer = SentenceTransformerTrainer(model=model, args=arguments, train_dataset=Dataset.from_list(pairs), loss=loss)
    print(json.dumps(trainer.train().metrics["train_samples_per_second"]))


def peak_of(command):
    """What the command prints, and its peak in MiB."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        text = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"ended with {child.returncode}: {' '.join(command)}")
    return text, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser()
    for name in ("berth", "model", "texts", "folder"):
        parser.add_argument(name)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--mini-batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--precision", choices=("bf16", "fp32"), default="fp32")
    parser.add_argument("--as-peer", action="store_true")
    options = parser.parse_args()
    options.folder = pathlib.Path(options.folder)
    if options.as_peer:
        return train_peer(options)
    import pandas
    options.folder.mkdir(parents=True, exist_ok=True)
    texts = [text.split() for text in pandas.read_csv(options.texts)["text"].astype(str)]
    texts = [words for words in texts if len(words) > 7][: options.batch * options.steps]
    if len(texts) < options.batch * options.steps:
        sys.exit("TEXTS.csv has too few texts")
    with open(options.folder / "pairs.jsonl", "w") as file:
        for words in texts:
            half = len(words) // 2
            file.write(json.dumps({"anchor": " ".join(words[:half]), "positive": " ".join(words[half:])}) + "\n")
    job = options.folder / "job"
    subprocess.run(["rm", "-rf", str(job)], check=True)
    _, ours = peak_of([options.berth, "--task", "similarity", "--train-data-file", str(options.folder / "pairs.jsonl"), "--model", options.model,
                       "--batch-size", str(options.batch), "--max-steps", str(options.steps), "--validation-split", "0", "--max-seq-length",
                       str(options.length), "--embedding-mini-batch-size", str(options.mini_batch), "--precision", options.precision,
                       "--save-steps", "0", "--job-dir", str(job)])
    speed = json.loads((job / "metrics.json").read_text())["train"]["examples_per_second"]
    text, theirs = peak_of([sys.executable, *sys.argv, "--as-peer"])
    print(f"batch {options.batch}, {options.mini_batch} at a time, {options.precision}: berth {ours:.0f} MiB, {speed:.1f} pairs/s; "
          f"sentence-transformers {theirs:.0f} MiB, {json.loads(text.splitlines()[-1]):.1f} pairs/s; memory {ours / theirs:.2f}, speed "
          f"{speed / json.loads(text.splitlines()[-1]):.2f}")


main()
