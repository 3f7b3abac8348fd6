#!/usr/bin/env python3
"""Makes a small encoder of a large one: it begins with the large one's parameters, and distillation then teaches it the rest.

    python3 scripts/pretraining/shrink.py TEACHER OUT

TEACHER is a folder with a BERT in model.safetensors, in fp32. OUT becomes a folder with an ALBERT, whose layers do not share parameters:

- The vocabulary is the first PIECES pieces of the teacher's that are Latin letters, digits or signs. BERT's pieces are sorted by their
  frequency, so these are the most frequent ones.
- The embeddings have SIZE dimensions: those in which the teacher's embeddings vary most. The map that ALBERT has behind them leads back to
  the teacher's hidden size.
- The layers are the first LAYERS of the teacher's. Their feed-forward parts keep the INNER units with the largest weights.

Needs numpy.
"""
import json
import math
import pathlib
import sys

import numpy

PIECES, SIZE, LAYERS, INNER = 24576, 96, 2, 1024
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def read(path):
    """The tensors of a safetensors file in fp32, as float64."""
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:end]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            first, last = entry["data_offsets"]
            tensors[name] = numpy.frombuffer(data[end + first:end + last], "<f4").reshape(entry["shape"]).astype("f8")
    return tensors


def write(path, tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in tensors.items():
        tensor = numpy.ascontiguousarray(tensor, "<f4")
        header[name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": [len(data), len(data) + tensor.nbytes]}
        data += tensor.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def chosen_pieces(vocabulary):
    """Single characters come first, so that each word can be spelt."""
    latin = [piece for piece in vocabulary if piece[0] != "[" and all(ord(letter) < 0x250 for letter in piece)]
    single = [piece for piece in latin if len(piece.removeprefix("##")) == 1]
    others = [piece for piece in latin if len(piece.removeprefix("##")) > 1]
    return (SPECIAL + single + others)[:PIECES]


def centred(rows):
    return rows - rows.mean(1, keepdims=True)


def embeddings(teacher, numbers):
    """The factors of the teacher's embeddings of the pieces with these numbers."""
    tokens = centred(teacher["embeddings.word_embeddings.weight"][numbers])
    places = centred(teacher["embeddings.position_embeddings.weight"])
    types = centred(teacher["embeddings.token_type_embeddings.weight"])
    sums = tokens + types[0] + places[1:128].mean(0)
    # Frequent pieces, which come first, weigh more.
    weights = (numpy.arange(len(numbers)) + 200.0) ** -0.5
    directions = numpy.linalg.eigh((sums * weights[:, None]).T @ sums)[1][:, :-SIZE - 1:-1]
    # Normalization takes away the mean of the SIZE numbers. So the mean becomes the direction in which the sums vary least.
    random = numpy.random.default_rng(1).standard_normal((SIZE, SIZE))
    random[:, 0] = 1
    rotation = numpy.roll(numpy.linalg.qr(random)[0], -1, axis=1)
    basis = directions @ rotation.T  # [hidden_size, SIZE]
    scale = teacher["embeddings.LayerNorm.weight"] * math.sqrt(len(basis) / SIZE)
    return {
        "embeddings.word_embeddings.weight": tokens @ basis,
        "embeddings.position_embeddings.weight": places @ basis,
        "embeddings.token_type_embeddings.weight": types @ basis,
        "embeddings.LayerNorm.weight": numpy.ones(SIZE),
        "embeddings.LayerNorm.bias": numpy.zeros(SIZE),
        "encoder.embedding_hidden_mapping_in.weight": scale[:, None] * basis,
        "encoder.embedding_hidden_mapping_in.bias": teacher["embeddings.LayerNorm.bias"],
    }


def layer(teacher, number):
    of, to = f"encoder.layer.{number}.", f"encoder.albert_layer_groups.{number}.albert_layers.0."
    names = {f"attention.{part}": f"attention.self.{part}" for part in ("query", "key", "value")}
    names |= {"attention.dense": "attention.output.dense", "attention.LayerNorm": "attention.output.LayerNorm"}
    names |= {"full_layer_layer_norm": "output.LayerNorm"}
    tensors = {f"{to}{new}.{kind}": teacher[f"{of}{old}.{kind}"] for new, old in names.items() for kind in ("weight", "bias")}
    first, second = teacher[of + "intermediate.dense.weight"], teacher[of + "output.dense.weight"]
    size = numpy.linalg.norm(first, axis=1) * numpy.linalg.norm(second, axis=0)
    units = numpy.sort(numpy.argsort(-size, kind="stable")[:INNER])
    return tensors | {
        to + "ffn.weight": first[units],
        to + "ffn.bias": teacher[of + "intermediate.dense.bias"][units],
        to + "ffn_output.weight": second[:, units],
        to + "ffn_output.bias": teacher[of + "output.dense.bias"],
    }


def main():
    source, out = map(pathlib.Path, sys.argv[1:])
    teacher = read(source / "model.safetensors")
    config = json.loads((source / "config.json").read_text())
    vocabulary = (source / "vocab.txt").read_text(encoding="utf-8").splitlines()
    pieces = chosen_pieces(vocabulary)
    number_of = {piece: number for number, piece in enumerate(vocabulary)}
    tensors = embeddings(teacher, [number_of[piece] for piece in pieces])
    for number in range(LAYERS):
        tensors |= layer(teacher, number)
    tensors |= {f"pooler.{kind}": teacher[f"pooler.dense.{kind}"] for kind in ("weight", "bias")}

    out.mkdir(parents=True, exist_ok=True)
    write(out / "model.safetensors", tensors)
    same = ("hidden_size", "num_attention_heads", "hidden_act", "max_position_embeddings", "type_vocab_size", "initializer_range",
            "layer_norm_eps", "pad_token_id")
    # There are far more texts than the encoder can learn by heart, so it learns without dropout. Fine-tuning has dropout.
    small = {"architectures": ["AlbertModel"], "model_type": "albert", "vocab_size": len(pieces), "embedding_size": SIZE,
             "num_hidden_layers": LAYERS, "num_hidden_groups": LAYERS, "inner_group_num": 1, "intermediate_size": INNER,
             "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "classifier_dropout_prob": 0.1}
    (out / "config.json").write_text(json.dumps(small | {key: config[key] for key in same}, indent=2) + "\n")
    (out / "vocab.txt").write_text("".join(piece + "\n" for piece in pieces), encoding="utf-8")
    (out / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 512}, indent=2) + "\n")


if __name__ == "__main__":
    main()
