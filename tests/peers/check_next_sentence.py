#!/usr/bin/env python3
"""Takes the models of --task mlm_nsp and mlm_sop from berth to transformers and back, and compares their losses.

    python tests/peers/check_next_sentence.py BERTH

A short job pre-trains a small BERT or ALBERT on documents. transformers loads it as BertForPreTraining or AlbertForPreTraining, without
missing or unexpected keys. berth writes the pairs of the documents as TFRecords. The class of transformers, whose loss is that of
run_pretraining.py, has the losses and accuracies on them that berth's evaluation reports. transformers saves the model, berth goes on with it for one update of rate 0, and
every tensor is the same bit for bit. Needs torch and transformers.
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import load_file
from transformers import AlbertForPreTraining, AutoTokenizer, BertForPreTraining

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
VOCABULARY = EXAMPLES / "model" / "vocab.txt"
CONFIG = dict(vocab_size=sum(1 for _ in open(VOCABULARY, encoding="utf-8")), hidden_size=32, num_hidden_layers=2,
              num_attention_heads=4, intermediate_size=64, max_position_embeddings=64)
LENGTH = 48
# For each task: the class, its further settings, its logits of pairs, and what berth calls their metrics.
TASKS = {"mlm_nsp": (BertForPreTraining, dict(model_type="bert"), "seq_relationship_logits", "next_sentence"),
         "mlm_sop": (AlbertForPreTraining, dict(model_type="albert", embedding_size=16, tokenizer_class="BertTokenizer"), "sop_logits",
                     "sentence_order")}


def run(berth, *flags):
    return subprocess.run([berth, "--device", "cpu", "--precision", "fp32", *map(str, flags)], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True).stdout


def fields(message):
    """The fields of a message of protobuf: (number, value), where a value is an integer or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 2:
            size = varint()
            yield key >> 3, message[at:at + size]
            at += size
        else:
            yield key >> 3, message[at:at + 4]
            at += 4


def integers(packed):
    value = shift = 0
    for byte in packed:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def numbers(feature):
    for kind, values in fields(feature):
        found = []
        for _, part in fields(values):
            if kind == 2:
                found += [number for (number,) in struct.iter_unpack("<f", part)]
            else:
                found += integers(part) if isinstance(part, bytes) else [part]
        return found
    return []


def records(path):
    data = path.read_bytes()
    at = 0
    while at < len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        example = data[at + 12:at + 12 + size]
        at += 16 + size
        features = {}
        for _, all_features in fields(example):
            for _, entry in fields(all_features):
                entry = dict(fields(entry))
                features[entry[1].decode()] = numbers(entry[2])
        yield features


def told_by_transformers(model, path, logits, name):
    masked_loss = masked_right = masked = next_loss = next_right = pairs = 0
    for record in records(path):
        assert len(record["input_ids"]) == len(record["segment_ids"]) == LENGTH
        labels = torch.full((1, LENGTH), -100)
        for place, token, weight in zip(record["masked_lm_positions"], record["masked_lm_ids"], record["masked_lm_weights"]):
            if weight:
                labels[0, place] = token
        arguments = {"input_ids": "input_ids", "attention_mask": "input_mask", "token_type_ids": "segment_ids"}
        with torch.no_grad():
            found = model(**{argument: torch.tensor([record[key]]) for argument, key in arguments.items()})
        truth = torch.tensor(record["next_sentence_labels"])
        chosen = labels[0] != -100
        masked_loss += torch.nn.functional.cross_entropy(found.prediction_logits[0][chosen], labels[0][chosen], reduction="sum").item()
        masked_right += (found.prediction_logits[0][chosen].argmax(-1) == labels[0][chosen]).sum().item()
        masked += chosen.sum().item()
        next_loss += torch.nn.functional.cross_entropy(found[logits], truth).item()
        next_right += (found[logits].argmax(-1) == truth).sum().item()
        pairs += 1
    return {"loss": masked_loss / masked + next_loss / pairs, "masked_lm_loss": masked_loss / masked,
            "masked_lm_accuracy": masked_right / masked, f"{name}_loss": next_loss / pairs,
            f"{name}_accuracy": next_right / pairs}


def load(model_class, folder):
    model, report = model_class.from_pretrained(folder, output_loading_info=True)
    for what in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        assert not report[what], f"{folder}: {what}: {report[what]}"
    return model.eval()


def check(berth, task):
    model_class, settings, logits, metrics = TASKS[task]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        (scratch / "config.json").write_text(json.dumps(CONFIG | settings))
        texts = [line for topic in sorted((EXAMPLES / "topics").glob("*.txt")) for line in topic.read_text().splitlines() if line.strip()]
        documents = ["\n".join(texts[i:i + 2 + i % 3]) for i in range(0, len(texts), 4)]
        (scratch / "documents.txt").write_text("\n\n".join(documents) + "\n")
        common = ["--task", task, "--train-data-file", scratch / "documents.txt", "--max-seq-length", LENGTH]
        run(berth, *common, "--init", "random", "--model-config", scratch / "config.json", "--vocab-file", VOCABULARY, "--max-steps", 60,
            "--learning-rate", "2e-3", "--job-dir", scratch / "job")
        exported = scratch / "job" / "model"
        model = load(model_class, exported)
        run(berth, "--mode", "prepare", *common, "--model", exported, "--validation-split", 0, "--export-dir", scratch / "records")
        path = scratch / "records" / "train.tf_record"
        wanted = told_by_transformers(model, path, logits, metrics)
        told = json.loads(run(berth, "--mode", "eval", "--task", task, "--model", exported, "--eval-data-file", path,
                              "--max-seq-length", LENGTH))["eval"]
        for name, value in wanted.items():
            assert abs(told[name] - value) < 1e-4, f"{name}: {told[name]} where transformers has {value}"

        model.save_pretrained(scratch / "saved")
        AutoTokenizer.from_pretrained(exported).save_pretrained(scratch / "saved")
        run(berth, *common, "--model", scratch / "saved", "--max-steps", 1, "--learning-rate", "1e-30", "--job-dir", scratch / "again")
        before, after = load_file(exported / "model.safetensors"), load_file(scratch / "again" / "model" / "model.safetensors")
        assert before.keys() == after.keys()
        for name, tensor in before.items():
            assert torch.equal(tensor, after[name]), name
    print(f"{task}: the model, its losses and accuracies: as expected", wanted)


def main():
    for task in TASKS:
        check(sys.argv[1], task)


if __name__ == "__main__":
    main()
