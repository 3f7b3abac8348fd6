"""Rows for the program, and what it predicts for them: DataFrames, lists and files."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import json
import os
import re
from typing import Any, Callable, Iterable

ROW_COLUMN = "berth_row"  # carries the number of each row through a prediction


class BerthError(Exception):
    """The program failed or refused to run. `code` is its exit code, which the README lists; `what` happened, `where`, and a `hint`."""

    def __init__(self, code: int, what: str, where: str = "", hint: str = "") -> None:
        super().__init__(code, what, where, hint)
        self.code, self.what, self.where, self.hint = code, what, where, hint

    def __str__(self) -> str:
        return (f"{self.where}: " if self.where else "") + self.what + (f"; {self.hint}" if self.hint else "")


def place_of(value: Any) -> str:
    """A folder or file as the program takes it: absolute, so that it stays valid after a chdir(), or a URI."""
    text = os.fsdecode(value)
    return text if "://" in text else os.path.abspath(os.path.expanduser(text))


def write_rows(data: Any, folder: str, name: str, numbers: bool = False) -> tuple[str, Any]:
    """Writes the data to a file in `folder` of a format that keeps their types, unless they are a file.

    Returns the file's path, and the index of the rows if they were written. With `numbers`, the column ROW_COLUMN counts the rows.
    """
    if isinstance(data, (str, os.PathLike)):
        return place_of(data), None
    data = data.to_pandas() if hasattr(data, "to_pandas") else data  # of polars, pyarrow and datasets
    data = data.to_frame("text") if hasattr(data, "to_frame") and not hasattr(data, "columns") else data  # a Series
    partial = os.path.join(folder, f"{name}-{os.getpid()}.partial")
    try:
        if hasattr(data, "to_pickle"):
            frame, index, suffix = data.reset_index(drop=True), data.index, "pickle"
            if numbers:
                frame[ROW_COLUMN] = range(len(frame))
            frame.to_pickle(partial, compression=None, protocol=4)
        else:
            index, suffix = range(_write_lines(data, partial, name, numbers)), "jsonl"
        digest = hashlib.sha256()
        with open(partial, "rb") as file:
            for part in iter(lambda: file.read(1 << 20), b""):
                digest.update(part)
        # The name tells the contents, so that a job is not resumed with other rows.
        path = os.path.join(folder, f"{name}-{digest.hexdigest()[:8]}.{suffix}")
        os.replace(partial, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(partial)
    return path, index


def hides_written_files(values: Iterable[Any]) -> Callable[[str], str]:
    """A function that names the files of write_rows() among the values, and earlier ones of the same job, "given data" in a text."""
    written = re.compile("/(?:train|eval|rows)-([0-9a-f]{8})[.](?:pickle|jsonl)")
    folders = [re.escape(value[: -len(found[0])]) for value in values if isinstance(value, str) for found in [written.search(value)] if found]
    if not folders:
        return str
    return lambda text: re.sub(f"(?:{'|'.join(folders)}){written.pattern}", r"given data #\1", text)


def _write_lines(data: Any, path: str, name: str, numbers: bool) -> int:
    """Writes texts or dicts as JSON lines. Returns their number."""
    rows = list(data) if hasattr(data, "__iter__") and not isinstance(data, (bytes, dict)) else []
    if not rows or not any(all(isinstance(row, kind) for row in rows) for kind in (str, dict)):
        raise BerthError(2, f"{type(data).__name__}: these are no rows", name, "give a DataFrame, a path, or a list of dicts or texts")
    with open(path, "w", encoding="ascii") as lines:
        for number, row in enumerate(rows):
            row = {"text": row} if isinstance(row, str) else row
            row = {key: None if isinstance(cell, float) and cell != cell else cell for key, cell in row.items()}
            try:  # tolist() is of NumPy's numbers and arrays
                text = json.dumps({**row, ROW_COLUMN: number} if numbers else row, allow_nan=False, default=lambda cell: cell.tolist())
            except (AttributeError, TypeError, ValueError) as error:
                raise BerthError(2, str(error), f"{name}, row {number}", "cells are texts, numbers and lists of them") from None
            lines.write(text + "\n")
    return len(rows)


def read_predictions(path: str, index: Any, with_text: bool) -> Any:
    """Reads predictions.tsv. With `index`, its first column has the numbers of the given rows, and gives way to their index."""
    with open(path, encoding="utf-8", newline="") as file:
        csv.field_size_limit(2**31 - 1)
        header, *rows = csv.reader(file, delimiter="\t")
    kinds = {"word": [str, int, str, float], "answer": [str, str, int, int, float], "score": [str, float]}.get(header[1])
    choice = re.fullmatch("choice_([0-9]+)", header[-1])  # the last of the row's choices, behind the text
    texts = 0 if not with_text else len(header) - len(kinds) if kinds else 2 if header[-1] == "text_pair" else 1
    if with_text and choice:
        texts = 2 + int(choice[1])
    if kinds is None:
        names = header[2 : len(header) - texts]
        has_one = all(row[1] in names for row in rows if row[1])  # and not several labels; rows without a text have none
        is_number = has_one and all(re.fullmatch("-?(0|[1-9][0-9]*)", name) for name in names)
        kinds = [str, int if is_number else "True".__eq__ if has_one and set(names) <= {"True", "False"} else str]
        kinds += [float] * len(names)
    kinds += [str] * texts
    table = [[kind(cell) if cell or kind is str else None for kind, cell in zip(kinds, row)] for row in rows]
    first = 0 if index is None else 1
    try:
        import pandas
    except ImportError:
        return [dict(zip(header[first:], row[first:])) for row in table]
    frame = pandas.DataFrame(table, columns=header).iloc[:, first:]
    if first:
        index = index if isinstance(index, pandas.Index) else pandas.RangeIndex(len(index))
        frame.index = index.take([int(row[0]) for row in table])
    return frame
