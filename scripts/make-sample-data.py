#!/usr/bin/env python3
"""Makes examples/data/df.pickle, the bundled sample, from examples/topics/*.txt.

The table has the columns text and label. Each line of a file becomes a row, and the file's name becomes its label. A fixed seed
shuffles the rows. With the versions below the result has the same bytes each time. Any pandas since 1.4 can read it.

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
