"""Compares what berth reads from Parquet files with what pyarrow reads from them.

    python tests/peers/check_parquet.py ROWS_AS_JSON WORK [TEXTS]

Writes more than 200 files into the folder WORK by pyarrow, pandas, polars and fastparquet: every encoding and compression, both versions of
data pages, several row groups, small pages, nulls, nested columns. All cells of all rows must agree. Then reads two columns of texts from
larger files, and prints the megabytes a second of both on one thread. TEXTS is a CSV file whose column `text` takes the place of our own
texts there.
"""
import datetime
import decimal
import itertools
import pathlib
import random
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import columnar
from columnar import WORDS, text

warnings.simplefilter("ignore")
READER, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
FOLDER.mkdir(parents=True, exist_ok=True)
made = []


def table(rows, seed, nulls=True):
    rng = random.Random(seed)
    maybe = lambda value: None if nulls and rng.random() < 0.15 else value
    some = lambda most, make: [make() for _ in range(rng.randint(0, most))]
    column = lambda make, kind: pa.array([maybe(make()) for _ in range(rows)], kind)
    columns = {
        "text": column(lambda: text(rng), pa.string()),
        "few": column(lambda: rng.choice(["a", "bb", "", "ccc"]), pa.string()),
        "large": column(lambda: text(rng), pa.large_string()),
        "truth": column(lambda: rng.random() < 0.3, pa.bool_()),
        "f32": column(lambda: float(np.float32(rng.gauss(0, 1))), pa.float32()),
        "f64": column(lambda: rng.gauss(0, 1), pa.float64()),
        "small": pa.array(range(rows), pa.int64()),
    }
    for bits in (8, 16, 32, 64):
        columns[f"i{bits}"] = column(lambda: rng.randint(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1), f"int{bits}")
        columns[f"u{bits}"] = column(lambda: rng.randint(0, 2**bits - 1), f"uint{bits}")
    return pa.table(columns)


def nested(rows, seed):
    rng = random.Random(seed)
    maybe = lambda value: None if rng.random() < 0.15 else value
    some = lambda most, make: [make() for _ in range(rng.randint(0, most))]
    column = lambda make, kind: pa.array([maybe(make()) for _ in range(rows)], kind)
    day = datetime.date(1900, 1, 1)
    answer = pa.struct([("text", pa.list_(pa.string())), ("start", pa.list_(pa.int32())), ("score", pa.float64())])
    return pa.table({
        "words": column(lambda: some(4, lambda: maybe(rng.choice(WORDS))), pa.list_(pa.string())),
        "lists": column(lambda: some(3, lambda: maybe(some(3, lambda: rng.randint(0, 9)))), pa.list_(pa.list_(pa.int32()))),
        "answers": column(lambda: {"text": some(2, lambda: text(rng)), "start": maybe(some(2, lambda: 7)), "score": maybe(1.5)}, answer),
        "structs": column(lambda: some(3, lambda: maybe({"a": maybe(1), "b": maybe("q")})),
                          pa.list_(pa.struct([("a", pa.int8()), ("b", pa.string())]))),
        "date": column(lambda: day + datetime.timedelta(days=rng.randint(0, 80000)), pa.date32()),
        "decimal": column(lambda: decimal.Decimal(rng.randint(-10**6, 10**6)) / 100, pa.decimal128(12, 2)),
    })


def path():
    made.append(FOLDER / f"{len(made):03}.parquet")
    return str(made[-1])


def write_files():
    codecs = ["none", "snappy", "gzip", "zstd", "lz4"]
    sizes = itertools.cycle([37, 100, 10**6]), itertools.cycle([200, 5000, 1 << 20])
    for make, codec, pages, dictionary in itertools.product([table, nested], codecs, ["1.0", "2.0"], [True, False]):
        for version in ("1.0", "2.4", "2.6"):
            pq.write_table(make(300, len(made)), path(), compression=codec, data_page_version=pages, use_dictionary=dictionary,
                           version=version, row_group_size=next(sizes[0]), data_page_size=next(sizes[1]),
                           write_page_checksum=len(made) % 2 == 0)
    texts = ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"]
    integers = ["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"]
    for codec, pages, nulls, pick in itertools.product(["none", "zstd", "snappy"], ["1.0", "2.0"], [True, False], range(3)):
        encodings = {"text": texts[pick], "large": texts[pick - 1], "few": texts[pick - 2], "truth": ["PLAIN", "RLE", "RLE"][pick],
                     "f32": ["PLAIN", "BYTE_STREAM_SPLIT", "PLAIN"][pick], "f64": ["BYTE_STREAM_SPLIT", "PLAIN", "PLAIN"][pick],
                     "i32": integers[pick], "i64": integers[pick - 1], "u32": integers[pick - 2], "small": integers[pick]}
        pq.write_table(table(500, len(made), nulls).select(list(encodings)), path(), compression=codec, data_page_version=pages,
                       use_dictionary=False, column_encoding=encodings, data_page_size=500)
    for codec, rows, size in itertools.product(["uncompressed", "snappy", "gzip", "zstd", "lz4"], [50, 1000], [300, 1 << 20]):
        both = table(400, len(made)), nested(400, len(made)).drop_columns(["decimal"])
        for part in both:
            pl.from_arrow(part).write_parquet(path(), compression=codec, row_group_size=rows, data_page_size=size)
    frame = pd.DataFrame({"text": [text(random.Random(i)) for i in range(200)], "score": np.arange(200) / 7, "number": np.arange(200),
                          "label": pd.Categorical(["pos", "neg"] * 100)})
    for options in ({}, {"compression": "GZIP"}, {"compression": "ZSTD"}, {"compression": "LZ4"}, {"row_group_offsets": [0, 50]}):
        frame.to_parquet(path(), engine="fastparquet", **options)
    for index in (None, [f"row {i}" for i in range(200)]):
        frame.set_axis(index or range(200)).to_parquet(path())
    pq.write_table(table(0, 0), path())


def compare_speed(columns, encoding, codec):
    name = path()
    dictionary = ["text", "other"] if encoding == "dictionary" else False
    pq.write_table(pa.table(columns), name, compression=codec, use_dictionary=dictionary, dictionary_pagesize_limit=2**28)
    columnar.compare_speed(READER, f"{encoding}, {codec}", name,
                           lambda file: pq.read_table(file, columns=["text", "other"], use_threads=False, pre_buffer=False))


write_files()
for file in made:
    columnar.compare_cells(READER, file, pq.read_table)
print(len(made), "files agree")
columnar.print_speed_header()
given = pd.read_csv(sys.argv[3]).text.tolist() if len(sys.argv) > 3 else None
some = given or columnar.columns_of_texts()["text"][:10_000]
for encoding, columns in (("plain", columnar.columns_of_texts(given)), ("dictionary", columnar.columns_of_texts(some))):
    for codec in ("none", "snappy", "zstd", "lz4", "gzip"):
        compare_speed(columns, encoding, codec)
