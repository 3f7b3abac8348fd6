#!/usr/bin/env python3
"""Compares the evaluation of a search with sentence-transformers' InformationRetrievalEvaluator.

    python tests/peers/check_retrieval.py BERTH [MODEL]

berth trains MODEL, or the bundled encoder, on pairs of a made-up corpus with --eval-retrieval. The exported folder is then evaluated by
`berth --mode eval` and by InformationRetrievalEvaluator, with and without prompts for queries and passages, with grades of relevance, and
by the first numbers of the embeddings.
All metrics must be equal to 1e-6, and MAP@100 to 1e-4: among its 4,000 places, two passages whose scores differ by less than the rounding of
fp32 may stand in the other order. nDCG of grades is computed by pytrec_eval from the ranking of the evaluator.
Needs sentence-transformers and pytrec-eval-terrier.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import pytrec_eval  # noqa: E402
from sentence_transformers import SentenceTransformer  # noqa: E402
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator  # noqa: E402


def is_near(name, ours, theirs):
    return abs(ours - theirs) <= (1e-4 if name == "map_at_100" else 1e-6)


RANDOM = random.Random(3)
SIZES = [384, 64, 16]  # of the embeddings that are compared; the largest is the bundled encoder's
WHO = "baker farmer driver painter singer doctor teacher sailor".split()
WHAT = ["bread", "the old train", "a long song", "the heavy rain", "green paint"]
MORE = "early late often never in the town by the river with a friend for the market on the hill under a tree and again".split()


def words(count):
    return " ".join(RANDOM.choice(MORE) for _ in range(count))


def make_set(folder):
    (folder / "qrels").mkdir(parents=True)
    subjects = [(who, what) for who in WHO for what in WHAT]
    passages = {f"p{i}": (what if i % 3 == 0 else "", f"the {who} knows {what} {words(RANDOM.randint(3, 40))}")
                for i, (who, what) in enumerate(subjects * 12)}
    # No passage occurs twice: in PyTorch, equal texts of batches with other padding have other scores. retrieval_test has ties.
    queries = {f"q{i}": f"who is the {who} that knows {what} {words(2)}" for i, (who, what) in enumerate(subjects)}
    grades = {f"q{i}": {f"p{i + 40 * copy}": 1 + copy % 3 for copy in range(0, 12, 2)} for i in range(40)}
    write = lambda name, rows: (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))  # noqa: E731
    write("corpus.jsonl", [{"_id": key, "title": title, "text": text, "metadata": {}} for key, (title, text) in passages.items()])
    write("queries.jsonl", [{"_id": key, "text": text} for key, text in queries.items()])
    (folder / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(
        f"{query}\t{passage}\t{grade}\n" for query, judged in grades.items() for passage, grade in judged.items()))
    return queries, {key: f"{title} {text}".strip() for key, (title, text) in passages.items()}, grades


def by_evaluator(model, queries, passages, grades, scratch, size=None):
    relevant = {query: set(judged) for query, judged in grades.items()}
    evaluator = InformationRetrievalEvaluator(queries, passages, relevant, write_csv=False, write_predictions=True,
                                              truncate_dim=size)
    found = {name.replace("cosine_", "").replace("@", "_at_"): float(value)
             for name, value in evaluator(SentenceTransformer(str(model), device="cpu"), output_path=str(scratch)).items()}
    runs = {}
    for line in next(scratch.glob("*predictions*.jsonl")).read_text().splitlines():
        query = json.loads(line)
        runs[query["query_id"]] = {hit["corpus_id"]: float(1000 - i) for i, hit in enumerate(query["results"])}
    each = pytrec_eval.RelevanceEvaluator(grades, {"ndcg_cut.10"}).evaluate(runs)
    found["ndcg_at_10"] = sum(query["ndcg_cut_10"] for query in each.values()) / len(each)
    return found


def main(binary, *model):
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        queries, passages, grades = make_set(scratch / "set")
        (scratch / "pairs.tsv").write_text("anchor\tpositive\n" + "".join(
            f"{queries[f'q{i % 40}']}\t{passages[f'p{40 * (i // 40) + i % 40}']}\n" for i in range(160)))

        def berth(*arguments):
            done = subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            return done.stdout

        job = scratch / "job"
        berth("--task", "similarity", "--train-data-file", scratch / "pairs.tsv", "--eval-retrieval", scratch / "set", "--validation-split", 0,
              "--epochs", 1, "--batch-size", 16, "--max-seq-length", 48, "--matryoshka-dims", ",".join(map(str, SIZES)), "--precision", "fp32", "--job-dir", job,
              *(("--model", *model) if model else ()))
        metrics = json.loads((job / "metrics.json").read_text())["eval"]
        settings = job / "model/config_sentence_transformers.json"
        for prompts in ({}, {"query": "query: ", "document": "passage: "}):
            config = json.loads(settings.read_text()) if settings.exists() else {}
            settings.write_text(json.dumps({**config, "prompts": prompts}))
            ours = json.loads(berth("--mode", "eval", "--eval-retrieval", scratch / "set", "--model", job / "model", "--precision", "fp32",
                                    "--matryoshka-dims", ",".join(map(str, SIZES))))["eval"]
            theirs = by_evaluator(job / "model", queries, passages, grades, scratch)
            for key, value in theirs.items():
                print(f"{key:16} {ours[key]:.8f} {value:.8f} {abs(ours[key] - value):.1e}")
                assert is_near(key, ours[key], value), key
            if not prompts:
                assert all(is_near(key, metrics[key], value) for key, value in theirs.items()), metrics
        for size in SIZES[1:]:
            theirs = by_evaluator(job / "model", queries, passages, grades, scratch, size)
            name = f"ndcg_at_10_dim_{size}"
            print(f"{name:16} {ours[name]:.8f} {theirs['ndcg_at_10']:.8f}")
            assert is_near(name, ours[name], theirs["ndcg_at_10"]), name
            short = json.loads(berth("--mode", "eval", "--eval-retrieval", scratch / "set", "--model", job / "model", "--precision", "fp32",
                                     "--truncate-dim", size))["eval"]
            assert all(is_near(key, short[key], value) for key, value in theirs.items()), (size, short, theirs)
        print("all metrics are equal")


main(*sys.argv[1:])
