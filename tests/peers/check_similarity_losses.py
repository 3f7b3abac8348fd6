#!/usr/bin/env python3
"""Compares the first loss of each --similarity-loss with the class of sentence-transformers.

    python tests/peers/check_similarity_losses.py BERTH

Made-up rows, all in one batch, train the tiny test model for one update, without dropout. The loss must be that of sentence-transformers
for the same folder and rows (to 1e-4), with and without Matryoshka, and with several negatives, also as lists in JSON lines.
Needs sentence-transformers and pandas.
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
from sentence_transformers import SentenceTransformer  # noqa: E402
from sentence_transformers.sentence_transformer import losses, modules  # noqa: E402
from sentence_transformers.sentence_transformer.losses import SiameseDistanceMetric, TripletDistanceMetric  # noqa: E402

TINY = pathlib.Path(__file__).parents[1] / "testdata/tiny_model"
ROWS = 200
BOTH = {"directions": ("query_to_doc", "doc_to_query"), "partition_mode": "per_direction"}
OTHER = {}  # the model that guides, by its name in the flags


def guided(**settings):
    return lambda model: losses.GISTEmbedLoss(model, OTHER.get("OTHER", model), **({"temperature": 0.05} | settings))


# The table, the flags, the loss, and whether the model ends with Normalize.
CASES = {
    "in_batch_negatives": ("pairs", [], losses.MultipleNegativesRankingLoss, False),
    "negatives": ("three", ["--similarity-scale", 50], lambda model: losses.MultipleNegativesRankingLoss(model, scale=50), False),
    "lists": ("lists", [], losses.MultipleNegativesRankingLoss, True),
    "symmetric": ("triplets", ["--similarity-loss", "symmetric"], lambda model: losses.MultipleNegativesRankingLoss(model, **BOTH), False),
    "guide": ("pairs", ["--guide", "OTHER"], guided(), False),
    "guide triplets": ("triplets", ["--guide", "OTHER", "--guide-margin", 0.01, "--guide-contrasts", "none"],
                       guided(margin=0.01, contrast_anchors=False, contrast_positives=False), False),
    "guide anchors": ("pairs", ["--guide", "OTHER", "--guide-relative-margin", -0.02, "--guide-contrasts", "anchors", "--similarity-scale", 10],
                      guided(margin=-0.02, margin_strategy="relative", contrast_positives=False, temperature=0.1), True),
    "guide positives": ("triplets", ["--guide", "OTHER", "--guide-contrasts", "positives"], guided(contrast_anchors=False), False),
    "margin_mse": ("margins", ["--similarity-loss", "margin_mse"], losses.MarginMSELoss, False),
    "margin_mse lists": ("passages", ["--similarity-loss", "margin_mse"], losses.MarginMSELoss, False),
    "distill_kl": ("passages", ["--similarity-loss", "distill_kl", "--similarity-scale", 0.5, "--teacher-scale", 2],
                   lambda model: losses.DistillKLDivLoss(model, student_temperature=2.0, teacher_temperature=0.5), True),
    "teacher margin_mse": ("three", ["--similarity-loss", "margin_mse", "--teacher", "OTHER"], losses.MarginMSELoss, True),
    "embedding_mse": ("pairs", ["--teacher", "OTHER"], losses.MSELoss, False),
    "embedding_cosine": ("triplets", ["--similarity-loss", "embedding_cosine", "--teacher", "OTHER"], losses.EmbedDistillLoss, False),
    "cosine": ("scores", [], losses.CosineSimilarityLoss, False),
    "cosent": ("scores", ["--similarity-loss", "cosent"], losses.CoSENTLoss, False),
    "angle": ("scores", ["--similarity-loss", "angle"], losses.AnglELoss, False),
    "triplet": ("triplets", ["--similarity-loss", "triplet"], losses.TripletLoss, False),
    "triplet unit": ("triplets", ["--similarity-loss", "triplet", "--similarity-margin", 0.5],
                     lambda model: losses.TripletLoss(model, triplet_margin=0.5), True),
    "triplet cosine": ("triplets", ["--similarity-loss", "triplet", "--similarity-margin", 0.5, "--similarity-distance", "cosine"],
                       lambda model: losses.TripletLoss(model, TripletDistanceMetric.COSINE, 0.5), False),
    "contrastive": ("marks", ["--similarity-loss", "contrastive"], losses.ContrastiveLoss, False),
    "contrastive manhattan": ("marks", ["--similarity-loss", "contrastive", "--similarity-margin", 90, "--similarity-distance", "manhattan"],
                              lambda model: losses.ContrastiveLoss(model, SiameseDistanceMetric.MANHATTAN, 90), False),
    "online_contrastive": ("marks", ["--similarity-loss", "online_contrastive"], losses.OnlineContrastiveLoss, False),
}


def make_tables():
    rng = random.Random(7)
    words = [word for word in (TINY / "vocab.txt").read_text().split() if word.isalpha()]

    def texts():
        return [" ".join(rng.choices(words, k=rng.randint(2, 14))) for _ in range(ROWS)]

    pairs = {"anchor": texts(), "positive": texts()}
    triplets = pairs | {"negative": texts()}
    scored = {"sentence1": pairs["anchor"], "sentence2": pairs["positive"]}
    return {"pairs": pairs, "triplets": triplets, "three": pairs | {f"negative_{i}": texts() for i in (1, 2, 3)},
            "lists": triplets | {"negative_2": texts()}, "scores": scored | {"score": [rng.randint(0, 10) / 10 for _ in range(ROWS)]},
            "margins": triplets | {"score": [rng.uniform(-5, 5) for _ in range(ROWS)]},
            "passages": triplets | {"negative_2": texts(), "score": [[rng.uniform(-5, 5) for _ in range(3)] for _ in range(ROWS)]},
            "marks": scored | {"label": [float(rng.randint(0, 1)) for _ in range(ROWS)]}}


def write(folder, name, table):
    if name != "lists":
        path = folder / f"{name}.parquet"
        pandas.DataFrame(table).to_parquet(path)
        return path
    path = folder / "lists.jsonl"
    rows = zip(*table.values())
    path.write_text("".join(json.dumps({"query": query, "pos": [positive], "neg": negatives}) + "\n" for query, positive, *negatives in rows))
    return path


def main():
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        encoder = scratch / "encoder"
        shutil.copytree(TINY, encoder)
        config = json.loads((encoder / "config.json").read_text())
        (encoder / "config.json").write_text(json.dumps(config | {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}))
        tables = make_tables()
        files = {name: write(scratch, name, table) for name, table in tables.items()}
        plain = SentenceTransformer(str(encoder), device="cpu")
        unit = SentenceTransformer(modules=[*plain, modules.Normalize()], device="cpu")
        torch.manual_seed(5)
        other = SentenceTransformer(str(encoder), device="cpu")
        with torch.no_grad():
            for parameter in other.parameters():
                parameter += 0.05 * torch.randn_like(parameter)
        other.save(str(scratch / "other"))
        OTHER["OTHER"] = other
        for name, (table, flags, loss_of, normalizes) in CASES.items():
            columns = tables[table]
            labels = [column for column in columns if column in ("score", "label")]
            model = unit if normalizes else plain
            features = [model.preprocess(list(column)) for key, column in columns.items() if key not in labels]
            targets = torch.tensor(columns[labels[0]]) if labels else None
            if "--teacher" in flags:
                targets = torch.stack([torch.tensor(other.encode(column)) for column in columns.values()], dim=1)
            if "margin_mse" in flags and "--teacher" in flags:
                targets = torch.nn.functional.cosine_similarity(targets[:, :1], targets[:, 1:], dim=-1)
            for nested in (False, *[True] * (name not in ("embedding_mse", "embedding_cosine"))):
                job = scratch / "job"
                more = ["--matryoshka-dims", "128,64,17", "--matryoshka-weights", "1,0.5,0.3"] if nested else []
                more += ["--normalize-embeddings"] if normalizes else []
                more += [scratch / "other" if flag == "OTHER" else flag for flag in flags]
                ran = subprocess.run([binary, *map(str, ["--task", "similarity", "--train-data-file", files[table], "--mode", "train", "--max-steps", 1,
                                                         "--batch-size", ROWS, "--model", encoder, "--job-dir", job, "--precision", "fp32",
                                                         "--no-report", *more])], capture_output=True, text=True)
                assert ran.returncode == 0, (name, ran.stderr[-2000:])
                ours = json.loads((job / "metrics.json").read_text())["train"]["loss"]
                shutil.rmtree(job)
                loss = loss_of(model)
                if nested:
                    loss = losses.MatryoshkaLoss(model, loss, [128, 64, 17], [1, 0.5, 0.3])
                with torch.no_grad():
                    theirs = loss([dict(feature) for feature in features], targets).item()
                print(f"{name:22} {'Matryoshka' if nested else '':10} loss {ours:.6f}, sentence-transformers {theirs:.6f}", flush=True)
                assert abs(ours - theirs) < 1e-4 * max(1, theirs), name
        check_sources(binary, scratch, encoder, files, tables, plain)


def check_sources(binary, scratch, encoder, files, tables, model):
    """Two sources take turns, and nothing is learnt: the mean of the losses of two updates is the mean of the two losses of sentence-transformers."""
    job = scratch / "job"
    ran = subprocess.run([binary, *map(str, ["--task", "similarity", "--train-data-file", files["pairs"], "--train-source", f"{files['scores']},loss=cosent",
                                             "--source-sampling", "round_robin", "--mode", "train", "--max-steps", 2, "--batch-size", ROWS, "--model", encoder,
                                             "--job-dir", job, "--precision", "fp32", "--no-report", "--learning-rate", "1e-30"])], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-2000:]
    ours = json.loads((job / "metrics.json").read_text())["train"]["loss"]
    theirs = []
    for table, loss, labels in (("pairs", losses.MultipleNegativesRankingLoss, None), ("scores", losses.CoSENTLoss, "score")):
        features = [model.preprocess(list(column)) for key, column in tables[table].items() if key != labels]
        with torch.no_grad():
            theirs.append(loss(model)(features, torch.tensor(tables[table][labels]) if labels else None).item())
    print(f"two sources: mean loss {ours:.6f}, sentence-transformers {sum(theirs) / 2:.6f} of {theirs}")
    assert abs(ours - sum(theirs) / 2) < 1e-4 * max(1, sum(theirs) / 2)


if __name__ == "__main__":
    main()
