#!/usr/bin/env python3
"""Compares berth with AutoTokenizer on folders of every class and flag, with added tokens, edited and older files.

    python tests/peers/check_tokenizer_variants.py BERTH TOKENIZE_LINES FOLDERS [DATA]

FOLDERS is what tests/record/tokenizer_folders.py has written, with this or another version of transformers. The ids and offsets of 1,000
texts and 100 pairs are compared, the types of the pairs, and texts and pairs that are cut; or berth refuses the folder. The texts are
those of torture_texts.py, random ones, and sentences of the data sets in DATA. Needs transformers 5, because berth reads folders as it
does.
"""
import collections
import csv
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "record"))

import tokenizer_folders  # noqa: E402
import torture_texts  # noqa: E402

CUT = 12
# What transformers cannot load itself, or reads by rules that berth does not have.
MAY_BE_REFUSED = ("Tokenizer with tokenizer.json", "BigBird", "RemBert", "DPRQuestionEncoder", "Bert xlm class", "alone, file of another class", "alone, BPE", "alone, added",
                  "alone, add_bos_token", "XLNet")


def sentences(data):
    """400 lines of the data sets, those with other letters than English first."""
    lines = (data / "text/botchan.txt").read_text().split("\n")
    with open(data / "ag_news/test_head3000.csv", newline="") as file:
        lines += [row["text"] for row in csv.DictReader(file)]
    for file in sorted(data.glob("glue/*/*.tsv")):
        lines += [max(line.split("\t"), key=len) for line in file.read_text(errors="replace").split("\n")[1:2000]]
    words = re.sub(r"\t[^\n]*", "", (data / "ner/wnut17/wnut17train.conll").read_text())
    lines += [block.replace("\n", " ") for block in words.split("\n\n")]
    lines = [line for line in dict.fromkeys(line.strip() for line in lines) if line]
    random.Random(1).shuffle(lines)
    return sorted(lines, key=str.isascii)[:200] + sorted(lines, key=str.isascii)[-200:]


def texts_of(data):
    texts = tokenizer_folders.TEXTS + [t for t in torture_texts.TEXTS if len(t) < 2000] + (sentences(pathlib.Path(data)) if data else [])
    return texts + torture_texts.random_texts(1000 - len(texts))


class Check:
    def __init__(self, berth, driver, texts):
        self.berth, self.driver, self.texts = berth, driver, texts
        self.pairs = list(zip(texts[:200:2], texts[1:200:2]))
        self.given = pathlib.Path(tempfile.mkdtemp()) / "texts.jsonl"
        lines = [{"text": text} for text in texts] + [{"text": a, "text_pair": b} for a, b in self.pairs]
        self.given.write_text("".join(json.dumps(line) + "\n" for line in lines))
        self.lines = "".join(json.dumps(value) + "\n" for value in texts + self.pairs).encode()

    def refusal_or_encodings(self, folder):
        done = subprocess.run([self.berth, "--mode", "tokenize", "--model", str(folder), "--input", str(self.given)], capture_output=True)
        if done.returncode not in (0, 2, 3):
            raise SystemExit(f"{folder}: exit code {done.returncode}: {done.stderr.decode()[-500:]}")
        if done.returncode:
            return done.stderr.decode().strip().split("\n")[-1]
        self.tells_of_types = b"model_input_names" in done.stderr
        return [json.loads(line) for line in done.stdout.decode().split("\n")[:-1]]

    def driven(self, folder, mode):
        done = subprocess.run([self.driver, str(folder), mode], input=self.lines, capture_output=True, check=True)
        return [line.split() for line in done.stdout.decode().split("\n")[:-1]]

    def differences(self, folder, ours, theirs):
        """(what, input, theirs, ours) of each."""
        inputs, found = self.texts + self.pairs, []

        def compare(what, expected, have):
            found.extend((what, inputs[i], e, h) for i, (e, h) in enumerate(zip(expected, have, strict=True)) if e is not None and e != h)

        compare("ids", theirs["ids"], [one["ids"] for one in ours])
        compare("offsets", theirs["offsets"], [one["offsets"] for one in ours])
        # Where berth gives other types than transformers 5, it says so.
        types = [None] * len(inputs) if self.tells_of_types else theirs["types"]
        compare("types", types, [[int(part.split(":")[1]) for part in line] for line in self.driven(folder, "--types")])
        compare("cut", theirs["cut"], [[int(part) for part in line] for line in self.driven(folder, str(CUT))])
        return found

    def asked(self, folder):
        """What AutoTokenizer says, or its error."""
        try:
            tokenizer = tokenizer_folders.transformers.AutoTokenizer.from_pretrained(folder)
            said = collections.defaultdict(list)
            for batch in ([self.texts], [[a for a, _ in self.pairs], [b for _, b in self.pairs]]):
                whole = tokenizer(*batch, return_offsets_mapping=True)
                said["ids"] += whole["input_ids"]
                said["offsets"] += [[list(span) for span in spans] for spans in whole["offset_mapping"]]
                # A model computes with type 0 where the tokenizer gives none.
                said["types"] += whole["token_type_ids"] if "token_type_ids" in whole else [[0] * len(line) for line in whole["input_ids"]]
                said["cut"] += tokenizer(*batch, truncation=True, max_length=CUT)["input_ids"]
            return said
        except Exception as error:
            return repr(error)

    def verdict(self, name, folder):
        theirs, ours = self.asked(folder), self.refusal_or_encodings(folder)
        if isinstance(ours, str):
            expected = isinstance(theirs, str) or any(part in name for part in MAY_BE_REFUSED)
            return "refused, as transformers does" if isinstance(theirs, str) else "refused" if expected else "REFUSED", ours[-300:]
        if isinstance(theirs, str):
            return "read where transformers fails", theirs[:200]
        found = self.differences(folder, ours, theirs)
        if not found:
            return "equal", ""
        what, given, expected, have = found[0]
        kinds = dict(collections.Counter(what for what, *_ in found))
        return "DIFFERENT", f"{kinds}, such as {what} of {given!r}\n    theirs {expected[:40]}\n    ours   {have[:40]}"


def main():
    berth, driver, root = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    check = Check(berth, driver, texts_of(sys.argv[4] if len(sys.argv) > 4 else None))
    count = collections.Counter()
    for folder in sorted(path for path in root.iterdir() if path.name != "scratch"):
        kind, note = check.verdict(folder.name, folder)
        count[kind] += 1
        if kind.isupper():
            print(f"{kind}: {folder.name}: {note}", flush=True)
    print(f"{sum(count.values())} folders, {len(check.texts)} texts and {len(check.pairs)} pairs each: {dict(count)}")
    return any(kind.isupper() for kind in count)


if __name__ == "__main__":
    sys.exit(main())
