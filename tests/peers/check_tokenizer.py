#!/usr/bin/env python3
"""Compares berth's token ids with those of `tokenizers` 0.23 and transformers.

    python tests/peers/check_tokenizer.py TOKENIZE_LINES SHARED_DATA [VOCABULARY...]

The texts are AG News, SST-2, the torture list, random mixtures, and every code point alone and within a word. The vocabularies are
BERT's real ones and one that holds every character. Afterwards AutoTokenizer loads the folder that berth saves. Needs
`pip install tokenizers==0.23.* transformers pandas`.
"""
import csv
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import warnings

os.environ["TOKENIZERS_PARALLELISM"] = "false"
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "record"))

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors  # noqa: E402

from torture_texts import TEXTS, random_texts  # noqa: E402

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CODE_POINTS = [chr(c) for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


def reference(pieces, lowercase):
    """Builds the tokenizer as transformers builds BertTokenizerFast from vocab.txt."""
    ids = {piece: i for i, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(True, True, None, lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])],
    )
    tokenizer.add_special_tokens(SPECIAL)
    return tokenizer


def write_folder(folder, pieces, lowercase):
    folder.mkdir()
    (folder / "vocab.txt").write_bytes("".join(piece + "\n" for piece in pieces).encode())
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": lowercase}))
    return folder


def our_ids(driver, folder, inputs, max_length=None):
    lines = "".join(json.dumps(value) + "\n" for value in inputs)
    command = [driver, str(folder)] + ([str(max_length)] if max_length else [])
    output = subprocess.run(command, input=lines.encode(), stdout=subprocess.PIPE, check=True).stdout
    return output.decode().splitlines()


class Check:
    def __init__(self):
        self.differences = 0

    def compare(self, what, inputs, theirs, ours):
        assert len(inputs) == len(theirs) == len(ours), what
        wrong = [i for i, t in enumerate(theirs) if " ".join(map(str, t)) != ours[i].rstrip()]
        self.differences += len(wrong)
        print(f"{what}: {len(inputs) - len(wrong)} of {len(inputs)} equal", flush=True)
        for i in wrong[:5]:
            print(f"  {inputs[i]!r}\n    theirs {theirs[i]}\n    ours   {ours[i]}")


def compare_texts(check, what, driver, folder, tokenizer, inputs, max_length=None):
    tokenizer.no_truncation()
    if max_length:
        tokenizer.enable_truncation(max_length)
    theirs = []
    for start in range(0, len(inputs), 5000):
        batch = [tuple(x) if isinstance(x, list) else x for x in inputs[start : start + 5000]]
        theirs += [encoding.ids for encoding in tokenizer.encode_batch(batch)]
    check.compare(what, inputs, theirs, our_ids(driver, folder, inputs, max_length))


def load_pickle(file):
    with warnings.catch_warnings():  # numpy warns about old module names
        warnings.simplefilter("ignore", DeprecationWarning)
        return pickle.load(file)


def real_texts(data):
    texts = {}
    if (data / "ag_news").exists():
        with open(data / "ag_news" / "df.pickle", "rb") as file:
            texts["ag_news pickle"] = list(load_pickle(file)["text"])
        with open(data / "ag_news" / "test_head3000.csv", newline="") as file:
            texts["ag_news csv"] = [row["text"] for row in csv.DictReader(file)]
    if (data / "glue").exists():
        lines = (data / "glue" / "SST-2" / "train.tsv").read_text().split("\n")[1:]
        texts["SST-2 train"] = [line.split("\t")[0] for line in lines if line]
    return texts


def compare_saved(check, driver, folder, texts, scratch):
    """Compares our ids with those of AutoTokenizer and `tokenizers` on the folder that we save."""
    from transformers import AutoTokenizer

    saved = scratch / f"saved-{folder.name}"
    saved.mkdir()
    subprocess.run([driver, str(folder), "--save", str(saved)], check=True)
    ours = our_ids(driver, folder, texts)
    check.compare(f"{folder.name}, saved, read by us", texts, [line.split() for line in our_ids(driver, saved, texts)], ours)
    auto = AutoTokenizer.from_pretrained(saved)
    check.compare(f"{folder.name}, saved, AutoTokenizer", texts, [auto(text)["input_ids"] for text in texts], ours)
    plain = Tokenizer.from_file(str(saved / "tokenizer.json"))
    check.compare(f"{folder.name}, saved, tokenizer.json", texts, [plain.encode(text).ids for text in texts], ours)
    (saved / "vocab.txt").unlink()
    lines = our_ids(driver, saved, texts)
    check.compare(f"{folder.name}, saved without vocab.txt, read by us", texts, [line.split() for line in lines], ours)


def main():
    driver, data = sys.argv[1], pathlib.Path(sys.argv[2])
    check, scratch = Check(), pathlib.Path(tempfile.mkdtemp())
    everything = real_texts(data)
    if not everything:
        print(f"SKIPPED: no real texts at {data}")
    torture = TEXTS + random_texts(100000)
    pairs = [[a, b] for a in TEXTS for b in TEXTS]
    whole = [piece for c in CODE_POINTS if c not in "\n\r" for piece in (c, "##" + c)]
    vocabularies = {"every character": (SPECIAL + whole, (False, True))}
    for name, lowercase in (("bert_cased", False), ("bert_uncased", True)):
        path = data / "vocab" / name / "vocab.txt"
        if path.exists():
            vocabularies[name] = (path.read_text(encoding="utf-8").split("\n")[:-1], (lowercase,))
    for name in sys.argv[3:] or vocabularies:
        pieces, cases = vocabularies[name]
        for lowercase in cases:
            label = f"{name}, {'uncased' if lowercase else 'cased'}"
            folder = write_folder(scratch / label.replace(", ", "-").replace(" ", "-"), pieces, lowercase)
            tokenizer = reference(pieces, lowercase)
            run = lambda what, inputs, n=None: compare_texts(  # noqa: E731
                check, f"{label}: {what}", driver, folder, tokenizer, inputs, n
            )
            run("torture", torture)
            run("code points", CODE_POINTS)
            run("code points in a word", [f"a{c}b" for c in CODE_POINTS])
            if name == "every character":  # its 2 million pieces take a long time to load
                continue
            for n in (3, 4, 7, 8, 16, 33, 128):
                run(f"torture pairs, {n} ids", pairs, n)
            run("torture, 10 ids", TEXTS, 10)
            for what, texts in everything.items():
                run(what, texts)
                run(f"{what}, 32 ids", texts, 32)
                run(f"{what}, pairs, 33 ids", [list(p) for p in zip(texts, texts[1:])], 33)
            compare_saved(check, driver, folder, TEXTS, scratch)
    print(f"{check.differences} differences")
    return 1 if check.differences else 0


if __name__ == "__main__":
    sys.exit(main())
