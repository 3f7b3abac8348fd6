"""Records tests/testdata/readings.tar: small tables as people have them, and what other programs read from them.

    python tests/record/fixtures.py readings record_readings.py CACHE    # CACHE: a folder in which `datasets` may write

expected.json says of each file the task for which berth reads it, the texts or words of each row, and its labels or its number. pandas reads
all tables but these: conllu reads words.conllu, and `datasets` reads tags.jsonl, of which transformers' run_ner.py takes the column TASK_tags
for --task_name TASK. Recorded with pandas 3.1.1, numpy 2.4.6, pyarrow 26.0.1, conllu 6.0.0, datasets 5.2.0 and polars 2.1.0.
"""
import ast
import csv
import json
import pathlib
import sys

import conllu
import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = pathlib.Path(sys.argv[1])
expected = []


def expect(file, task, texts, given="", tags="", **values):
    expected.append({"file": file, "given": given, "tags": tags, "task": task, "texts": texts, **values})


def one_text(frame, column="text"):
    return [[text] for text in frame[column]]


# 1. Multi-hot lists: a label for each position.
texts = [f"text {i}" for i in range(6)]
hot = [[1, 0, 1], [0, 1, 0], [0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 0, 0]]
frame = pd.DataFrame({"text": texts, "labels": hot})
marks = {"multi_hot.csv": hot, "multi_hot_bool.jsonl": [[bool(mark) for mark in row] for row in hot],
         "multi_hot_float.jsonl": [[float(mark) for mark in row] for row in hot], "multi_hot.parquet": hot,
         "multi_hot.pickle": [np.array(row, "i8") for row in hot]}
readers = {".csv": pd.read_csv, ".jsonl": lambda path: pd.read_json(path, lines=True), ".parquet": pd.read_parquet, ".pickle": pd.read_pickle}
writers = {".csv": lambda frame, path: frame.to_csv(path, index=False),
           ".jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
           ".parquet": lambda frame, path: frame.to_parquet(path), ".pickle": lambda frame, path: frame.to_pickle(path)}
for name, labels in marks.items():
    path = FOLDER / name
    writers[path.suffix](frame.assign(labels=pd.Series(labels, dtype=object)), path)
    read = readers[path.suffix](path)
    values = [ast.literal_eval(cell) if isinstance(cell, str) else cell for cell in read["labels"]]
    expect(name, "multi_label", one_text(read), labels=[[str(at) for at in np.flatnonzero(np.asarray(row))] for row in values])

# 2. One word a row, with a column that numbers the sentences, or that is filled once a sentence.
words = [("Ida", "B-PER"), ("sings", "O"), ("in", "O"), ("New", "B-LOC"), ("York", "I-LOC"), ("Rain", "O"), ('"', "O"), ("NA", "O")]
sentence = [1, 1, 1, 1, 1, 2, 3, 3]
once = [f"Sentence: {number}" if at == 0 or sentence[at - 1] != number else None for at, number in enumerate(sentence)]
for name, column, ids in ("word_rows.csv", "sentence_id", sentence), ("word_rows_once.csv", "Sentence #", once):
    pd.DataFrame({column: ids, "word": [word for word, _ in words], "tag": [tag for _, tag in words]}).to_csv(FOLDER / name, index=False)
    read = pd.read_csv(FOLDER / name, keep_default_na=False)
    sentences = read.groupby(read[column].replace("", None).ffill(), sort=False)
    expect(name, "token_classification", sentences["word"].agg(list).tolist(), labels=sentences["tag"].agg(list).tolist())

# 3. CoNLL-U: counted words, comments, and the part of speech among ten columns.
rows = [[("They", "PRON"), ("buy", "VERB"), ("#", "SYM"), ("3", "NUM"), (".", "PUNCT")], [("Stop", "VERB"), ("!", "PUNCT")]]
with open(FOLDER / "counted.conll", "w", encoding="utf-8") as file:
    for number, row in enumerate(rows):
        file.write(f"# sent_id = {number}\n# text = {' '.join(word for word, _ in row)}\n")
        file.writelines(f"{at}\t{word}\t{word.lower()}\t{tag}\t_\t_\t{at - 1}\tdep\t_\t_\n" for at, (word, tag) in enumerate(row, 1))
        file.write("\n")
parsed = conllu.parse((FOLDER / "counted.conll").read_text(encoding="utf-8"))
expect("counted.conll", "token_classification", [[token["form"] for token in tokens] for tokens in parsed],
       given="token_classification", tags="pos", labels=[[token["upos"] for token in tokens] for tokens in parsed])

# 6. TSV whose fields pandas has quoted, and TSV in which a quote is text.
frame = pd.DataFrame({"sentence": ['"so" she said', "a\nline break", "a\ttab", "plain", "Ida's"], "label": ['a"b', "c\td", "plain", 'a"b', "c\td"]})
frame.to_csv(FOLDER / "by_pandas.tsv", sep="\t", index=False)
read = pd.read_csv(FOLDER / "by_pandas.tsv", sep="\t")
expect("by_pandas.tsv", "sequence_classification", one_text(read, "sentence"), labels=[[label] for label in read["label"]])
(FOLDER / "glue.tsv").write_text('sentence\tlabel\n"so" she said\t1\nit is 5" wide\t0\n"never\t0\nends"\t1\n', encoding="utf-8")
read = pd.read_csv(FOLDER / "glue.tsv", sep="\t", quoting=csv.QUOTE_NONE)
expect("glue.tsv", "sequence_classification", one_text(read, "sentence"), labels=[[str(label)] for label in read["label"]])

# 7. Numbers with decimal commas, and labels that a separator joins.
frame = pd.DataFrame({"text": texts, "label": [0.5, 1.25, -3, 0, 2.5, 1e3]})
frame.to_csv(FOLDER / "decimal_comma.csv", sep=";", decimal=",", index=False)
read = pd.read_csv(FOLDER / "decimal_comma.csv", sep=";", decimal=",")
expect("decimal_comma.csv", "regression", one_text(read), scores=read["label"].tolist())
for name, separator in ("semicolons.csv", "; "), ("slashes.csv", "/"), ("line_breaks.csv", "\n"):
    joined = [separator.join(names) for names in (["red"], ["green", "red"], ["blue", "green"], ["red", "blue"], ["blue"], ["red", "green", "blue"])]
    pd.DataFrame({"text": texts, "labels": joined}).to_csv(FOLDER / name, index=False)
    read = pd.read_csv(FOLDER / name)
    dummies = read["labels"].str.get_dummies(sep=separator)
    expect(name, "multi_label", one_text(read), given="multi_label",
           labels=[sorted(dummies.columns[row.astype(bool)]) for row in dummies.to_numpy()])

# 8. --task pos and chunk take the column of their name.
tags = [{"id": str(i), "tokens": ["Ida", "sings"], "pos_tags": ["NNP", "VBZ"], "chunk_tags": ["B-NP", "B-VP"], "ner_tags": ["B-PER", "O"]} for i in range(2)]
(FOLDER / "tags.jsonl").write_text("".join(json.dumps(row) + "\n" for row in tags), encoding="utf-8")
read = datasets.load_dataset("json", data_files=str(FOLDER / "tags.jsonl"), split="train", cache_dir=sys.argv[2])
for task in "ner", "pos", "chunk":
    expect("tags.jsonl", "token_classification", list(read["tokens"]), given="token_classification", tags=task, labels=list(read[f"{task}_tags"]))

# Refused: Parquet has no type for durations, so programs write integers and say so in metadata of their own.
frame = pd.DataFrame({"text": ["a", "b"], "label": pd.to_timedelta([10, 20], unit="m")})
frame.to_parquet(FOLDER / "durations.parquet")
table = pa.table({"text": ["a", "b"], "label": pa.array([10, 20], pa.duration("ms"))})
pq.write_table(table, FOLDER / "durations_arrow.parquet")
pq.write_table(table.set_column(1, "label", pa.array([[10], [20]], pa.list_(pa.duration("s")))), FOLDER / "durations_nested.parquet")
pl.from_arrow(table).write_parquet(FOLDER / "durations_polars.parquet")
fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in (("text", "string"), ("label", "interval day to second"))]
spark = {"org.apache.spark.sql.parquet.row.metadata": json.dumps({"type": "struct", "fields": fields})}  # as Spark 4 writes it
table = pa.table({"text": ["a", "b"], "label": [10, 20]})
with pq.ParquetWriter(FOLDER / "durations_spark.parquet", table.schema, store_schema=False) as file:
    file.write_table(table)
    file.add_key_value_metadata(spark)

(FOLDER / "expected.json").write_text("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in expected) + "\n]\n", encoding="utf-8")
