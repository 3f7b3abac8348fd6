#!/usr/bin/env python3
"""Times training, embedding and a search beside sentence-transformers, on the same texts and the same model.

    python3 embedding_speed.py BERTH VOCABULARY TEXTS.csv FOLDER [--passages 5000] [--steps 20] [--turns 2] [--precision bf16]

VOCABULARY is the folder of an uncased BERT vocabulary. TEXTS.csv has a column `text`. The model has the shape of all-MiniLM-L6-v2 and
random weights, which cost the same time as trained ones. A pair is the two halves of a text. The programs take turns, so that a
machine that becomes slower slows both. Start and loading count for neither in training; in the other two rows they count for berth
alone. Needs torch, sentence-transformers, datasets and pandas.
"""
import argparse
import json
import os
import pathlib
import subprocess
import time

import pandas
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.evaluation import InformationRetrievalEvaluator
from sentence_transformers.losses import MultipleNegativesRankingLoss
from sentence_transformers.models import Normalize, Pooling, Transformer
from transformers import BertConfig, BertModel, BertTokenizerFast

BATCH, LENGTH, QUERIES = 128, 128, 500


def make_model(vocabulary, folder):
    torch.manual_seed(1)
    encoder = folder / "encoder"
    tokenizer = BertTokenizerFast(vocab_file=str(pathlib.Path(vocabulary) / "vocab.txt"), do_lower_case=True, model_max_length=512)
    tokenizer.save_pretrained(encoder)
    BertModel(BertConfig(vocab_size=len(tokenizer), hidden_size=384, num_hidden_layers=6, num_attention_heads=12,
                         intermediate_size=1536)).save_pretrained(encoder)
    transformer = Transformer(str(encoder), max_seq_length=LENGTH)
    SentenceTransformer(modules=[transformer, Pooling(384), Normalize()]).save(str(folder / "model"))
    return str(folder / "model")


class Peer:
    def __init__(self, model, pairs, texts, options):
        self.model, self.pairs, self.texts, self.options = model, pairs, texts, options
        self.bf16 = options.precision == "bf16"

    def load(self):
        model = SentenceTransformer(self.model, device="cpu")
        return model.to(torch.bfloat16) if self.bf16 else model

    def train(self):
        model = SentenceTransformer(self.model, device="cpu")
        arguments = SentenceTransformerTrainingArguments(
            output_dir=str(self.options.folder / "peer"), per_device_train_batch_size=BATCH, max_steps=self.options.steps, bf16=self.bf16,
            use_cpu=True, report_to=[], save_strategy="no", logging_strategy="no", disable_tqdm=True)
        trainer = SentenceTransformerTrainer(model=model, args=arguments, train_dataset=Dataset.from_list(self.pairs),
                                             loss=MultipleNegativesRankingLoss(model))
        return trainer.train().metrics["train_samples_per_second"]

    def embed(self):
        model = self.load()
        begin = time.perf_counter()
        model.encode(self.texts, batch_size=BATCH, show_progress_bar=False)
        return len(self.texts) / (time.perf_counter() - begin)

    def search(self):
        model = self.load()
        corpus = {str(i): text for i, text in enumerate(self.texts)}
        queries = {str(i): self.pairs[i]["anchor"] for i in range(QUERIES)}
        evaluator = InformationRetrievalEvaluator(queries, corpus, {query: {query} for query in queries}, batch_size=BATCH)
        begin = time.perf_counter()
        evaluator(model)
        return (len(corpus) + QUERIES) / (time.perf_counter() - begin)


class Berth:
    def __init__(self, model, options):
        self.model, self.options = model, options

    def run(self, *flags):
        begin = time.perf_counter()
        subprocess.run([self.options.berth, *flags, "--precision", self.options.precision, "--eval-batch-size", str(BATCH)],
                       check=True, capture_output=True)
        return time.perf_counter() - begin

    def train(self):
        job = self.options.folder / "job"
        subprocess.run(["rm", "-rf", str(job)], check=True)
        self.run("--task", "similarity", "--train-data-file", str(self.options.folder / "pairs.jsonl"), "--model", self.model, "--batch-size",
                 str(BATCH), "--max-steps", str(self.options.steps), "--validation-split", "0", "--max-seq-length", str(LENGTH),
                 "--job-dir", str(job))
        return json.loads((job / "metrics.json").read_text())["train"]["examples_per_second"]

    def embed(self):
        folder = self.options.folder
        return self.options.passages / self.run("--mode", "embed", "--predict-data-file", str(folder / "texts.csv"), "--model", self.model,
                                                "--predictions-file", str(folder / "vectors.npy"))

    def search(self):
        return (self.options.passages + QUERIES) / self.run("--mode", "eval", "--eval-retrieval", str(self.options.folder / "search"),
                                                            "--model", self.model)


def write_inputs(texts, pairs, folder):
    pandas.DataFrame({"text": texts}).to_csv(folder / "texts.csv", index=False)
    lines = lambda rows: "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "pairs.jsonl").write_text(lines(pairs))
    (folder / "search/qrels").mkdir(parents=True, exist_ok=True)
    (folder / "search/corpus.jsonl").write_text(lines({"_id": str(i), "text": text} for i, text in enumerate(texts)))
    (folder / "search/queries.jsonl").write_text(lines({"_id": str(i), "text": pairs[i]["anchor"]} for i in range(QUERIES)))
    (folder / "search/qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(f"{i}\t{i}\t1\n" for i in range(QUERIES)))


def main():
    parser = argparse.ArgumentParser()
    for name in ("berth", "vocabulary", "texts", "folder"):
        parser.add_argument(name)
    parser.add_argument("--passages", type=int, default=5000)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--precision", choices=("bf16", "fp32"), default="bf16")
    options = parser.parse_args()
    options.folder = pathlib.Path(options.folder)
    options.folder.mkdir(parents=True, exist_ok=True)
    texts = [text for text in pandas.read_csv(options.texts)["text"].astype(str) if len(text.split()) > 7][: options.passages]
    options.passages = len(texts)
    pairs = []
    for text in texts:
        words = text.split()
        pairs.append({"anchor": " ".join(words[: len(words) // 2]), "positive": " ".join(words[len(words) // 2 :])})
    write_inputs(texts, pairs, options.folder)
    model = make_model(options.vocabulary, options.folder)
    sides = {"berth": Berth(model, options), "sentence-transformers": Peer(model, pairs, texts, options)}
    print(f"{options.precision}, {os.cpu_count()} cores, {len(texts)} texts; examples a second")
    for what in ("train", "embed", "search"):
        found = {name: [] for name in sides}
        for _ in range(options.turns):
            for name, side in sides.items():
                found[name].append(getattr(side, what)())
        best = {name: max(values) for name, values in found.items()}
        print(what, {name: [round(value, 1) for value in values] for name, values in found.items()},
              f"ratio {best['berth'] / best['sentence-transformers']:.2f}", flush=True)


main()
