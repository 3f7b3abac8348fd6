#!/usr/bin/env python3
"""Makes a set for training and measuring retrieval from the descriptions of Debian's packages, in BEIR's layout.

    python3 scripts/make-retrieval-set.py FOLDER

A query is the short description of a package, and its long description is the passage that answers it. One package a source counts, because
packages of one source have nearly the same text. A package whose long description repeats the short one to the letter is left out. FOLDER
gets corpus.jsonl (all passages), queries.jsonl and qrels/ (1,000 queries to test, 500 for evaluations of a training), and train.jsonl with
the pairs of all other packages. The texts belong to the packages' authors, under their licences, and stay out of this repository.

It needs apt-get on a Debian system. The package lists are downloaded into FOLDER/lists, and nothing else of the system changes.
"""

import hashlib
import json
import pathlib
import subprocess
import sys

TEST, DEV = 1000, 500
LEAST_WORDS, MOST_WORDS = 15, 200  # of a passage


def stanzas(file):
    """The fields of each paragraph of a control file. A continued field keeps its line breaks."""
    fields, name = {}, None
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines() + [""]:
        if not line.strip():
            if fields:
                yield fields
            fields, name = {}, None
        elif line[0] in " \t":
            if name:
                fields[name] += "\n" + line[1:]
        elif ":" in line:
            name, _, value = line.partition(":")
            fields[name] = value.strip()


def passage_of(lines):
    """The paragraphs of a long description as one line of at most MOST_WORDS words."""
    words = " ".join("" if line.strip() == "." else line.strip(" *-o\t") for line in lines).split()
    return " ".join(words[:MOST_WORDS])


def download(lists):
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    subprocess.run(["apt-get", "-qq", "-o", f"Dir::State::lists={lists}", "-o", "Acquire::Languages=en", "-o", "Acquire::GzipIndexes=false",
                    "-o", "APT::Sandbox::User=root", "update"], check=True)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1]).resolve()
    lists = folder / "lists"
    if not list(lists.glob("*_main_i18n_Translation-en")):
        download(lists)
    sources = {}
    for file in sorted(lists.glob("*_main_binary-*_Packages")):
        for fields in stanzas(file):
            sources.setdefault(fields["Package"], fields.get("Source", fields["Package"]).split()[0])
    packages, seen = {}, set()
    for file in sorted(lists.glob("*_main_i18n_Translation-en")):
        for fields in stanzas(file):
            short, *long = fields.get("Description-en", "").split("\n")
            passage, name = passage_of(long), fields["Package"]
            source = sources.get(name, name)
            if len(short.split()) < 3 or len(passage.split()) < LEAST_WORDS or short.lower() in passage.lower():
                continue
            if not seen.isdisjoint({short.lower(), passage.lower(), source + "/"}):
                continue
            seen.update({short.lower(), passage.lower(), source + "/"})
            packages[name] = (short, passage)
    # A package's place does not depend on which others there are.
    names = sorted(packages, key=lambda name: hashlib.sha256(name.encode()).hexdigest())
    (folder / "qrels").mkdir(exist_ok=True)
    write = lambda name, rows: (folder / name).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    write("corpus.jsonl", ({"_id": name, "text": packages[name][1]} for name in sorted(packages)))
    write("queries.jsonl", ({"_id": "q-" + name, "text": packages[name][0]} for name in names[:TEST + DEV]))
    write("train.jsonl", ({"query": packages[name][0], "positive": packages[name][1]} for name in names[TEST + DEV:]))
    for split, part in (("test", names[:TEST]), ("dev", names[TEST:TEST + DEV])):
        rows = ["query-id\tcorpus-id\tscore"] + [f"q-{name}\t{name}\t1" for name in part]
        (folder / "qrels" / f"{split}.tsv").write_text("\n".join(rows) + "\n")
    print(f"{len(packages)} passages, {len(names) - TEST - DEV} pairs to train on, {TEST} queries to test, {DEV} for evaluations: {folder}")


main()
