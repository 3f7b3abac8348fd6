#!/usr/bin/env python3
"""Compares models with odd configurations with transformers: probabilities, embeddings, losses and trained models.

    python tests/peers/check_odd_models.py BERTH [SEED [COUNT]]

Each of COUNT (60) small classifiers has a random architecture and random values of the keys that change numbers: activations, epsilons,
types of tokens, the padding token, widths of embeddings, groups, windows, rotary positions, poolings. The probabilities of
`berth --mode predict`, the vectors of `--mode embed` and the losses of five updates by AdamW must equal those of transformers.
transformers must load the trained model, with the parameters that torch's AdamW makes. Needs torch and transformers 5.
"""
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import numpy  # noqa: E402
import tokenizers  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "record"))
import small_models  # noqa: E402

transformers.utils.logging.disable_progress_bar()
BERTH = sys.argv[1]
LENGTH = 40
TOLERANCES = {"probabilities": 2e-5, "embeddings": 2e-5, "losses": 1e-4, "parameters": 2e-4, "exported": 2e-5}
TOPICS = {path.stem: path.read_text().split("\n")[:-1]
          for path in sorted((pathlib.Path(__file__).parents[2] / "examples/topics").glob("*.txt"))}
ACTIVATIONS = ["gelu", "gelu_new", "gelu_python", "gelu_python_tanh", "gelu_accurate", "gelu_fast", "gelu_pytorch_tanh", "relu", "silu", "swish", "tanh"]
BYTE_LEVEL = ["Roberta", "XLMRoberta", "Camembert", "Data2VecText", "RobertaPreLayerNorm", "XLMRobertaXL"]
OTHERS = ["Bert", "DistilBert", "Electra", "Albert", "DebertaV2", "ModernBert", "MPNet", "NomicBert", "RoFormer", "MegatronBert", "Ernie"]
# These have no token types.
UNTYPED = [*BYTE_LEVEL, "DistilBert", "ModernBert", "MPNet"]
TRAINING = ["--mode", "train", "--max-steps", 5, "--learning-rate", 1e-3, "--lr-scheduler-type", "constant", "--warmup-steps", 0, "--weight-decay", 0,
            "--adam-epsilon", 1e-4, "--precision", "fp32", "--logging-steps", 1, "--log-format", "json"]


def berth(*arguments):
    done = subprocess.run([BERTH, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    return done


def make_tokenizers(scratch):
    """A byte-level tokenizer and one of word pieces, by whether it is byte-level."""
    texts = [text for topic in TOPICS.values() for text in topic]
    byte_level, pieces = tokenizers.ByteLevelBPETokenizer(), tokenizers.BertWordPieceTokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    byte_level.train_from_iterator(texts, vocab_size=700, show_progress=False, special_tokens=special)
    pieces.train_from_iterator(texts, vocab_size=700, show_progress=False)
    byte_level.post_processor = tokenizers.processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    made = {}
    for is_byte_level, tokenizer in ((True, byte_level), (False, pieces)):
        tokenizer.save(str(scratch / f"{is_byte_level}.json"))
        made[is_byte_level] = (scratch / f"{is_byte_level}.json", tokenizer.get_vocab_size())
    return made


def draw(prefix, pick):
    """The keys of a random configuration."""
    heads, width, layers = pick([1, 2, 3, 4]), pick([4, 8, 12]), pick([1, 2, 3])
    keys = {"initializer_range": pick([0.05, 0.2]), "max_position_embeddings": pick([47, 64, 129])}
    if prefix == "DistilBert":
        return keys | {"dim": heads * width, "n_heads": heads, "n_layers": layers, "hidden_dim": pick([1, 7, 40]), "activation": pick(ACTIVATIONS),
                       "dropout": 0.0, "attention_dropout": 0.0, "seq_classif_dropout": 0.0, "pad_token_id": pick([None, 0, 90])}
    keys |= {"hidden_size": heads * width, "num_attention_heads": heads, "num_hidden_layers": layers, "intermediate_size": pick([3, 7, 40])}
    if prefix == "ModernBert":
        kinds = ("full_attention", "sliding_attention")
        flags = {key: pick([False, True]) for key in ("norm_bias", "mlp_bias", "attention_bias", "classifier_bias")}
        return keys | flags | {
            "hidden_activation": pick(ACTIVATIONS), "classifier_activation": pick(ACTIVATIONS), "classifier_pooling": pick(["cls", "mean"]),
            "norm_eps": pick([1e-3, 1e-5, 1e-12]), "local_attention": pick([2, 3, 4, 9, 20]), "pad_token_id": pick([None, 0, 90]),
            "layer_types": [pick(kinds) for _ in range(layers)],
            "rope_parameters": {kind: {"rope_type": "default", "rope_theta": pick([20.0, 10000.0])} for kind in kinds}}
    keys |= {"hidden_act": pick(ACTIVATIONS), "layer_norm_eps": pick([1e-2, 1e-5, 1e-12]), "hidden_dropout_prob": 0.0,
             "attention_probs_dropout_prob": 0.0, "pad_token_id": pick([None, 0, 3, 90])}
    if prefix in BYTE_LEVEL:
        keys |= {"pad_token_id": pick([0, 1, 2, 5]), "type_vocab_size": pick([1, 2])}
    elif prefix == "MPNet":
        keys |= {"pad_token_id": 1}
    else:
        keys |= {"type_vocab_size": pick([2, 3, 5])}
    if prefix in ("Electra", "Albert", "RoFormer"):
        keys |= {"embedding_size": pick([4, 16, heads * width])}
    if prefix == "Albert":
        keys |= {"num_hidden_groups": pick(range(1, layers + 1)), "classifier_dropout_prob": 0.0}
    if prefix == "NomicBert":
        keys |= {"pad_token_id": pick([0, 90]), "rope_parameters": {"rope_type": "default", "rope_theta": pick([50.0, 10000.0])}}
    if prefix == "Ernie":
        keys |= {"use_task_id": pick([False, True]), "task_type_vocab_size": pick([1, 4])}
    if prefix == "DebertaV2":
        keys |= {"relative_attention": True, "share_att_key": True, "pos_att_type": ["p2c", "c2p"], "position_biased_input": pick([False, True]),
                 "norm_rel_ebd": pick(["none", "layer_norm"]), "position_buckets": pick([-1, 4, 8]), "max_relative_positions": pick([-1, 30]),
                 "pooler_hidden_act": pick(ACTIVATIONS), "pooler_hidden_size": heads * width, "type_vocab_size": pick([0, 2])}
        if layers > 1:
            keys |= {"conv_kernel_size": pick([0, 1, 5]), "conv_act": pick(ACTIVATIONS)}
    return keys


def load(folder, kind=AutoModelForSequenceClassification):
    model = kind.from_pretrained(folder, dtype=torch.float32)
    for name, parameter in model.named_parameters():
        if name.endswith("embed_positions.weight"):  # RoFormer's sines: transformers 5 forgets that they are a constant
            parameter.requires_grad_(False)
    return model


def probabilities(model, inputs):
    with torch.no_grad():
        return model.eval()(**inputs).logits.softmax(-1).double()


def predicted(*arguments):
    lines = berth("--mode", "predict", "--max-seq-length", LENGTH, "--precision", "fp32", *arguments).stdout.split("\n")[1:-1]
    return torch.tensor([[float(value) for value in line.split("\t")[2:]] for line in lines], dtype=torch.float64)


def train(model, inputs, labels):
    optimizer = torch.optim.AdamW([each for each in model.train().parameters() if each.requires_grad], lr=1e-3, eps=1e-4, weight_decay=0)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(**inputs).logits, labels)
        loss.backward()
        losses.append(loss.item())
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return losses


def compare(folder, scratch, rows, file):
    """The largest differences from transformers, by what differs."""
    inputs = AutoTokenizer.from_pretrained(folder)([text for text, _ in rows], truncation=True, max_length=LENGTH, padding=True, return_tensors="pt")
    model, found = load(folder), {}
    found["probabilities"] = (predicted("--predict-data-file", file, "--model", folder) - probabilities(model, inputs)).abs().max()
    berth("--mode", "embed", "--predict-data-file", file, "--model", folder, "--max-seq-length", LENGTH, "--predictions-file", scratch / "embeddings.npy")
    mask = inputs["attention_mask"].unsqueeze(-1)
    with torch.no_grad():
        states = load(folder, AutoModel).eval()(**inputs)[0] * mask
    found["embeddings"] = (torch.from_numpy(numpy.load(scratch / "embeddings.npy")) - states.sum(1) / mask.sum(1)).abs().max()
    job = scratch / "job"
    shutil.rmtree(job, ignore_errors=True)
    log = berth("--train-data-file", file, "--model", folder, "--job-dir", job, "--batch-size", len(rows), "--max-seq-length", LENGTH, *TRAINING).stderr
    ours = torch.tensor([event["loss"] for event in map(json.loads, log.splitlines()) if "loss" in event])
    found["losses"] = (ours - torch.tensor(train(model, inputs, torch.tensor([model.config.label2id[label] for _, label in rows])))).abs().max()
    trained = load(job / "model")
    theirs = dict(model.named_parameters())
    found["parameters"] = max((value - theirs[name]).detach().abs().max() for name, value in trained.named_parameters())
    found["exported"] = (predicted("--predict-data-file", file, "--job-dir", job, "--predictions-file", "-") - probabilities(trained, inputs)).abs().max()
    return {name: float(value) for name, value in found.items()}


def main():
    seed, count = int(sys.argv[2]) if len(sys.argv) > 2 else 1, int(sys.argv[3]) if len(sys.argv) > 3 else 60
    pick, failures = random.Random(seed).choice, 0
    rows = [(topic[i], label) for i in range(6) for label, topic in TOPICS.items()]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        made, file = make_tokenizers(scratch), scratch / "rows.jsonl"
        file.write_text("".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in rows))
        for i in range(count):
            prefix, folder = pick(BYTE_LEVEL + OTHERS), scratch / str(i)
            begins_with_s = prefix in [*BYTE_LEVEL, "MPNet"]  # "<s>", and the padding token is 1
            tokenizer_file, pieces = made[begins_with_s]
            keys = draw(prefix, pick) | {"vocab_size": pieces + pick([0, 1, 63]), "id2label": dict(enumerate(TOPICS)),
                                         "label2id": {label: i for i, label in enumerate(TOPICS)}}
            small_models.make_model(prefix, "ForSequenceClassification", seed + i, **keys).save_pretrained(folder)
            names = ["input_ids", "attention_mask"] + ["token_type_ids"] * (prefix not in UNTYPED)
            transformers.PreTrainedTokenizerFast(tokenizer_file=str(tokenizer_file), model_max_length=LENGTH, model_input_names=names,
                                                 pad_token="<pad>" if begins_with_s else "[PAD]").save_pretrained(folder)
            found = compare(folder, scratch, rows, file)
            wrong = [name for name, value in found.items() if not value <= TOLERANCES[name]]
            failures += bool(wrong)
            print("FAILED " if wrong else "ok     ", prefix, {name: f"{value:.0e}" for name, value in found.items()}, keys if wrong else "", flush=True)
            shutil.rmtree(folder)
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
