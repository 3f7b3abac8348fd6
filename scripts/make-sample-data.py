#!/usr/bin/env python3
"""Makes examples/data/df.pickle, the bundled sample, from examples/topics/*.txt.

Two columns, text and label, one row a line, the file's name as the label, in an order shuffled by
a fixed seed. The same bytes each time with these versions (any pandas since 1.4 can read them):

    python3 -m venv build/venv
    build/venv/bin/pip install pandas==2.2.3 numpy==1.26.4
    build/venv/bin/python scripts/make-sample-data.py
"""

import pathlib
import random

import pandas

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"


def labelled_lines(folder):
    for file in sorted(folder.glob("*.txt")):
        for line in file.read_text(encoding="utf-8").splitlines():
            yield line, file.stem


def main():
    rows = list(labelled_lines(EXAMPLES / "topics"))
    random.Random(20).shuffle(rows)
    frame = pandas.DataFrame(rows, columns=["text", "label"], dtype=object)
    target = EXAMPLES / "data" / "df.pickle"
    target.parent.mkdir(exist_ok=True)
    frame.to_pickle(target, protocol=4)
    print(f"{target}: {len(frame)} rows, {target.stat().st_size} bytes")
    print(frame["label"].value_counts().sort_index().to_string())


if __name__ == "__main__":
    main()
