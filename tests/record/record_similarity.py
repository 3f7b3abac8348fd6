"""Records embeddings and the losses of training them, with their gradients, as PyTorch and transformers compute them.

    python tests/record/record_similarity.py tests/testdata/similarity

Writes bert.safetensors with a BertModel without a pooler:
- "param.NAME": its parameters,
- "input_ids", "token_type_ids", "lengths": the packed inputs of 12 texts,
- "embedding.POOLING": the embeddings of the texts (mean, cls, max),
- "cosines", "labels", "cosine.loss", "cosine.grad.NAME": texts 0 and 1, 2 and 3, ... are pairs. The loss is CosineSimilarityLoss of
  sentence-transformers: the mean squared error between the cosine and the label.
- "pairs.loss", "pairs.grad.NAME": the same pairs with MultipleNegativesRankingLoss: cross-entropy over the cosines of a first text
  with all second ones, times 20,
- "triplets.loss", "triplets.found", "triplets.grad.NAME": the same of four triplets, whose third texts are negatives,
- "cls.loss", "cls.grad.NAME", "max.loss", "max.grad.NAME": the first of these with the other poolings.
The metadata "config" holds the configuration.
"""

import pathlib
import sys

import torch
import torch.nn.functional as F
from transformers import BertConfig, BertModel

import small_models

VOCABULARY = 23


def pooled(states, mask, pooling):
    if pooling == "cls":
        return states[:, 0]
    if pooling == "max":
        return states.masked_fill(~mask[:, :, None], -1e9).max(1).values
    return (states * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)


def ranking_loss(embeddings, texts):
    groups = embeddings.reshape(-1, texts, embeddings.shape[-1])
    candidates = torch.cat([groups[:, text] for text in range(1, texts)])
    scores = 20 * F.normalize(groups[:, 0], dim=1) @ F.normalize(candidates, dim=1).T
    labels = torch.arange(len(groups))
    return F.cross_entropy(scores, labels), (scores.argmax(1) == labels).float()


def main():
    torch.manual_seed(5)
    config = BertConfig(vocab_size=VOCABULARY, max_position_embeddings=16, hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
                        intermediate_size=24, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, initializer_range=0.3)
    model = small_models.move_parameters(BertModel(config, add_pooling_layer=False).train())
    lengths = torch.tensor([3, 9, 4, 13, 6, 5, 8, 2, 11, 7, 1, 10])
    arguments, mask = small_models.make_batch(lengths, VOCABULARY)
    labels = torch.rand(6)
    recorded = small_models.packed(mask, lengths, arguments["input_ids"], arguments["token_type_ids"]) | {"labels": labels}

    def record(name, pooling, loss_of):
        model.zero_grad()
        embeddings = pooled(model(**arguments).last_hidden_state, mask, pooling)
        loss = loss_of(embeddings)
        loss.backward()
        recorded[f"{name}.loss"] = loss.detach()
        for key, value in model.named_parameters():
            recorded[f"{name}.grad.bert.{key}"] = value.grad.clone()

    def cosine_loss(embeddings):
        cosines = F.cosine_similarity(embeddings[0::2], embeddings[1::2])
        recorded["cosines"] = cosines.detach()
        return F.mse_loss(cosines, labels)

    def triplet_loss(embeddings):
        loss, recorded["triplets.found"] = ranking_loss(embeddings, 3)
        return loss

    with torch.no_grad():
        states = model(**arguments).last_hidden_state
        for pooling in ("mean", "cls", "max"):
            recorded[f"embedding.{pooling}"] = pooled(states, mask, pooling)
    for pooling in ("cls", "max"):
        record(pooling, pooling, cosine_loss)
    record("cosine", "mean", cosine_loss)
    record("pairs", "mean", lambda embeddings: ranking_loss(embeddings, 2)[0])
    record("triplets", "mean", triplet_loss)
    recorded |= {f"param.bert.{name}": value for name, value in model.named_parameters()}
    small_models.save(pathlib.Path(sys.argv[1]) / "bert.safetensors", recorded, config=config)


if __name__ == "__main__":
    main()
