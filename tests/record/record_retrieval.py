"""Records the metrics that sentence-transformers and pytrec-eval-terrier compute for made-up searches.

    python tests/record/record_retrieval.py tests/testdata/metrics

Writes retrieval.json, a list of cases. Vectors hold small whole numbers, so products are exact and many scores are equal. "evaluator" has
what InformationRetrievalEvaluator computes, to which a judgement with a grade above 0 is a relevant document. "pytrec" has what pytrec_eval
computes for the evaluator's order of the documents. Recorded with sentence-transformers 6.2 and pytrec-eval-terrier 0.5.
"""

import json
import pathlib
import random
import sys

import pytrec_eval
import torch
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

RANDOM = random.Random(11)
CUTS = (1, 3, 5, 10)
DEPTH = 100


class Vectors:
    """A model whose embeddings are known."""

    def __init__(self, vectors):
        self.vectors = vectors

    def encode_query(self, texts, **_):
        return torch.tensor([self.vectors[text] for text in texts], dtype=torch.float32)

    encode_document = encode_query


def by_evaluator(case, chunk):
    queries = {f"q{i}": f"q{i}" for i in range(len(case["queries"]))}
    vectors = {f"q{i}": vector for i, vector in enumerate(case["queries"])} | dict(zip(case["ids"], case["documents"]))
    relevant = {f"q{i}": {case["ids"][document] for document, grade in judged if grade > 0} for i, judged in enumerate(case["judgements"])}
    evaluator = InformationRetrievalEvaluator(
        queries, {name: name for name in case["ids"]}, relevant, corpus_chunk_size=chunk, write_csv=False,
        score_functions={"dot": lambda a, b: a @ b.T})
    scores = evaluator.compute_all_metrics(Vectors(vectors))["dot"]
    return {name.replace("@k", f"_at_{k}"): float(value) for name, values in scores.items() for k, value in values.items()}


def by_pytrec(case):
    runs, judgements = {}, {}
    for i, (query, judged) in enumerate(zip(case["queries"], case["judgements"])):
        scores = [sum(a * b for a, b in zip(query, document)) for document in case["documents"]]
        order = sorted(range(len(scores)), key=lambda d: (-scores[d], case["ids"][d]))[:DEPTH]
        runs[f"q{i}"] = {case["ids"][d]: float(DEPTH - place) for place, d in enumerate(order)}
        judgements[f"q{i}"] = {case["ids"][document]: grade for document, grade in judged}
    cuts = ",".join(map(str, CUTS))
    names = {"ndcg_cut.10", f"map_cut.{DEPTH}", f"P.{cuts}", f"recall.{cuts}", f"success.{cuts}"}
    each = pytrec_eval.RelevanceEvaluator(judgements, names).evaluate(runs)
    mean = {name: sum(query[name] for query in each.values()) / len(each) for name in next(iter(each.values()))}
    theirs = {"ndcg_cut_10": "ndcg_at_10", f"map_cut_{DEPTH}": f"map_at_{DEPTH}"}
    for k in CUTS:
        theirs |= {f"P_{k}": f"precision_at_{k}", f"recall_{k}": f"recall_at_{k}", f"success_{k}": f"accuracy_at_{k}"}
    return {ours: mean[name] for name, ours in theirs.items()}


def made_up(queries, documents, width, values, grades, judged, ids=None):
    def vector():
        return [RANDOM.choice(values) for _ in range(width)]

    names = ids or [f"d{i}" for i in RANDOM.sample(range(3 * documents), documents)]
    case = {"queries": [vector() for _ in range(queries)], "ids": names, "documents": [vector() for _ in range(documents)],
            "judgements": []}
    for _ in range(queries):
        rows = RANDOM.sample(range(documents), judged)
        judgements = [[row, RANDOM.choice(grades)] for row in rows]
        judgements[0][1] = max(grades)  # at least one document is relevant
        case["judgements"].append(judgements)
    return case


def cases():
    yield made_up(8, 30, 6, range(-4, 5), [1], 2), 50000
    yield made_up(6, 40, 3, [0, 1], [1], 5), 7  # nearly all scores are equal
    yield made_up(9, 60, 5, range(-3, 4), [0, 1, 2, 3], 12), 16
    yield made_up(3, 150, 4, range(-2, 3), [1], 140), 50000  # more relevant documents than are found
    yield made_up(5, 6, 4, range(-2, 3), [-1, 0, 1, 2], 3, ids=["b", "é", "10", "2", "😀", "￿"]), 50000  # fewer than ten documents
    yield made_up(1, 1, 1, [1], [1], 1), 50000
    same = made_up(4, 25, 4, [1], [1, 2], 3)  # all documents are the same
    yield same, 4


out = pathlib.Path(sys.argv[1])
lines = []
for case, chunk in cases():
    lines.append(json.dumps(case | {"evaluator": by_evaluator(case, chunk), "pytrec": by_pytrec(case)}, ensure_ascii=False))
(out / "retrieval.json").write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
