"""Records tests/testdata/arrow.tar: small Arrow files and streams by several writers.

    python tests/record/fixtures.py arrow record_arrow.py

expected.json holds the columns of each file as the reader must return them, in the form that record_parquet.py
describes. Recorded with pyarrow 26.0.1, pandas 3.1.1 and polars 2.1.0.
"""
import datetime
import decimal
import json
import math
import pathlib
import sys
import uuid

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather

from columnar_cells import cell

FOLDER = pathlib.Path(sys.argv[1])
TEXTS = ["plain", "", None, "caf\u00e9 \u2014 \u65e5\u672c", "a\nb 'q' \"r\"", "\U0001f600 end of a long text", "plain", None]
NUMBERS = [0, 1, None, -7, 100, 2, 2, 2]


def flat():
    return pa.table({
        "text": pa.array(TEXTS),
        "large": pa.array(TEXTS[::-1], pa.large_string()),
        "few": pa.array(["a", "b", None, "a", "a", "b", "", "a"]).dictionary_encode(),
        "i8": pa.array(NUMBERS, pa.int8()),
        "i16": pa.array(NUMBERS, pa.int16()),
        "i64": pa.array([n and n * 10**15 for n in NUMBERS], pa.int64()),
        "u8": pa.array([0, 255, None, 3, 3, 3, 3, 3], pa.uint8()),
        "u64": pa.array([0, 2**64 - 1, None, 2**63, 2**63 - 1, 5, 5, 5], pa.uint64()),
        "f32": pa.array([0.5, -1.25, None, 3, 4, 5, math.nan, 7], pa.float32()),
        "f64": pa.array([0.1, -1e300, None, 3, 4, 5, 6, 7], pa.float64()),
        "truth": pa.array([True, False, None, True, True, True, False, False]),
    })


def nested():
    return pa.table({
        "words": pa.array([["a", None, "b"], [], None, ["c"], ["d", "e"], [], [None], ["f"]], pa.list_(pa.string())),
        "large": pa.array([[1], None, [], [2, 3]] * 2, pa.large_list(pa.int16())),
        "fixed": pa.array([[1, 2], None, [3, None], [4, 5]] * 2, pa.list_(pa.int8(), 2)),
        "answers": pa.array([{"text": ["x", "y"], "start": [1, 2]}, None, {"text": [], "start": None}, {"text": ["z"], "start": [3]}] * 2,
                            pa.struct([("text", pa.list_(pa.string())), ("start", pa.list_(pa.int32()))])),
        "map": pa.array([[("k", 1)], [], None, [("l", None), ("m", 2)]] * 2, pa.map_(pa.string(), pa.int32())),
        "coded": pa.array([["x", "y"], None, ["y"], []] * 2, pa.list_(pa.dictionary(pa.int8(), pa.string()))),
        "views": pa.array([["x" * 20, "y"], None, ["y"], []] * 2, pa.list_view(pa.string_view())),
    })


def meanings():
    moment = datetime.datetime(2024, 2, 29, 12, 30, 5, 250000)
    whole = moment.replace(microsecond=0)
    return pa.table({
        "date": pa.array([datetime.date(1969, 12, 31), None, datetime.date(2000, 2, 29), datetime.date(1, 1, 1)]),
        "date64": pa.array([datetime.date(1969, 12, 31), None, datetime.date(2000, 2, 29), datetime.date(1, 1, 1)], pa.date64()),
        "s": pa.array([whole, None, datetime.datetime(1969, 12, 31, 23, 59, 59), whole], pa.timestamp("s")),
        "ms": pa.array([moment, None, datetime.datetime(1969, 12, 31, 23, 59, 59), moment], pa.timestamp("ms")),
        "utc": pa.array([moment, None, moment, moment], pa.timestamp("us", tz="UTC")),
        "ns": pa.array([1, None, -1, 10**18], pa.timestamp("ns")),
        "time": pa.array([datetime.time(1, 2, 3), None, datetime.time(23, 59, 59, 5), datetime.time(0)], pa.time64("us")),
        "time32": pa.array([datetime.time(1, 2, 3), None, datetime.time(23, 59, 59), datetime.time(0)], pa.time32("s")),
        "decimal": pa.array([decimal.Decimal("1.25"), None, decimal.Decimal("-0.50"), decimal.Decimal("-123456789012345678901234.00")]),
        "half": pa.array(np.array([0.5, -2, np.nan, 1024], np.float16)),
        "bytes": pa.array([b"text", None, b"\xff\x00", b""], pa.binary()),
        "byte_views": pa.array([b"text", None, b"\xff\x00", b"a longer text than a view"], pa.binary_view()),
        "nothing": pa.nulls(4),
        "fixed": pa.array([b"abcd", None, b"\xfe\xfe\xfe\xfe", b"wxyz"], pa.binary(4)),
        "uuid": pa.array([uuid.UUID(int=i).bytes if i else None for i in (1, 0, 2**127, 7)], pa.uuid()),
        "duration": pa.array([5, None, -5, 0], pa.duration("ms")),
        "interval": pa.array([(1, 2, 3), None, (4, 5, 6), (7, 8, 9)], pa.month_day_nano_interval()),
        "union": pa.UnionArray.from_dense(pa.array([0, 1, 0, 1], pa.int8()), pa.array([0, 0, 1, 1], pa.int32()),
                                          [pa.array([1, 2]), pa.array(["a", "b"])]),
        "runs": pa.RunEndEncodedArray.from_arrays(pa.array([2, 4], pa.int32()), pa.array(["a", "b"])),
        "last": pa.array(["a", "b", None, "c"]),
    })


expected = {}


def record(name, table, write, categories=None):
    write(str(FOLDER / name))
    columns = {}
    for column in table.column_names:
        kind = table[column].type
        is_missing = pa.types.is_union(kind) or pa.types.is_run_end_encoded(kind) or pa.types.is_interval(kind)
        columns[column] = {"categories": (categories or {}).get(column, []),
                           "cells": [None if is_missing else cell(value) for value in table[column].to_pylist()]}
    expected[name] = columns


def by_pyarrow(name, table, rows=None, categories=None, given=None, **options):
    def write(path):
        new = pa.ipc.new_stream if name.endswith(".arrows") else pa.ipc.new_file
        with new(path, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
            writer.write_table(table, max_chunksize=rows)

    record(name, given or table, write, categories)


by_pyarrow("flat.arrow", flat(), rows=3)
by_pyarrow("flat.arrows", flat(), rows=3)
by_pyarrow("flat_lz4.arrow", flat(), compression="lz4")
by_pyarrow("flat_zstd.arrows", flat(), compression="zstd")
by_pyarrow("nested.arrow", nested(), rows=5)
by_pyarrow("nested_zstd.arrow", nested(), compression="zstd")
by_pyarrow("meanings.arrow", meanings())
by_pyarrow("no_rows.arrow", flat().slice(0, 0))
by_pyarrow("legacy.arrows", flat().select(["text", "few"]), use_legacy_format=True)


def dictionaries(name, parts, deltas):
    """A stream whose dictionary grows or is replaced with each batch."""
    batches = [pa.record_batch({"few": pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), pa.array(values)), "n": pa.array(indices)})
               for indices, values in parts]
    new = pa.ipc.new_stream if name.endswith(".arrows") else pa.ipc.new_file
    def write(path):
        with new(path, batches[0].schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=deltas)) as writer:
            for batch in batches:
                writer.write_batch(batch)

    record(name, pa.Table.from_batches(batches), write)


growing = [([0, 1, None], ["a", "b"]), ([2, 0, 3], ["a", "b", "c", "d"]), ([4], ["a", "b", "c", "d", "e"])]
dictionaries("deltas.arrows", growing, True)
dictionaries("deltas.arrow", growing, True)
dictionaries("replaced.arrows", [([0, 1, None], ["a", "b"]), ([1, 0], ["x", "y"]), ([0], ["z"])], False)

frame = pd.DataFrame({"text": TEXTS, "label": pd.Categorical(["pos", "neg", None, "pos"] * 2, categories=["pos", "neg", "unused"])})
record("pandas.feather", pa.Table.from_pandas(frame), lambda path: frame.to_feather(path), {"label": ["pos", "neg", "unused"]})
views = pa.table({"text": TEXTS, "words": [["a", "a text that is longer than a view"], None, [], ["c"]] * 2})
record("polars.ipc", views, lambda path: pl.from_arrow(views).write_ipc(path, compression="lz4"))
coded = pa.table({"label": ["pos", "neg", None, "pos"] * 2})
record("polars.arrows", coded, lambda path: pl.from_arrow(coded).cast(pl.Enum(["neg", "pos"])).write_ipc_stream(path))

# What datasets.Dataset.save_to_disk() writes: the names of classes are in the metadata.
features = {"info": {"features": {"text": {"dtype": "string", "_type": "Value"}, "label": {"names": ["neg", "pos"], "_type": "ClassLabel"},
                                  "tags": {"feature": {"names": ["O", "B"], "_type": "ClassLabel"}, "_type": "List"}}}}
given = pa.table({"text": ["a", "b", "c"], "label": [1, 0, -1], "tags": [[0, 1], [], [1]]}).replace_schema_metadata(
    {"huggingface": json.dumps(features)})
named = pa.table({"text": ["a", "b", "c"], "label": ["pos", "neg", None], "tags": [["O", "B"], [], ["B"]]})
by_pyarrow("datasets.arrow", given, given=named, categories={"label": ["neg", "pos"], "tags": ["O", "B"]})

(FOLDER / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
