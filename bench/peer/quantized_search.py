#!/usr/bin/env python3
"""Prints what small embeddings cost a search: nDCG@10 of float32, int8 and binary vectors, and of binary ones that are scored again.

    python3 bench/peer/quantized_search.py BERTH SET MODEL FOLDER [--split test]

SET is a folder of BEIR without titles, such as scripts/make-retrieval-set.py makes. `--mode embed` writes the passages in each
type, and the queries in float32 and ubinary. The last rows take the 40 or 100 nearest passages by binary vectors, and order them by the
products of float32 queries with int8 passages. So both small files serve a search, and float32 vectors of passages are not needed. The
ranges of int8 are the passages'. Files in FOLDER are kept. Needs numpy.
"""
import argparse
import csv
import json
import pathlib
import subprocess

import numpy

BEST = 10


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


class Search:
    def __init__(self, options):
        self.options, self.folder = options, pathlib.Path(options.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        source = pathlib.Path(options.set)
        with open(source / "qrels" / f"{options.split}.tsv", encoding="utf-8") as file:
            judged = [(row["query-id"], row["corpus-id"], float(row["score"])) for row in csv.DictReader(file, delimiter="\t")]
        passages = lines(source / "corpus.jsonl")
        places = {passage["_id"]: i for i, passage in enumerate(passages)}
        asked = {query for query, _, _ in judged}
        queries = [query for query in lines(source / "queries.jsonl") if query["_id"] in asked]
        rows = {query["_id"]: i for i, query in enumerate(queries)}
        self.relevant = [{} for _ in queries]
        for query, passage, score in judged:
            if score > 0:
                self.relevant[rows[query]][places[passage]] = score
        self.write("passages", passages)
        self.write("queries", queries)

    def write(self, name, texts):
        (self.folder / f"{name}.jsonl").write_text("".join(json.dumps({"text": text["text"]}) + "\n" for text in texts), encoding="utf-8")

    def vectors(self, name, kind):
        file = self.folder / f"{name}-{kind}.npy"
        if not file.exists():
            subprocess.run([self.options.berth, "--mode", "embed", "--model", self.options.model, "--predict-data-file",
                            str(self.folder / f"{name}.jsonl"), "--embeddings-type", kind, "--precision", "fp32", "--predictions-file", str(file)],
                           check=True, capture_output=True)
        return numpy.load(file)

    def ndcg(self, scores_of):
        """The mean over queries. scores_of(row) gives passages and their scores."""
        total = 0
        for row, relevant in enumerate(self.relevant):
            passages, scores = scores_of(row)
            order = numpy.argsort(-scores, kind="stable")[:BEST]
            discounts = 1 / numpy.log2(numpy.arange(2, BEST + 2))
            gains = [relevant.get(int(passages[i]), 0) for i in order]
            ideal = sorted(relevant.values(), reverse=True)[:BEST]
            total += (discounts[: len(gains)] @ gains) / (discounts[: len(ideal)] @ ideal)
        return total / len(self.relevant)


def main():
    parser = argparse.ArgumentParser()
    for name in ("berth", "set", "model", "folder"):
        parser.add_argument(name)
    parser.add_argument("--split", default="test")
    search = Search(parser.parse_args())
    whole, queries = search.vectors("passages", "float32"), search.vectors("queries", "float32")
    whole = whole / numpy.linalg.norm(whole, axis=1, keepdims=True)
    steps = search.vectors("passages", "int8").astype(numpy.float32)
    low, high = numpy.load(search.folder / "passages-int8.npy.ranges.npy")
    small = (steps + 128) * ((high - low) / 255) + low
    small /= numpy.linalg.norm(small, axis=1, keepdims=True)
    signs, asked = search.vectors("passages", "ubinary"), search.vectors("queries", "ubinary")
    bits = numpy.array([bin(i).count("1") for i in range(256)], dtype=numpy.int32)
    everything = numpy.arange(len(whole))

    def nearness(row):
        return -bits[signs ^ asked[row]].sum(axis=1)

    def scored_again(row, count):
        near = numpy.argsort(-nearness(row), kind="stable")[:count]
        return near, small[near] @ queries[row]

    size = whole.shape[1]
    print(f"{len(whole)} passages, {len(queries)} queries, {size} numbers; bytes of a passage, nDCG@{BEST}")
    print(f"float32                           {4 * size:5}  {search.ndcg(lambda row: (everything, whole @ queries[row])):.4f}")
    print(f"int8                              {size:5}  {search.ndcg(lambda row: (everything, small @ queries[row])):.4f}")
    print(f"ubinary                           {size // 8:5}  {search.ndcg(lambda row: (everything, nearness(row))):.4f}")
    for count in (40, 100):
        found = search.ndcg(lambda row: scored_again(row, count))
        print(f"ubinary, then int8 of the best {count:3} {size + size // 8:5}  {found:.4f}")


if __name__ == "__main__":
    main()
