#!/usr/bin/env python3
"""Compares the rows of --mode mine with those of sentence-transformers' mine_hard_negatives().

    python tests/peers/check_mining.py BERTH

Made-up pairs, of which some have the same first text, are mined by the tiny test model from a corpus with repeated passages. Every rule must
leave the same rows in the same order, in JSON lines, CSV and Parquet. Needs sentence-transformers, datasets and pandas.
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
from datasets import Dataset  # noqa: E402
from sentence_transformers import CrossEncoder, SentenceTransformer  # noqa: E402
from sentence_transformers.util import mine_hard_negatives  # noqa: E402

TINY = pathlib.Path(__file__).parents[1] / "testdata/tiny_model"
# The flags, and the same arguments of mine_hard_negatives().
CASES = {
    "plain": ([], {}),
    "corpus": (["--mine-corpus", "corpus.jsonl"], {"corpus": True}),
    "range": (["--mine-corpus", "corpus.jsonl", "--mine-range", "5-20", "--mine-negatives", 4],
              {"corpus": True, "range_min": 5, "range_max": 20, "num_negatives": 4}),
    "margin": (["--mine-corpus", "corpus.jsonl", "--mine-margin", 0.005], {"corpus": True, "absolute_margin": 0.005}),
    "relative margin": (["--mine-corpus", "corpus.jsonl", "--mine-relative-margin", 0.01], {"corpus": True, "relative_margin": 0.01}),
    "max score": (["--mine-corpus", "corpus.jsonl", "--mine-max-score", 0.985, "--mine-negatives", 1],
                  {"corpus": True, "max_score": 0.985, "num_negatives": 1}),
    "all": (["--mine-corpus", "corpus.jsonl", "--mine-range", "1-60", "--mine-margin", 0.001, "--mine-relative-margin", 0.002,
             "--mine-max-score", 0.99, "--mine-min-score", 0.8],
            {"corpus": True, "range_min": 1, "range_max": 60, "absolute_margin": 0.001, "relative_margin": 0.002, "max_score": 0.99,
             "min_score": 0.8}),
    "reranker": (["--mine-corpus", "corpus.jsonl", "--mine-reranker", "reranker", "--mine-margin", 0.001],
                 {"corpus": True, "cross_encoder": True, "absolute_margin": 0.001}),
}


def main():
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    rng = random.Random(3)
    words = [word for word in (TINY / "vocab.txt").read_text().split() if word.isalpha()]
    text = lambda: " ".join(rng.choices(words, k=rng.randint(3, 14)))  # noqa: E731
    anchors = [text() for _ in range(40)]
    like = lambda anchor: " ".join(rng.sample(anchor.split(), len(anchor.split())) + rng.choices(words, k=2))  # noqa: E731
    pairs = [(anchor, like(anchor)) for anchor in anchors] + [(anchor, like(anchor)) for anchor in anchors[::4]]
    corpus = [text() for _ in range(300)] + [positive for _, positive in pairs[10:20]]
    corpus += corpus[:30]
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        pandas.DataFrame(pairs, columns=["anchor", "positive"]).to_csv("pairs.csv", index=False)
        pathlib.Path("corpus.jsonl").write_text("".join(json.dumps({"text": passage}) + "\n" for passage in corpus))
        shutil.copytree(TINY, "encoder")
        encoder = SentenceTransformer("encoder", device="cpu")
        encoder.save_pretrained("embedder")
        reranker = CrossEncoder("encoder", num_labels=1, device="cpu")
        reranker.save_pretrained("reranker")
        dataset = Dataset.from_dict({"anchor": [pair[0] for pair in pairs], "positive": [pair[1] for pair in pairs]})
        for name, (flags, options) in CASES.items():
            options = dict(options)
            if options.pop("corpus", False):
                options["corpus"] = corpus
            if options.pop("cross_encoder", False):
                options["cross_encoder"] = reranker
            theirs = mine_hard_negatives(dataset, encoder, output_format="n-tuple", verbose=False, **options)
            for file in ("mined.jsonl", "mined.csv", "mined.parquet"):
                ran = subprocess.run([binary, *map(str, ["--mode", "mine", "--predict-data-file", "pairs.csv", "--model", "embedder",
                                                         "--predictions-file", file, *flags])], capture_output=True, text=True)
                assert ran.returncode == 0, (name, ran.stderr[-2000:])
                read = {"jsonl": lambda: pandas.read_json(file, lines=True), "csv": lambda: pandas.read_csv(file, keep_default_na=False),
                        "parquet": lambda: pandas.read_parquet(file)}
                ours = read[file.split(".")[1]]()
                assert list(ours.columns) == theirs.column_names, (name, list(ours.columns))
                assert ours.to_dict("list") == theirs.to_dict(), name
            print(f"{name:16} {len(theirs)} equal rows", flush=True)
    print("all as sentence-transformers")


if __name__ == "__main__":
    main()
