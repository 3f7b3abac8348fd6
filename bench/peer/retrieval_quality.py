#!/usr/bin/env python3
"""Trains a retriever by the same recipe in berth and in sentence-transformers, and prints nDCG@10 of each seed.

    python3 bench/peer/retrieval_quality.py BERTH SET FOLDER [--model PATH] [--pairs 3072] [--epochs 1] [--seeds 1 2 3]

SET is what scripts/make-retrieval-set.py made. Its first pairs are trained on, and its test queries search among the passages of these pairs
and of all queries. Both programs learn in-batch negatives without equal texts in a batch, with AdamW and a linear schedule. The folders of
both are scored by InformationRetrievalEvaluator of sentence-transformers, in fp32. Results are kept in FOLDER, so that the
same command goes on. Needs torch, sentence-transformers and datasets.
"""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import time

import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from sentence_transformers.sentence_transformer.training_args import BatchSamplers

LENGTH, DECAY, WARMUP = 64, 0.01, 0.1


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def load(model):
    loaded = SentenceTransformer(str(model), device="cpu", model_kwargs={"dtype": torch.float32})
    loaded.max_seq_length = LENGTH
    return loaded


def train_peer(options, pairs, seed, folder):
    model = load(options.model)
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(folder / "steps"), per_device_train_batch_size=options.batch, num_train_epochs=options.epochs, learning_rate=options.rate,
        weight_decay=DECAY, warmup_ratio=WARMUP, lr_scheduler_type="linear", seed=seed, batch_sampler=BatchSamplers.NO_DUPLICATES,
        use_cpu=True, report_to=[], save_strategy="no", logging_strategy="no", disable_tqdm=True)
    trainer = SentenceTransformerTrainer(model=model, args=arguments, train_dataset=Dataset.from_list(pairs),
                                         loss=MultipleNegativesRankingLoss(model))
    trainer.train()
    model.save(str(folder / "model"))


def train_berth(options, precision, seed, folder):
    subprocess.run([options.berth, "--task", "similarity", "--train-data-file", str(options.folder / "pairs.jsonl"), "--model", options.model,
                    "--validation-split", "0", "--batch-size", str(options.batch), "--epochs", str(options.epochs), "--learning-rate",
                    str(options.rate), "--weight-decay", str(DECAY), "--warmup-ratio", str(WARMUP), "--lr-scheduler-type", "linear",
                    "--seed", str(seed), "--batch-sampler", "no_duplicates", "--max-seq-length", str(LENGTH), "--precision", precision,
                    "--save-steps", "0", "--job-dir", str(folder)], check=True, capture_output=True)


def main():
    parser = argparse.ArgumentParser()
    for name in ("berth", "set", "folder"):
        parser.add_argument(name)
    parser.add_argument("--model", default="examples/model")
    for name, default in (("pairs", 3072), ("epochs", 1), ("batch", 32)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--rate", type=float, default=5e-4)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--precisions", nargs="+", default=["fp32"])
    options = parser.parse_args()
    options.folder = pathlib.Path(options.folder)
    options.folder.mkdir(parents=True, exist_ok=True)
    source = pathlib.Path(options.set)
    pairs = lines(source / "train.jsonl")[: options.pairs]
    (options.folder / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    judged = [line.split("\t")[:2] for line in (source / "qrels/test.tsv").read_text().splitlines()[1:]]
    others = {line.split("\t")[1] for line in (source / "qrels/dev.tsv").read_text().splitlines()[1:]} | {passage for _, passage in judged}
    known = {pair["positive"] for pair in pairs}
    corpus = {row["_id"]: row["text"] for row in lines(source / "corpus.jsonl") if row["_id"] in others or row["text"] in known}
    texts = {row["_id"]: row["text"] for row in lines(source / "queries.jsonl")}
    evaluator = InformationRetrievalEvaluator({query: texts[query] for query, _ in judged}, corpus, {query: {passage} for query, passage in judged},
                                              batch_size=64, write_csv=False)
    score = lambda model: float(evaluator(load(model))["cosine_ndcg@10"])  # noqa: E731
    print(f"{len(pairs)} pairs, {len(corpus)} passages, {len(judged)} queries; untrained {score(options.model):.4f}", flush=True)
    sides = {"sentence-transformers": lambda seed, folder: train_peer(options, pairs, seed, folder)}
    for precision in options.precisions:
        sides["berth " + precision] = lambda seed, folder, precision=precision: train_berth(options, precision, seed, folder)
    found = {name: [] for name in sides}
    for seed in options.seeds:
        for name, train in sides.items():
            folder = options.folder / f"{name}-{seed}"
            kept = options.folder / f"{name}-{seed}.json"
            if not kept.exists():
                shutil.rmtree(folder, ignore_errors=True)
                begin = time.perf_counter()
                train(seed, folder)
                seconds = time.perf_counter() - begin
                kept.write_text(json.dumps({"ndcg": score(folder / "model"), "seconds": seconds}))
            result = json.loads(kept.read_text())
            found[name].append(result["ndcg"])
            print(f"{name}, seed {seed}: nDCG@10 {result['ndcg']:.4f} after {result['seconds']:.0f} s", flush=True)
    for name, values in found.items():
        print(f"{name}: mean {statistics.mean(values):.4f}, {min(values):.4f} to {max(values):.4f}")


main()
