"""Records the losses of sentence-transformers for embeddings, and their gradients, as the package computes them.

    python tests/record/record_similarity_losses.py tests/testdata/similarity

Writes losses.safetensors with:
- "embeddings": 12 embeddings of 16 numbers. Rows of G texts are 12 / G groups, one behind the other.
- "scores", "marks": the labels of the 6 pairs, where two scores are equal; marks are 0 or 1.
- "NAME.loss", "NAME.grad": the loss of each case, and its gradient of all embeddings.
Writes taught.safetensors with the same of losses that learn from a teacher, with its embeddings "vectors", and "scores_G" for rows of G texts.
Writes guided.safetensors with the same of GISTEmbedLoss, for the same embeddings, and with "vectors": the embeddings of a guide.
"""

import pathlib
import sys

import torch
from sentence_transformers.sentence_transformer import losses
from sentence_transformers.sentence_transformer.losses import SiameseDistanceMetric, TripletDistanceMetric

from transformers import PreTrainedTokenizerBase

import small_models


class Embeddings(torch.nn.Module):
    """A model whose features are the embeddings already, perhaps with the module Normalize."""

    def __init__(self, normalizes):
        super().__init__()
        self.normalizes = normalizes

    def get_embedding_dimension(self):
        return 16

    def forward(self, features):
        embeddings = features["embeddings"]
        return {"sentence_embedding": torch.nn.functional.normalize(embeddings, dim=1) if self.normalizes else embeddings}


def cases():
    """Name, texts of a row, labels, whether the model normalizes, and the loss of a model."""
    both = {"directions": ("query_to_doc", "doc_to_query"), "partition_mode": "per_direction"}
    ranking = losses.MultipleNegativesRankingLoss
    yield "pairs", 2, None, False, ranking
    yield "triplets", 3, None, False, ranking
    yield "two_negatives", 4, None, False, lambda model: ranking(model, scale=7.5)
    yield "symmetric", 2, None, False, lambda model: ranking(model, **both)
    yield "symmetric_negatives", 4, None, False, losses.MultipleNegativesSymmetricRankingLoss
    yield "cosine", 2, "scores", False, losses.CosineSimilarityLoss
    yield "cosent", 2, "scores", False, losses.CoSENTLoss
    yield "cosent_scale", 2, "scores", False, lambda model: losses.CoSENTLoss(model, scale=3)
    yield "angle", 2, "scores", False, losses.AnglELoss
    for metric in ("COSINE", "EUCLIDEAN", "MANHATTAN"):
        distance = getattr(TripletDistanceMetric, metric)
        yield f"triplet_{metric.lower()}", 3, None, False, lambda model, d=distance: losses.TripletLoss(model, d, 0.3)
    yield "triplet", 3, None, False, losses.TripletLoss
    yield "triplet_unit", 3, None, True, losses.TripletLoss
    for metric in ("COSINE_DISTANCE", "EUCLIDEAN", "MANHATTAN"):
        distance = getattr(SiameseDistanceMetric, metric)
        margin = {"COSINE_DISTANCE": 0.5, "EUCLIDEAN": 6.0, "MANHATTAN": 20.0}[metric]
        short = metric.split("_")[0].lower()
        yield f"contrastive_{short}", 2, "marks", False, lambda model, d=distance, m=margin: losses.ContrastiveLoss(model, d, m)
        yield f"online_{short}", 2, "marks", False, lambda model, d=distance, m=margin: losses.OnlineContrastiveLoss(model, d, m)
    yield "contrastive_unit", 2, "marks", True, lambda model: losses.ContrastiveLoss(model, SiameseDistanceMetric.EUCLIDEAN, 1.0)
    yield "online_alike", 2, "ones", False, losses.OnlineContrastiveLoss
    yield "online_unlike", 2, "zeros", False, losses.OnlineContrastiveLoss
    nested = {"matryoshka_dims": [4, 16, 7], "matryoshka_weights": [0.25, 1, 0.5]}
    for name, texts, labels, inner in (("pairs", 2, None, ranking), ("two_negatives", 4, None, ranking), ("cosine", 2, "scores", losses.CosineSimilarityLoss),
                                       ("cosent", 2, "scores", losses.CoSENTLoss), ("angle", 2, "scores", losses.AnglELoss),
                                       ("symmetric", 2, None, lambda model: ranking(model, **both)), ("triplet", 3, None, losses.TripletLoss),
                                       ("contrastive", 2, "marks", losses.ContrastiveLoss), ("online", 2, "marks", losses.OnlineContrastiveLoss)):
        yield f"nested_{name}", texts, labels, False, lambda model, inner=inner: losses.MatryoshkaLoss(model, inner(model), **nested)


class Guided(Embeddings):
    """What GISTEmbedLoss asks a model and its guide besides."""

    tokenizer = PreTrainedTokenizerBase()
    max_seq_length = 8

    def __init__(self, key="embeddings"):
        super().__init__(False)
        self.key = key
        self.tokenizer.get_vocab = dict

    def forward(self, features):
        return {"sentence_embedding": features[self.key]}

    def __getitem__(self, place):
        return self


def guided_cases():
    """Name, texts of a row, and the arguments of GISTEmbedLoss. The guide is the model itself, or another one where the name ends with "other"."""
    yield "guided_pairs", 2, {}
    yield "guided_triplets", 3, {}
    yield "guided_margin", 3, {"margin": 0.3, "temperature": 0.2}
    yield "guided_negative_margin", 2, {"margin": -0.1}
    yield "guided_relative_margin", 3, {"margin": 0.25, "margin_strategy": "relative"}
    anchors, positives = {"contrast_anchors": True}, {"contrast_positives": True}
    yield "guided_anchors", 2, anchors
    yield "guided_positives", 3, positives
    yield "guided_both", 3, anchors | positives
    yield "guided_pairs_other", 2, {}
    yield "guided_triplets_other", 3, {"margin": 0.1}
    yield "guided_relative_other", 3, {"margin": 0.05, "margin_strategy": "relative"} | positives
    yield "guided_both_other", 3, {"margin": 0.1, "temperature": 0.1} | anchors | positives
    yield "guided_both_pairs_other", 2, {"margin": -0.05} | anchors | positives


def record_guided(embeddings):
    vectors = torch.randn(12, 10) + 0.8 * torch.randn(1, 10)
    recorded = {"vectors": vectors}
    for name, texts, settings in guided_cases():
        leaf = embeddings.clone().requires_grad_()
        model = Guided()
        guide = Guided("vectors") if name.endswith("other") else model
        function = losses.GISTEmbedLoss(model, guide, **({"temperature": 0.05, "contrast_anchors": False, "contrast_positives": False} | settings))
        loss = function([{"embeddings": leaf[text::texts], "vectors": vectors[text::texts]} for text in range(texts)], None)
        loss.backward()
        recorded[f"{name}.loss"], recorded[f"{name}.grad"] = loss, leaf.grad
        print(f"{name}: {loss.item():.6f}, gradient {leaf.grad.norm():.4f}")
    return recorded


def taught_cases():
    """Name, texts of a row, the kind of labels, and the loss of a model."""
    yield "margin_mse", 3, "scores", losses.MarginMSELoss
    yield "margin_mse_two", 4, "scores", losses.MarginMSELoss
    yield "margin_mse_vectors", 4, "cosines", losses.MarginMSELoss
    yield "distill_kl", 3, "scores", losses.DistillKLDivLoss
    yield "distill_kl_scale", 4, "scores", lambda model: losses.DistillKLDivLoss(model, temperature=2.0)
    yield "distill_kl_scales", 4, "scores", lambda model: losses.DistillKLDivLoss(model, student_temperature=4.0, teacher_temperature=0.5)
    yield "distill_kl_vectors", 3, "cosines", losses.DistillKLDivLoss
    yield "embedding_mse", 2, "vectors", losses.MSELoss
    yield "embedding_mse_three", 3, "vectors", losses.MSELoss
    yield "embedding_cosine", 3, "vectors", losses.EmbedDistillLoss
    nested = {"matryoshka_dims": [4, 16, 7], "matryoshka_weights": [0.25, 1, 0.5]}
    yield "nested_margin_mse", 4, "scores", lambda model: losses.MatryoshkaLoss(model, losses.MarginMSELoss(model), **nested)
    yield "nested_distill_kl", 3, "scores", lambda model: losses.MatryoshkaLoss(model, losses.DistillKLDivLoss(model), **nested)


def record_taught(embeddings):
    vectors, recorded = torch.randn(12, 16) + 0.3 * torch.randn(1, 16), {}
    recorded["vectors"] = vectors
    for texts in (3, 4):
        recorded[f"scores_{texts}"] = 3 * torch.randn(12 // texts, texts - 1)
    for name, texts, kind, loss_of in taught_cases():
        leaf = embeddings.clone().requires_grad_()
        groups = vectors.reshape(-1, texts, 16)
        cosines = torch.nn.functional.cosine_similarity(groups[:, :1], groups[:, 1:], dim=-1)
        labels = {"scores": recorded.get(f"scores_{texts}"), "cosines": cosines, "vectors": groups}[kind]
        loss = loss_of(Embeddings(False))([{"embeddings": leaf[text::texts]} for text in range(texts)], labels)
        loss.backward()
        recorded[f"{name}.loss"], recorded[f"{name}.grad"] = loss, leaf.grad
        print(f"{name}: {loss.item():.6f}, gradient {leaf.grad.norm():.4f}")
    return recorded


def main():
    torch.manual_seed(11)
    embeddings = torch.randn(12, 16) + 0.4 * torch.randn(1, 16)
    labels = {"scores": torch.tensor([0.2, 0.9, 0.2, 0.5, 1.0, 0.0]), "marks": torch.tensor([1.0, 0, 1, 1, 0, 0]),
              "ones": torch.ones(6), "zeros": torch.zeros(6), None: None}
    recorded = {"embeddings": embeddings, "scores": labels["scores"], "marks": labels["marks"]}
    for name, texts, label, normalizes, loss_of in cases():
        leaf = embeddings.clone().requires_grad_()
        model = Embeddings(normalizes)
        columns = [{"embeddings": leaf[text::texts]} for text in range(texts)]
        loss = loss_of(model)(columns, labels[label])
        loss.backward()
        recorded[f"{name}.loss"], recorded[f"{name}.grad"] = loss, leaf.grad
        print(f"{name}: {loss.item():.6f}, gradient {leaf.grad.norm():.4f}")
    folder = pathlib.Path(sys.argv[1])
    small_models.save(folder / "losses.safetensors", recorded)
    small_models.save(folder / "guided.safetensors", record_guided(embeddings))
    torch.manual_seed(12)
    small_models.save(folder / "taught.safetensors", record_taught(embeddings))


if __name__ == "__main__":
    main()
