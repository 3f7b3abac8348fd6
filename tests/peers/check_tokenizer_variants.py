#!/usr/bin/env python3
"""Compares `berth --mode tokenize` with AutoTokenizer on folders of every class and flag, with added tokens, edited and older files.

The folders are also those without tokenizer.json (tests/record/lone_vocabularies.py), unless FOLDERS has been made already.

    python tests/peers/check_tokenizer_variants.py BERTH [FOLDERS]

The folders are those of tests/record/tokenizer_folders.py, made by the transformers of this Python; FOLDERS keeps them, or has them
already, made by another version. Each is compared on 1,000 texts and 100 pairs, or berth refuses it. Needs transformers 5, because
berth reads folders as it does.
"""
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "record"))

import lone_vocabularies  # noqa: E402
import tokenizer_folders  # noqa: E402
import torture_texts  # noqa: E402

TEXTS = tokenizer_folders.TEXTS + [t for t in torture_texts.TEXTS if len(t) < 2000]
TEXTS += torture_texts.random_texts(1000 - len(TEXTS))
PAIRS = list(zip(TEXTS[:200:2], TEXTS[1:200:2]))
# What transformers cannot load itself, or reads by rules that berth does not have.
MAY_BE_REFUSED = ("Tokenizer with tokenizer.json", "BigBird", "RemBert", "DPRQuestionEncoder", "Bert xlm class", "alone, file of another class", "alone, BPE", "alone, added",
                  "alone, add_bos_token", "XLNet")


def ours(berth, folder, scratch):
    lines = [{"text": text} for text in TEXTS] + [{"text": a, "text_pair": b} for a, b in PAIRS]
    given = scratch / "texts.jsonl"
    given.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = subprocess.run([berth, "--mode", "tokenize", "--model", str(folder), "--input", str(given)], capture_output=True)
    if done.returncode not in (0, 2, 3):
        raise SystemExit(f"{folder}: exit code {done.returncode}: {done.stderr.decode()[-500:]}")
    if done.returncode:
        return done.stderr.decode().strip().split("\n")[-1]
    return [json.loads(line)["ids"] for line in done.stdout.decode().split("\n")[:-1]]


def main():
    berth, scratch = sys.argv[1], pathlib.Path(tempfile.mkdtemp())
    root = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else scratch / "folders"
    made = {path.name: path for path in sorted(root.iterdir()) if path.name != "scratch"} if root.exists() else \
        tokenizer_folders.make_all(root) | lone_vocabularies.make_all(root)
    count = collections.Counter()
    for name, folder in made.items():
        said, have = tokenizer_folders.asked(folder, TEXTS, PAIRS), ours(berth, folder, scratch)
        if isinstance(have, str):
            expected = isinstance(said, str) or any(part in name for part in MAY_BE_REFUSED)
            kind = "refused" if expected else "REFUSED"
            note = have[-300:]
        elif isinstance(said, str):
            kind, note = "read where transformers fails", ""
        else:
            theirs = said[0] + [ids for ids, _ in said[1]]
            wrong = [i for i, ids in enumerate(theirs) if ids != have[i]]
            kind = "DIFFERENT" if wrong else "equal"
            note = wrong and f"{len(wrong)} texts, such as {(TEXTS + PAIRS)[wrong[0]]!r}\n    theirs {theirs[wrong[0]][:40]}\n    ours   {have[wrong[0]][:40]}"
        count[kind] += 1
        if kind.isupper():
            print(f"{kind}: {name}: {note}", flush=True)
    print(dict(count))
    return any(kind.isupper() for kind in count)


if __name__ == "__main__":
    sys.exit(main())
