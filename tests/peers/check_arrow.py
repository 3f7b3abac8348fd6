"""Compares what berth reads from Arrow files and streams with what pyarrow reads from them.

    python tests/peers/check_arrow.py ROWS_AS_JSON WORK

Writes more than 200 files into the folder WORK by pyarrow, pandas, polars and datasets: files and streams, every compression, several
record batches, sliced tables, dictionaries that grow and are replaced, text views, nulls, nested columns. All cells of all rows must agree.
Each table that Parquet can hold is also written as Parquet, and both files must print the same. Then reads two columns of texts from larger
files, and prints the megabytes a second of both on one thread.
"""
import datetime
import decimal
import itertools
import pathlib
import random
import sys

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

import columnar
from columnar import WORDS, text

READER, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
FOLDER.mkdir(parents=True, exist_ok=True)
made = []
beside = []  # files that must print what a Parquet file of the same table prints


def columns_of(rows, seed, nulls):
    rng = random.Random(seed)
    maybe = lambda value: None if nulls and rng.random() < 0.15 else value
    return rng, maybe, lambda make, kind: pa.array([maybe(make()) for _ in range(rows)], kind)


def flat(rows, seed, nulls=True):
    rng, maybe, column = columns_of(rows, seed, nulls)
    moment = datetime.datetime(2000, 1, 1)
    columns = {
        "text": column(lambda: text(rng), pa.string()),
        "large": column(lambda: text(rng), pa.large_string()),
        "truth": column(lambda: rng.random() < 0.3, pa.bool_()),
        "f16": pa.array(np.array([rng.gauss(0, 1) for _ in range(rows)], np.float16)),
        "f32": column(lambda: float(np.float32(rng.gauss(0, 1))), pa.float32()),
        "f64": column(lambda: rng.gauss(0, 1), pa.float64()),
        "date": column(lambda: datetime.date(1900, 1, 1) + datetime.timedelta(days=rng.randint(0, 80000)), pa.date32()),
        "us": column(lambda: moment + datetime.timedelta(microseconds=rng.randint(-10**15, 10**15)), pa.timestamp("us")),
        "utc": column(lambda: moment + datetime.timedelta(milliseconds=rng.randint(-10**12, 10**12)), pa.timestamp("ms", tz="UTC")),
        "time": column(lambda: (moment + datetime.timedelta(microseconds=rng.randint(0, 10**10))).time(), pa.time64("us")),
        "nothing": pa.nulls(rows),
    }
    for bits in (8, 16, 32, 64):
        columns[f"i{bits}"] = column(lambda: rng.randint(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1), f"int{bits}")
        columns[f"u{bits}"] = column(lambda: rng.randint(0, 2**bits - 1), f"uint{bits}")
    return pa.table(columns)


def nested(rows, seed, nulls=True):
    rng, maybe, column = columns_of(rows, seed, nulls)
    some = lambda most, make: [make() for _ in range(rng.randint(0, most))]
    answer = pa.struct([("text", pa.list_(pa.string())), ("start", pa.list_(pa.int32())), ("score", pa.float64())])
    return pa.table({
        "words": column(lambda: some(4, lambda: maybe(rng.choice(WORDS))), pa.list_(pa.string())),
        "lists": column(lambda: some(3, lambda: maybe(some(3, lambda: rng.randint(0, 9)))), pa.list_(pa.list_(pa.int32()))),
        "large": column(lambda: some(3, lambda: maybe(rng.randint(0, 9))), pa.large_list(pa.int64())),
        "fixed": column(lambda: [maybe(rng.randint(0, 9)) for _ in range(3)], pa.list_(pa.int16(), 3)),
        "answers": column(lambda: {"text": some(2, lambda: text(rng)), "start": maybe(some(2, lambda: 7)), "score": maybe(1.5)}, answer),
        "structs": column(lambda: some(3, lambda: maybe({"a": maybe(1), "b": maybe("q")})),
                          pa.list_(pa.struct([("a", pa.int8()), ("b", pa.string())]))),
        "decimal": column(lambda: decimal.Decimal(rng.randint(-10**6, 10**6)) / 100, pa.decimal128(12, 2)),
        "wide": column(lambda: decimal.Decimal(rng.randint(-10**6, 10**6)) / 100, pa.decimal128(38, 2)),
        "map": column(lambda: [(f"k{i}", maybe(i)) for i in range(rng.randint(0, 3))], pa.map_(pa.string(), pa.int32())),
    })


def coded(rows, seed, nulls=True):
    rng, maybe, column = columns_of(rows, seed, nulls)
    few = lambda kind: column(lambda: rng.choice(["a", "bb", "", "ccc"]), pa.string()).dictionary_encode().cast(pa.dictionary(kind, pa.string()))
    return pa.table({
        "few": few(pa.int32()), "few8": few(pa.int8()), "few_u16": few(pa.uint16()), "few64": few(pa.int64()),
        "numbers": column(lambda: rng.randint(0, 5), pa.int64()).dictionary_encode(),
        "text": column(lambda: text(rng), pa.string()),
    })


def modern(rows, seed, nulls=True):
    """What Parquet has no types of its own for."""
    rng, maybe, column = columns_of(rows, seed, nulls)
    some = lambda most, make: [make() for _ in range(rng.randint(0, most))]
    return pa.table({
        "view": column(lambda: text(rng), pa.string_view()),
        "bytes": column(lambda: text(rng).encode(), pa.binary_view()),
        "lists": column(lambda: some(4, lambda: maybe(text(rng))), pa.list_view(pa.string_view())),
        "large": column(lambda: some(4, lambda: maybe(1)), pa.large_list_view(pa.int8())),
        "coded": column(lambda: some(4, lambda: rng.choice("abc")), pa.list_(pa.dictionary(pa.int8(), pa.string()))),
        "small": column(lambda: decimal.Decimal(rng.randint(-10**6, 10**6)) / 100, pa.decimal64(12, 2)),
    })


def path(suffix):
    made.append(FOLDER / f"{len(made):03}{suffix}")
    return str(made[-1])


def read(file):
    with open(file, "rb") as source:
        is_file = source.read(6) == b"ARROW1"
    return pa.ipc.open_file(file).read_all() if is_file else pa.ipc.open_stream(file).read_all()


def write(table, suffix, rows=None, **options):
    new = pa.ipc.new_stream if suffix == ".arrows" else pa.ipc.new_file
    name = path(suffix)
    with new(name, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=rows)
    return name


def write_files():
    sizes = itertools.cycle([37, 100, None])
    for make, suffix, codec, nulls in itertools.product([flat, nested, coded, modern], [".arrow", ".arrows"], [None, "lz4", "zstd"], [True, False]):
        for part in range(3):
            table = make(300, len(made), nulls)
            if part == 1:
                table = table.slice(13, 200)  # arrays that begin inside their buffers
            name = write(table, suffix, next(sizes), compression=codec)
            if make is not modern:
                beside.append((name, name + ".parquet"))
                pq.write_table(table, name + ".parquet")
    for suffix, version in itertools.product([".arrow", ".arrows"], [pa.ipc.MetadataVersion.V4, pa.ipc.MetadataVersion.V5]):
        write(flat(100, len(made)), suffix, 30, metadata_version=version, use_legacy_format=version == pa.ipc.MetadataVersion.V4)
    for suffix, deltas in ((".arrows", True), (".arrows", False), (".arrow", True)):
        rng, values = random.Random(len(made)), ["a", "b"]
        schema = pa.schema([("few", pa.dictionary(pa.int16(), pa.string()))])
        new = pa.ipc.new_stream if suffix == ".arrows" else pa.ipc.new_file
        with new(path(suffix), schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=deltas)) as writer:
            for number in range(20):
                values = values + [f"more {number}"] if deltas else [f"{number} {i}" for i in range(rng.randint(1, 5))]
                indices = pa.array([rng.choice([None, *range(len(values))]) for _ in range(30)], pa.int16())
                writer.write_batch(pa.record_batch([pa.DictionaryArray.from_arrays(indices, pa.array(values))], schema=schema))
    for codec in ("uncompressed", "lz4", "zstd"):
        for part in (flat(400, len(made)), nested(400, len(made)).drop_columns(["decimal", "wide", "map"])):
            frame = pl.from_arrow(part)
            if "text" in frame.columns:
                frame = frame.with_columns(pl.Series("kind", ["x", "yy", "z", None] * 100, dtype=pl.Categorical),
                                           pl.Series("enum", ["x", "y", "z", None] * 100, dtype=pl.Enum(["z", "y", "x"])))
            for size, level in itertools.product([None, 90], [pl.CompatLevel.newest(), pl.CompatLevel.oldest()]):
                frame.write_ipc(path(".ipc"), compression=codec, record_batch_size=size, compat_level=level)
                frame.write_ipc_stream(path(".arrows"), compression=codec, compat_level=level)
    frame = pd.DataFrame({"text": [text(random.Random(i)) for i in range(200)], "score": np.arange(200) / 7, "number": np.arange(200),
                          "label": pd.Categorical(["pos", "neg"] * 100)})
    for options in ({}, {"compression": "zstd"}, {"compression": "uncompressed"}, {"compression": "lz4", "chunksize": 70}):
        frame.to_feather(path(".feather"), **options)
    data = datasets.Dataset.from_dict({"text": [text(random.Random(i)) for i in range(500)], "words": [["a", "b"], []] * 250})
    data.save_to_disk(FOLDER / "saved", num_shards=2)
    made.extend(sorted((FOLDER / "saved").glob("*.arrow")))


def read_texts(file):
    with pa.memory_map(file) as mapped:
        reader = pa.ipc.open_file(mapped, options=pa.ipc.IpcReadOptions(included_fields=[0, 1], use_threads=False))
        for number in range(reader.num_record_batches):
            reader.get_batch(number).validate(full=True)  # that texts are UTF-8, as berth checks


def compare_speed(codec):
    name = path(".arrow")
    feather.write_feather(pa.table(columnar.columns_of_texts()), name, compression=codec)
    columnar.compare_speed(READER, codec, name, read_texts)


write_files()
for file in made:
    columnar.compare_cells(READER, file, read)
for arrow, parquet in beside:
    assert columnar.printed(READER, arrow) == columnar.printed(READER, parquet), (arrow, parquet)
print(len(made), "files agree,", len(beside), "of them also with Parquet")
if "--no-speed" not in sys.argv:
    columnar.print_speed_header()
    for codec in ("uncompressed", "lz4", "zstd"):
        compare_speed(codec)
