#!/usr/bin/env python3
"""Compares multiple choice with transformers: the texts of run_swag.py and of RACE, losses, updates, scores and exported folders.

    python tests/peers/check_multiple_choice.py BERTH

Made-up rows, some of them longer than the model reads, become features as run_swag.py makes them (preprocess_function() and
DataCollatorForMultipleChoice), and as transformers' utils_multiple_choice.py makes those of RACE. A small random model of each class that
tokenizes so is trained for three updates, without dropout. berth must have the loss of transformers before and after them (to 1e-4), the
same weights (to 1e-5), its accuracy, and its probabilities by --mode predict (to 1e-4). AutoModelForMultipleChoice must load the exported
folder without missing or unexpected keys and give the same. Needs torch, transformers and safetensors.
"""
import csv
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import tokenizers  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "record"))
import small_models  # noqa: E402

ROOT = pathlib.Path(__file__).parents[2]
TINY = ROOT / "tests/testdata/tiny_model"
ROWS, CHOICES, LENGTH, UPDATES, RATE, EPSILON = 24, 4, 24, 3, 1e-3, 1e-3
SIZES = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, max_position_embeddings=64,
             initializer_range=0.2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
BYTES = dict(type_vocab_size=1, layer_norm_eps=1e-5, pad_token_id=1, bos_token_id=0, eos_token_id=2)
# Model: the prefix of its classes, its configuration, and whether its tokenizer is RoBERTa's.
MODELS = {
    "bert": ("Bert", SIZES, False),
    "roberta": ("Roberta", SIZES | BYTES, True),
    "data2vec-text": ("Data2VecText", SIZES | BYTES, True),
    "megatron-bert": ("MegatronBert", SIZES, False),
    "distilbert": ("DistilBert", dict(dim=32, n_layers=2, n_heads=4, hidden_dim=64, max_position_embeddings=64, initializer_range=0.2,
                                      dropout=0.0, attention_dropout=0.0, seq_classif_dropout=0.0), False),
    "electra": ("Electra", SIZES | dict(embedding_size=16, summary_last_dropout=0.0), False),
    "modernbert": ("ModernBert", dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
                                      max_position_embeddings=64, initializer_range=0.2, local_attention=8, pad_token_id=0, bos_token_id=2,
                                      eos_token_id=3, cls_token_id=2, sep_token_id=3, classifier_pooling="mean"), False),
}


def run(binary, *flags):
    done = subprocess.run([binary, *map(str, flags)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, flags))}: {done.stderr}")
    return done.stdout


def expect(holds, what):
    print(("ok      " if holds else "FAILED  ") + what, flush=True)
    if not holds:
        sys.exit(1)


def make_rows():
    rng = random.Random(11)
    words = [word for word in (TINY / "vocab.txt").read_text().split() if word.isalpha()]
    text = lambda least, most: " ".join(rng.choices(words, k=rng.randint(least, most)))  # noqa: E731
    rows = [{"sent1": text(4, 16), "sent2": text(1, 3), "endings": [text(1, 12) for _ in range(CHOICES)], "label": rng.randrange(CHOICES)}
            for _ in range(ROWS)]
    for number, row in enumerate(rows):
        row["question"] = f"{text(1, 2)} _ {text(1, 2)} ." if number % 2 else f"{text(2, 4)} ?"
    return rows


def write_rows(folder, rows):
    with open(folder / "swag.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["", "video-id", "fold-ind", "startphrase", "sent1", "sent2", "gold-source"] +
                        [f"ending{i}" for i in range(CHOICES)] + ["label"])
        for number, row in enumerate(rows):
            writer.writerow([number, f"v{number}", number, row["sent1"], row["sent1"], row["sent2"], "gold", *row["endings"], row["label"]])
    with open(folder / "race.jsonl", "w") as file:
        for number, row in enumerate(rows):
            file.write(json.dumps({"example_id": f"high{number}.txt", "article": row["sent1"], "answer": "ABCD"[row["label"]],
                                   "question": row["question"], "options": row["endings"]}) + "\n")


# As preprocess_function() of run_swag.py.
def pairs_of_swag(rows):
    return [(row["sent1"], f"{row['sent2']} {ending}") for row in rows for ending in row["endings"]]


# As convert_examples_to_features() of transformers' utils_multiple_choice.py.
def pairs_of_race(rows):
    pairs = []
    for row in rows:
        for ending in row["endings"]:
            cloze = row["question"].find("_") != -1
            pairs.append((row["sent1"], row["question"].replace("_", ending) if cloze else row["question"] + " " + ending))
    return pairs


def features(tokenizer, pairs, rows):
    made = tokenizer([first for first, _ in pairs], [second for _, second in pairs], truncation=True, max_length=LENGTH, padding=True,
                     return_tensors="pt")
    made = {name: value.view(len(rows), CHOICES, -1) for name, value in made.items()}
    return made | {"labels": torch.tensor([row["label"] for row in rows])}


def make_model(folder, name):
    prefix, sizes, is_of_bytes = MODELS[name]
    if is_of_bytes:
        trained = tokenizers.ByteLevelBPETokenizer()
        trained.train([str(TINY / "vocab.txt")], vocab_size=600, show_progress=False,
                      special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
        folder.mkdir()
        trained.save_model(str(folder))
        tokenizer = transformers.RobertaTokenizerFast.from_pretrained(str(folder))
    else:
        tokenizer = transformers.BertTokenizerFast.from_pretrained(str(TINY))
    model = small_models.make_model(prefix, "ForMultipleChoice", 5, vocab_size=len(tokenizer), **sizes)
    model.save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
    return model, tokenizer


def train(model, batch):
    """The loss before each update, and after all of them."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, eps=EPSILON, weight_decay=0)
    losses = []
    model.train()
    for _ in range(UPDATES):
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def scores(model, batch):
    with torch.no_grad():
        output = model.eval()(**batch)
    right = (output.logits.argmax(-1) == batch["labels"]).double().mean().item()
    return output.loss.item(), right, output.logits.softmax(-1)


def check_scores(binary, what, folder, file, batch, expected):
    loss, accuracy, probabilities = expected
    shared = ("--model", folder, "--max-seq-length", LENGTH, "--precision", "fp32")
    found = json.loads(run(binary, "--mode", "eval", "--eval-data-file", file, *shared))["eval"]
    expect(abs(found["loss"] - loss) < 1e-4 * max(1, loss), f"{what}: loss {found['loss']:.6f}, transformers {loss:.6f}")
    expect(found["accuracy"] == accuracy, f"{what}: accuracy {found['accuracy']:.4f}")
    lines = run(binary, "--mode", "predict", "--predict-data-file", file, "--predictions-file", "-", *shared).splitlines()
    ours = torch.tensor([[float(value) for value in line.split("\t")[2:]] for line in lines[1:]])
    apart = (ours - probabilities).abs().max().item()
    chosen = [int(line.split("\t")[1]) for line in lines[1:]]
    expect(ours.shape == probabilities.shape and apart < 1e-4, f"{what}: probabilities {apart:.1e} apart")
    expect(chosen == probabilities.argmax(-1).tolist(), f"{what}: the same choices")


def check_model(binary, scratch, name, rows, layout):
    what, file = f"{name} of {layout}", scratch / {"SWAG": "swag.csv", "RACE": "race.jsonl"}[layout]
    folder = scratch / f"{name}-{layout}"
    model, tokenizer = make_model(folder, name)
    batch = features(tokenizer, (pairs_of_swag if layout == "SWAG" else pairs_of_race)(rows), rows)
    check_scores(binary, what, folder, file, batch, scores(model, batch))
    job = scratch / f"job-{name}-{layout}"
    run(binary, "--task", "multiple_choice", "--train-data-file", file, "--model", folder, "--max-steps", UPDATES, "--batch-size", ROWS,
        "--validation-split", 0, "--max-seq-length", LENGTH, "--adam-epsilon", EPSILON, "--lr-scheduler-type", "constant", "--learning-rate",
        RATE, "--weight-decay", 0, "--max-grad-norm", 0, "--precision", "fp32", "--job-dir", job)
    losses = train(model, batch)
    expect(losses[-1] < losses[0], f"{what}: transformers learns, {losses[0]:.4f} to {losses[-1]:.4f}")
    loaded, told = transformers.AutoModelForMultipleChoice.from_pretrained(str(job / "model"), output_loading_info=True)
    problems = {kind: list(names) for kind, names in told.items() if names}
    expect(type(loaded) is type(model) and not problems, f"{what}: {type(loaded).__name__} loads the exported folder {problems or ''}")
    moved = {key: value for key, value in model.state_dict().items()}
    apart = max((loaded.state_dict()[key] - value).abs().max().item() for key, value in moved.items())
    expect(apart < 1e-5, f"{what}: weights {apart:.1e} apart after {UPDATES} updates")
    again = transformers.AutoTokenizer.from_pretrained(str(job / "model"))
    batch = features(again, (pairs_of_swag if layout == "SWAG" else pairs_of_race)(rows), rows)
    check_scores(binary, what + ", trained", job / "model", file, batch, scores(loaded, batch))


def main():
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        rows = make_rows()
        write_rows(scratch, rows)
        for model in MODELS:
            if not hasattr(transformers, MODELS[model][0] + "ForMultipleChoice"):
                print(f"SKIPPED: this transformers has no {model} for multiple choice")
                continue
            check_model(binary, scratch, model, rows, "SWAG")
        check_model(binary, scratch, "bert", rows, "RACE")
    print("all as transformers")


main()
