#!/usr/bin/env python3
"""Finds, and with --remove deletes, lines of training text that share a sentence with test texts.

Two sentences are equal if their letters and digits are, in lower case: "It does n't work ." equals "It doesn't work.". Sentences
of fewer than five words are not compared, because such sentences occur everywhere. A row of a test file counts as one sentence
too, beside the sentences that it holds.

    scripts/check-pretraining-overlap.py --test examples/topics --test agnews/test.csv:text CORPUS
    scripts/check-pretraining-overlap.py --within examples/topics

--test takes a text file (a row a line), a .csv or .tsv file followed by a colon and the column's name, a .pickle or .pkl file of a
pandas DataFrame (likewise; needs pandas), or a folder of such text files. CORPUS is a text file or a folder of *.txt, which is
searched with its subfolders. With --remove the files are rewritten in place without the lines found. --within compares the rows of
the given files with each other instead and looks for a sentence that two rows share.

The exit status is 0 if nothing is shared or all of it was removed, and 1 otherwise.
"""

import argparse
import csv
import hashlib
import os
import pathlib
import re
import sys

FEWEST_WORDS = 5
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+")
NOT_LETTER_OR_DIGIT = re.compile(r"[\W_]+")


def digest(sentence):
    """Eight bytes that equal sentences share; None for a sentence too short to compare."""
    words = [word for word in sentence.split() if any(c.isalnum() for c in word)]
    if len(words) < FEWEST_WORDS:
        return None
    letters = NOT_LETTER_OR_DIGIT.sub("", sentence.lower())
    return hashlib.blake2b(letters.encode(), digest_size=8).digest()


def digests(text):
    """The digests of a text's sentences and of the whole text."""
    found = {digest(sentence) for sentence in SENTENCE_END.split(text)}
    found.add(digest(text))
    found.discard(None)
    return found


def rows_of(source):
    """The texts of one file or folder, as --test describes them."""
    name, _, column = source.partition(":")
    path = pathlib.Path(name)
    if path.is_dir():
        for file in sorted(path.rglob("*.txt")):
            yield from rows_of(str(file))
    elif path.suffix in (".csv", ".tsv"):
        separator, quoting = ("\t", csv.QUOTE_NONE) if path.suffix == ".tsv" else (",", csv.QUOTE_MINIMAL)
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            rows = csv.DictReader(file, delimiter=separator, quoting=quoting)
            if column not in (rows.fieldnames or ()):
                raise SystemExit(f"{name} has the columns {rows.fieldnames}. Name one of them: {name}:COLUMN")
            yield from (row[column] or "" for row in rows)
    elif path.suffix in (".pickle", ".pkl"):
        import pandas  # only these files need it
        yield from pandas.read_pickle(path)[column or "text"]
    else:
        with open(path, encoding="utf-8", errors="replace") as file:
            yield from file.read().splitlines()


def corpus_files(path):
    path = pathlib.Path(path)
    return sorted(path.rglob("*.txt")) if path.is_dir() else [path]


def clean(path, forbidden, remove, examples):
    """Returns how many lines of one file share a sentence with the test texts, and deletes them if asked."""
    with open(path, encoding="utf-8", newline="\n") as file:
        lines = file.readlines()
    kept = []
    for line in lines:
        if digests(line) & forbidden:
            if len(examples) < 5:
                examples.append((path, line.strip()))
        else:
            kept.append(line)
    if remove and len(kept) < len(lines):
        part = f"{path}.part"
        with open(part, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(kept)
        os.replace(part, path)
    return len(lines) - len(kept)


def compare_with_tests(tests, corpus, remove):
    forbidden = set()
    for source in tests:
        before = len(forbidden)
        for row in rows_of(source):
            forbidden |= digests(row)
        print(f"{source}: {len(forbidden) - before} sentences")
    total, examples = 0, []
    for path in corpus_files(corpus):
        found = clean(path, forbidden, remove, examples)
        total += found
        if found:
            print(f"{path}: {found} lines {'removed' if remove else 'share a sentence with the test texts'}")
    for path, line in examples:
        print(f"  {os.path.basename(path)}: {line[:160]}")
    print(f"{total} lines {'removed' if remove else 'found'} in {corpus}")
    return total == 0 or remove


def compare_within(sources):
    """Prints each sentence that two rows share. Returns whether there was none."""
    owner, shared = {}, 0
    for source in sources:
        for row in rows_of(source):
            for mark in digests(row):
                other = owner.setdefault(mark, row)
                if other is not row:
                    shared += 1
                    print(f"two rows share a sentence:\n  {other}\n  {row}")
    print(f"{len(owner)} sentences, {shared} shared")
    return shared == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--test", action="append", metavar="FILE[:COLUMN]")
    parser.add_argument("--remove", action="store_true")
    parser.add_argument("--within", nargs="+", metavar="FILE")
    parser.add_argument("corpus", nargs="?")
    options = parser.parse_args()
    if options.within:
        return compare_within(options.within)
    if not options.test or not options.corpus:
        parser.error("give --test and CORPUS, or --within")
    return compare_with_tests(options.test, options.corpus, options.remove)


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
