"""Records tests/testdata/parquet.tar: small files by several writers, with every encoding and compression that they have.

    python tests/record/fixtures.py parquet record_parquet.py

expected.json holds the columns of each file as the reader must return them: nested values are JSON texts, dates and
times the texts that pandas prints, integers above 2^63 - 1 doubles, and NaN is null. Recorded with pyarrow 26.0.1, pandas 3.1.1, polars
2.1.0 and fastparquet 2026.9.0.
"""
import datetime
import decimal
import json
import math
import pathlib
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from columnar_cells import cell

warnings.simplefilter("ignore")
FOLDER = pathlib.Path(sys.argv[1])
TEXTS = ["plain", "", None, "caf\u00e9 \u2014 \u65e5\u672c", "a\nb 'q' \"r\"", "\U0001f600 end", "plain", None]
ROWS = len(TEXTS)


def flat():
    numbers = [0, 1, None, -7, 100, 2, 2, 2]
    return pa.table({
        "text": pa.array(TEXTS),
        "few": pa.array(["a", "b", None, "a", "a", "b", "", "a"]),
        "i8": pa.array(numbers, pa.int8()),
        "i32": pa.array([n and n * 10**6 for n in numbers], pa.int32()),
        "i64": pa.array([n and n * 10**15 for n in numbers], pa.int64()),
        "u64": pa.array([0, 2**64 - 1, None, 2**63, 2**63 - 1, 5, 5, 5], pa.uint64()),
        "u32": pa.array([0, 2**32 - 1, None, 3, 3, 3, 3, 3], pa.uint32()),
        "f32": pa.array([0.5, -1.25, None, 3, 4, 5, math.nan, 7], pa.float32()),
        "f64": pa.array([0.1, -1e300, None, 3, 4, 5, 6, 7], pa.float64()),
        "truth": pa.array([True, False, None, True, True, True, False, False]),
    })


def nested():
    return pa.table({
        "words": pa.array([["a", None, "b"], [], None, ["c"], ["d", "e"], [], [None], ["f"]], pa.list_(pa.string())),
        "lists": pa.array([[[1], []], [], None, [None, [2, 3]], [[4]], [[5, 6]], [[]], [[7]]], pa.list_(pa.list_(pa.int64()))),
        "answers": pa.array([{"text": ["x", "y"], "start": [1, 2]}, None, {"text": [], "start": None}, {"text": ["z"], "start": [3]}] * 2,
                            pa.struct([("text", pa.list_(pa.string())), ("start", pa.list_(pa.int32()))])),
        "map": pa.array([[("k", 1)], [], None, [("l", None), ("m", 2)]] * 2, pa.map_(pa.string(), pa.int32())),
    })


def meanings():
    moment = datetime.datetime(2024, 2, 29, 12, 30, 5, 250000)
    return pa.table({
        "date": pa.array([datetime.date(1969, 12, 31), None, datetime.date(2000, 2, 29), datetime.date(1, 1, 1)] * 2),
        "ms": pa.array([moment, None, datetime.datetime(1969, 12, 31, 23, 59, 59), moment] * 2, pa.timestamp("ms")),
        "utc": pa.array([moment, None, moment, moment] * 2, pa.timestamp("us", tz="UTC")),
        "ns": pa.array([1, None, -1, 10**18] * 2, pa.timestamp("ns")),
        "time": pa.array([datetime.time(1, 2, 3), None, datetime.time(23, 59, 59, 5), datetime.time(0)] * 2, pa.time64("us")),
        "decimal": pa.array([decimal.Decimal("1.25"), None, decimal.Decimal("-0.50"), decimal.Decimal("12345678.00")] * 2),
        "half": pa.array(np.array([0.5, -2, 0, 1024] * 2, np.float16)),
        "bytes": pa.array([b"text", None, b"\xff\x00", b""] * 2, pa.binary()),
        "nothing": pa.nulls(ROWS),
        "fixed": pa.array([b"abcd", None, b"\xfe\xfe\xfe\xfe", b"wxyz"] * 2, pa.binary(4)),
    })


expected = {}


def record(name, table, write, categories=None):
    write(str(FOLDER / name))
    expected[name] = {column: {"categories": (categories or {}).get(column, []), "cells": [cell(value) for value in table[column].to_pylist()]}
                      for column in table.column_names}


def by_pyarrow(name, table, categories=None, **options):
    record(name, table, lambda path: pq.write_table(table, path, **options), categories)


for codec in ("none", "snappy", "gzip", "zstd", "lz4"):
    version = "2.0" if codec in ("none", "zstd") else "1.0"
    by_pyarrow(f"flat_{codec}.parquet", flat(), compression=codec, data_page_version=version, row_group_size=3, write_statistics=False)
by_pyarrow("plain.parquet", flat(), compression="none", use_dictionary=False, write_page_checksum=True, write_statistics=False)
deltas = {"text": "DELTA_BYTE_ARRAY", "few": "DELTA_LENGTH_BYTE_ARRAY", "i8": "DELTA_BINARY_PACKED", "i32": "DELTA_BINARY_PACKED",
          "i64": "DELTA_BINARY_PACKED", "u64": "DELTA_BINARY_PACKED", "u32": "BYTE_STREAM_SPLIT", "f32": "BYTE_STREAM_SPLIT",
          "f64": "BYTE_STREAM_SPLIT", "truth": "RLE"}
by_pyarrow("deltas.parquet", flat(), compression="none", use_dictionary=False, column_encoding=deltas, write_statistics=False)
by_pyarrow("nested.parquet", nested(), compression="none", data_page_size=16, write_statistics=False)
by_pyarrow("nested_pages_v2.parquet", nested(), compression="snappy", data_page_version="2.0", write_statistics=False)
by_pyarrow("meanings.parquet", meanings(), compression="zstd", write_statistics=False)
by_pyarrow("int96.parquet", meanings().select(["ns"]), use_deprecated_int96_timestamps=True)
by_pyarrow("no_rows.parquet", flat().slice(0, 0))

by_pyarrow("nulls.parquet", pa.table({"text": pa.array([None, None], pa.string()), "n": [1, 2]}), compression="gzip", write_statistics=False)

frame = pd.DataFrame({"text": TEXTS, "label": pd.Categorical(["pos", "neg", None, "pos"] * 2, categories=["pos", "neg", "unused"])},
                     index=[f"row {i}" for i in range(ROWS)])
table = pa.Table.from_pandas(frame).select(["text", "label"])
record("pandas.parquet", table, lambda path: frame.to_parquet(path), {"label": ["pos", "neg", "unused"]})
table = pl.from_arrow(nested().select(["words", "lists", "answers"])).to_arrow()
record("polars.parquet", table, lambda path: pl.from_arrow(table).write_parquet(path, compression="lz4", statistics=False))
plain = pd.DataFrame({"text": ["a", "b", "c\u00e9"], "label": [0, 1, 0], "score": [0.5, 1.5, 2.5]})
record("fastparquet.parquet", pa.Table.from_pandas(plain), lambda path: plain.to_parquet(path, engine="fastparquet", compression="GZIP"))

# What datasets.Dataset.to_parquet() writes: the names of classes are in the metadata.
features = {"info": {"features": {"text": {"dtype": "string", "_type": "Value"}, "label": {"names": ["neg", "pos"], "_type": "ClassLabel"},
                                  "tags": {"feature": {"names": ["O", "B"], "_type": "ClassLabel"}, "_type": "List"}}}}
given = pa.table({"text": ["a", "b", "c"], "label": [1, 0, -1], "tags": [[0, 1], [], [1]]}).replace_schema_metadata(
    {"huggingface": json.dumps(features)})
named = pa.table({"text": ["a", "b", "c"], "label": ["pos", "neg", None], "tags": [["O", "B"], [], ["B"]]})
record("datasets.parquet", named, lambda path: pq.write_table(given, path), {"label": ["neg", "pos"], "tags": ["O", "B"]})

(FOLDER / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
