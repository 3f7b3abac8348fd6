#!/usr/bin/env python3
"""Records what sentence-transformers 6.2 computes of the logits of cross-encoders.

    python tests/record/record_reranking.py tests/testdata/metrics/reranking.json

The losses are of rows of passages, of which the first one is right: of LambdaLoss, BinaryCrossEntropyLoss (with and without pos_weight)
and MSELoss, and the cross-entropy over the passages. MarginMSELoss has a teacher's scores, too. The metrics are of CrossEncoderRerankingEvaluator.
"""
import json
import sys

import numpy
import torch
from sentence_transformers import CrossEncoder
from sentence_transformers.cross_encoder.evaluation import CrossEncoderRerankingEvaluator
from sentence_transformers.cross_encoder.losses import LambdaLoss, MarginMSELoss


class Scores(CrossEncoder):
    """Stands for a model whose logits are known."""

    num_labels = 1
    device = torch.device("cpu")

    def __init__(self, logits):
        torch.nn.Module.__init__(self)
        self.logits = logits

    def preprocess(self, pairs, **_):
        return {"rows": torch.tensor([[int(part) for part in passage.split()] for _, passage in pairs])}

    def forward(self, inputs):
        return {"scores": self.logits[inputs["rows"][:, 0], inputs["rows"][:, 1]]}


def lambda_loss(logits):
    rows, passages = logits.shape
    loss = LambdaLoss(Scores(logits))
    queries = [str(row) for row in range(rows)]
    texts = [[f"{row} {passage}" for passage in range(passages)] for row in range(rows)]
    return loss([queries, texts], [torch.tensor([1.0] + [0.0] * (passages - 1)) for _ in range(rows)])


def margin_loss(logits, scores):
    rows, passages = logits.shape
    columns = [[str(row) for row in range(rows)]] + [[f"{row} {passage}" for row in range(rows)] for passage in range(passages)]
    return MarginMSELoss(Scores(logits))(columns, scores)


def losses():
    generator, of_teacher = torch.Generator().manual_seed(5), torch.Generator().manual_seed(6)
    cases = []
    for rows, passages, scale in ((3, 2, 1), (4, 5, 3), (2, 9, 20)):
        values = torch.randn(rows, passages, generator=generator) * scale
        labels = torch.zeros_like(values)
        labels[:, 0] = 1
        scores = torch.randn(rows, passages, generator=of_teacher) * scale
        bce = torch.nn.functional.binary_cross_entropy_with_logits
        made = {
            "bce": lambda x: bce(x, labels),
            "weighted_bce": lambda x: bce(x, labels, pos_weight=torch.tensor(4.0)),
            "mse": lambda x: torch.nn.functional.mse_loss(x, labels),
            "softmax": lambda x: torch.nn.functional.cross_entropy(x, torch.zeros(rows, dtype=torch.long)),
            "lambda": lambda_loss,
            "margin_mse": lambda x: margin_loss(x, scores),
        }
        for name, compute in made.items():
            x = values.clone().requires_grad_()
            loss = compute(x)
            loss.backward()
            cases.append({"loss": name, "logits": values.tolist(), "value": loss.item(), "gradient": x.grad.tolist(),
                          **({"scores": scores.tolist()} if name == "margin_mse" else {})})
    return cases


class Ranker:
    """Scores a passage by the number that is its text."""

    def __init__(self):
        self.model_card_data = None

    def predict(self, pairs, **_):
        return numpy.array([float(passage.split()[-1]) for _, passage in pairs])


# Sizes of lists, how many of their passages are relevant, and to what scores are rounded. Equal scores come in an order that depends on
# numpy's sorting, so they have no MRR.
LISTS = {"different": ((4, 1, 0), (12, 1, 0), (30, 4, 0), (8, 0, 0), (9, 9, 0)), "equal": ((15, 3, 0.5), (25, 2, 1), (11, 11, 0.5))}


def metrics(name):
    rng = numpy.random.default_rng(3)
    lists = []
    for size, positives, step in LISTS[name]:
        scores = rng.normal(size=size)
        if step:
            scores = numpy.round(scores / step) * step
        lists.append([[float(score), int(i < positives)] for i, score in enumerate(scores)])
    samples = [{"query": str(number), "positive": [f"p{i} {score!r}" for i, (score, label) in enumerate(passages) if label],
                "negative": [f"n{i} {score!r}" for i, (score, label) in enumerate(passages) if not label]}
               for number, passages in enumerate(lists)]
    evaluator = CrossEncoderRerankingEvaluator(samples, write_csv=False)
    evaluator.store_metrics_in_model_card_data = lambda *_: None
    found = {name.replace("@", "_at_"): float(value) for name, value in evaluator(Ranker()).items()}
    if name == "equal":
        del found["mrr_at_10"]
    return {"lists": lists, "metrics": found}


with open(sys.argv[1], "w") as file:
    json.dump({"losses": losses(), "rankings": [metrics(name) for name in LISTS]}, file)
    file.write("\n")
