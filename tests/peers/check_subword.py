#!/usr/bin/env python3
"""Compares berth's token ids and offsets with those of `tokenizers` 0.23 and libsentencepiece.

    python tests/peers/check_subword.py TOKENIZE_LINES SHARED_DATA

The texts are AG News (13,000), SST-2 (12,000), the torture list, random mixtures, and characters within words. The tokenizers are the
real tokenizer.json files, BERT's in the form in which berth saves it, the real SentencePiece models, and models with every option,
which are trained here. Needs `pip install tokenizers==0.23.* sentencepiece==0.2.3 protobuf pandas`.
"""
import csv
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile
import warnings

os.environ["TOKENIZERS_PARALLELISM"] = "false"
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "record"))

import sentencepiece  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402

from torture_texts import TEXTS, random_texts  # noqa: E402

REAL_TEXTS = 25000
TRAINED = {
    "bpe": dict(model_type="bpe", vocab_size=4000),
    "bpe with bytes": dict(model_type="bpe", vocab_size=4000, byte_fallback=True, user_defined_symbols=["fox", " a", "<x>"]),
    "bpe across spaces": dict(model_type="bpe", vocab_size=3000, split_by_whitespace=False),
    "unigram with bytes": dict(vocab_size=3000, byte_fallback=True, user_defined_symbols=["fox", "<x>"]),
    "unigram, text as it is": dict(
        vocab_size=3000, normalization_rule_name="identity", remove_extra_whitespaces=False, add_dummy_prefix=False
    ),
    "unigram, spaces after": dict(vocab_size=3000, treat_whitespace_as_suffix=True, normalization_rule_name="nmt_nfkc_cf"),
}


def real_texts(data):
    texts = []
    if (data / "ag_news").exists():
        with open(data / "ag_news" / "df.pickle", "rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # numpy warns about old module names
            texts += list(pickle.load(file)["text"])
        with open(data / "ag_news" / "test_head3000.csv", newline="") as file:
            texts += [row["text"] for row in csv.DictReader(file)]
    if (data / "glue").exists():
        lines = (data / "glue" / "SST-2" / "train.tsv").read_text().split("\n")[1:]
        texts += [line.split("\t")[0] for line in lines if line]
    return texts[:REAL_TEXTS]


def written(ids, spans):
    return " ".join(f"{i}:{a}-{b}" for i, (a, b) in zip(ids, spans))


class Check:
    def __init__(self, driver):
        self.driver, self.differences = driver, 0

    def compare(self, what, folder, mode, inputs, theirs):
        lines = "".join(json.dumps(value) + "\n" for value in inputs)
        done = subprocess.run([self.driver, str(folder), mode], input=lines.encode(), stdout=subprocess.PIPE, check=True)
        ours = [line.strip() for line in done.stdout.decode().split("\n")[:-1]]
        assert len(inputs) == len(theirs) == len(ours), what
        wrong = [i for i, t in enumerate(theirs) if t != ours[i]]
        self.differences += len(wrong)
        print(f"{what}: {len(inputs) - len(wrong)} of {len(inputs)} equal", flush=True)
        for i in wrong[:5]:
            print(f"  {inputs[i]!r}\n    theirs {theirs[i]}\n    ours   {ours[i]}")

    def tokenizer_json(self, what, folder, inputs):
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        encodings = [tokenizer.encode(*x) if isinstance(x, list) else tokenizer.encode(x) for x in inputs]
        self.compare(what, folder, "--offsets", inputs, [written(e.ids, e.offsets) for e in encodings])

    def sentencepiece(self, what, model, scratch, inputs):
        folder = pathlib.Path(tempfile.mkdtemp(dir=scratch))
        shutil.copy(model, folder / "spiece.model")
        processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
        theirs = []
        for text in inputs:
            place = [0]
            for c in text:
                place += [place[-1]] * (len(c.encode()) - 1) + [place[-1] + 1]
            pieces = processor.encode(text, return_type="proto").pieces
            theirs.append(written([p.id for p in pieces], [(place[p.begin], place[p.end]) for p in pieces]))
        self.compare(what, folder, "--plain", inputs, theirs)


def main():
    check, data = Check(sys.argv[1]), pathlib.Path(sys.argv[2])
    scratch = pathlib.Path(tempfile.mkdtemp())
    real = real_texts(data)
    if not real:
        print(f"SKIPPED: no real texts at {data}")
    characters = [f"a{chr(c)}b" for c in range(0, 0x30000, 3) if not 0xD800 <= c <= 0xDFFF]
    texts = TEXTS + random_texts(20000) + characters + real
    pairs = [[a, b] for a in TEXTS for b in TEXTS[:12]]
    folders = {name: data / "vocab" / name for name in ("roberta-base", "t5-small")}
    for name in ("bert_cased", "bert_uncased"):
        if (data / "vocab" / name).exists():
            folders[name] = scratch / name
            folders[name].mkdir()
            subprocess.run([check.driver, str(data / "vocab" / name), "--save", str(folders[name])], check=True)
    for name, folder in folders.items():
        if folder.exists():
            check.tokenizer_json(f"{name}, tokenizer.json", folder, texts)
            check.tokenizer_json(f"{name}, tokenizer.json, pairs", folder, pairs)
    models = [data / "vocab" / "t5" / "t5_tokenizer_base.model", data / "vocab" / "camphr_spiece" / "spiece.model"]
    for model in models:
        if model.exists():
            check.sentencepiece(model.parent.name, model, scratch, texts)
    (scratch / "text").write_text("\n".join(t.replace("\n", " ") for t in real[:6000] + TEXTS * 3))
    for i, (name, options) in enumerate(TRAINED.items()):
        prefix = str(scratch / f"trained{i}")
        sentencepiece.SentencePieceTrainer.train(
            input=str(scratch / "text"), model_prefix=prefix, hard_vocab_limit=False, minloglevel=2, **options
        )
        check.sentencepiece(f"trained: {name}", pathlib.Path(prefix + ".model"), scratch, texts)
    shutil.rmtree(scratch)
    print(f"{check.differences} differences")
    return 1 if check.differences else 0


if __name__ == "__main__":
    sys.exit(main())
