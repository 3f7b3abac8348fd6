"""Records tests/testdata/numpy.tar: small files by numpy.save, numpy.savez and numpy.savez_compressed.

    python tests/record/fixtures.py numpy record_numpy.py

expected.json holds the columns of each file as the reader must return them: rows of two-dimensional arrays are JSON
texts, and NaN is null. Recorded with numpy 2.4.6.
"""
import json
import pathlib
import sys

import numpy as np

from columnar_cells import cell

FOLDER = pathlib.Path(sys.argv[1])
TEXTS = ["plain", "", "caf\u00e9 \u2014 \u65e5\u672c", "a\nb 'q'", "\U0001f600 end"]
expected = {}


def record(name, write, columns):
    with open(FOLDER / name, "wb") as file:
        write(file)
    expected[name] = {column: {"categories": [], "cells": [cell(value) for value in values]} for column, values in columns.items()}


def archive(name, save, shown=None, **arrays):
    plain = {column: array.tolist() for column, array in arrays.items()}
    record(name, lambda file: save(file, **arrays), {**plain, **(shown or {})})


numbers = [0, 1, -7, 100, 2]
kinds = {f"{order}{kind}".replace("<", "l").replace(">", "b"): np.array(numbers, order + kind)
         for order in "<>" for kind in ("i1", "i2", "i4", "i8", "f2", "f4", "f8")}
archive("texts.npz", np.savez, text=np.array(TEXTS), label=np.array(numbers))
archive("deflated.npz", np.savez_compressed, text=np.array(TEXTS * 40), label=np.array(numbers * 40, np.int32))
archive("kinds.npz", np.savez_compressed, **kinds, truth=np.array([True, False, True, True, False]),
        nan=np.array([0.5, np.nan, 1e300, -2, 3]), u64=np.array([0, 2**63 - 1, 2**63, 2**64 - 1, 5], np.uint64), big=np.array(TEXTS, ">U11"),
        bytes=np.array([text.encode() for text in TEXTS]), latin=np.array([b"\xe9", b"", b"a", b"b", b"c"]),
        shown={"u64": [0, 2**63 - 1, str(2**63), str(2**64 - 1), 5], "bytes": TEXTS, "latin": ["\u00e9", "", "a", "b", "c"]})
archive("objects.npz", np.savez, text=np.array([*TEXTS[:4], None], object), label=np.array(["a", 1, 2.5, None, True], object))
archive("lists.npz", np.savez, ids=np.array([[1, 2], [3, 4]]), words=np.array([["a", "b"], ["c", ""]]), label=np.array([1, 0]))
archive("no_rows.npz", np.savez, text=np.array([], "<U1"), label=np.array([], np.int64))

record("texts.npy", lambda file: np.save(file, np.array(TEXTS)), {"text": TEXTS})
record("vectors.npy", lambda file: np.save(file, np.array([[0.5, 1], [2, -3]], np.float32)), {"value": [[0.5, 1.0], [2.0, -3.0]]})
record("table.npy", lambda file: np.save(file, {"text": TEXTS, "label": numbers}), {"text": TEXTS, "label": numbers})
fields = np.dtype([("text", "<U11"), ("truth", "?"), ("score", "<f8")], align=True)
rows = np.array([(text, i % 2 == 0, i / 4) for i, text in enumerate(TEXTS)], fields)
record("records.npy", lambda file: np.save(file, rows), {field: rows[field].tolist() for field in fields.names})

(FOLDER / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
