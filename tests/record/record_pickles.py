"""Records tests/testdata/pickle.tar: tables that were pickled by the pandas under which this script runs.

    python tests/record/fixtures.py pickle record_pickles.py [NAME]...  # once with each version of pandas; all frames, or those of these names
    python tests/record/fixtures.py pickle record_old_pickles.py        # layouts of older versions

expected.json holds the content of each file as the reader must return it. Cells that are neither text nor number are
null there. Recorded with Python 3.11 and pandas 1.5.3 (numpy 1.24.4, pyarrow 14.0.2), 2.2.3 and 2.3.3 (numpy 2.2), and 3.0 (numpy 2, with
the pyarrow of that day). numpy_cells: with pandas 3.1.1 and numpy 2.4.6.
"""
import json
import math
import pathlib
import pickle
import sys

import numpy as np
import pandas as pd

TEXTS = ["plain", "", "caf\u00e9 \u2014 \u65e5\u672c", "a\nb\\u0041 'q' \"r\"\t\x00", "\U0001f600 end"]


def cell(value):
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)) and not isinstance(value, np.timedelta64):
        value = int(value)
        return value if -(2**63) <= value < 2**63 else str(value)
    if isinstance(value, (float, np.floating)):
        return None if math.isnan(value) else float(value)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, str):
        return str(value)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, dict)):
        return json.dumps(nested(value), separators=(",", ":"), sort_keys=True)
    return None


def nested(value):
    """The content of a list or dict, or a cell."""
    if isinstance(value, list):
        return [nested(inner) for inner in value]
    if isinstance(value, dict):
        return {key: nested(inner) for key, inner in value.items()}
    return cell(value)


def content(frame):
    if isinstance(frame, pd.Series):
        frame = frame.to_frame(0 if frame.name is None else frame.name)
    columns = {}
    for name in frame.columns:
        series = frame[name]
        categories = []
        if isinstance(series.dtype, pd.CategoricalDtype):
            categories = [str(label) for label in series.cat.categories]
        columns[str(name)] = {"categories": categories, "cells": [cell(v) for v in series]}
    return columns


def frames():
    """name -> (frame, protocols)"""
    label = pd.DataFrame({"text": TEXTS, "label": [0, 1, 2, 1, 0]})
    yield "text_label", label, range(6)
    yield "one_row", label.iloc[1:2].reset_index(drop=True), [5]
    yield "no_rows", label.iloc[:0], [2, 5]
    yield "empty", pd.DataFrame(), [4, 5]
    yield "int_columns", pd.DataFrame([["a", 1], ["b", 2]]), [0, 5]
    yield "blocks", pd.DataFrame({
        "i8": np.array([1, -2, 3], "i1"), "text": ["a", None, "c"], "f8": [0.5, float("nan"), -1e300],
        "i8b": np.array([4, 5, -128], "i1"), "flag": [True, False, True], "other": ["x", np.nan, "z"],
        "f8b": [1.0, 1e308, 2.0], "u8": np.array([0, 2**63, 2**64 - 1], "u8"),
        "i8c": np.array([7, 8, 9], "i1"), "f2": np.array([0.5, -2, 6e-8], "f2"),
        "f4": np.array([0.1, 2, 3], "f4"), "i4": np.array([-2**31, 0, 7], "i4")}), [0, 2, 5]
    fortran = np.asfortranarray(np.arange(6, dtype="i8").reshape(3, 2))
    yield "fortran", pd.DataFrame(fortran, columns=["a", "b"]), [2, 5]
    yield "transposed", pd.DataFrame(np.arange(6).reshape(2, 3), index=["a", "b"]).T, [4, 5]
    yield "big_endian", pd.DataFrame({"a": np.array([1, -2], ">i8"), "b": np.array([0.5, 2], ">f4"),
                                      "c": ["x", "y"]}), [2, 5]
    objects = [np.str_("s\u00e9"), np.int64(7), np.float32(0.5), np.bool_(True), None, pd.NA, pd.NaT,
               float("nan"), 2**40, -2**70, True, 1.25, b"bytes", [1, [2]], {"k": 1}]
    yield "objects", pd.DataFrame({"o": pd.Series(objects, dtype=object)}), [0, 2, 5]
    repeated = ["shared text"] * 3
    cells = [np.array(["a", "bc"]), np.ndarray((2,), "U0"), np.ndarray((0,), "U0"), np.array([1, 0], "i1"),
             np.array([[0.5], [2]]), np.array([True, False])]
    yield "numpy_cells", pd.DataFrame({"text": pd.Series(["t"] * len(cells), dtype=object), "label": pd.Series(cells, dtype=object)}), [2, 5]
    yield "repeated", pd.DataFrame({"t": pd.Series(repeated, dtype=object), "n": 3 * [1000]}), [0, 4]
    yield "category", pd.DataFrame({
        "text": TEXTS, "label": pd.Categorical(["neg", "pos", None, "pos", "neg"],
                                               categories=["pos", "neg", "never"]),
        "grade": pd.Categorical([3, 1, 1, None, 3]),
        "order": pd.Categorical([0.5, 1.5, 0.5, 1.5, 0.5], ordered=True)}), [0, 2, 4, 5]
    yield "string", pd.DataFrame({"text": pd.array(["a", None, "caf\u00e9"], dtype="string[python]"),
                                  "n": [1, 2, 3]}), [0, 2, 5]
    yield "arrow_string", pd.DataFrame({"text": pd.array(["a", None, "caf\u00e9", ""],
                                                         dtype="string[pyarrow]"),
                                        "n": [1, 2, 3, 4]}), [2, 5]
    yield "nullable", pd.DataFrame({
        "n": pd.array([1, None, -3], dtype="Int64"), "m": pd.array([1, 2, None], dtype="UInt8"),
        "b": pd.array([True, None, False], dtype="boolean"),
        "f": pd.array([0.5, None, 2.5], dtype="Float64")}), [1, 5]
    yield "dates", pd.DataFrame({
        "text": ["a", "b"], "day": pd.to_datetime(["2020-01-02", None]),
        "zoned": pd.to_datetime(["2020-01-02", "2021-01-01"]).tz_localize("Europe/Paris"),
        "utc": pd.to_datetime(["2020-01-02", "2021-01-01"]).tz_localize("UTC"),
        "span": pd.to_timedelta(["1 day", "2 days"]),
        "stamp": pd.Series([pd.Timestamp("2020-01-02"), None], dtype=object)}), [2, 5]
    yield "date_index", pd.DataFrame({"text": ["a", "b"]},
                                     index=pd.date_range("2020", periods=2, tz="UTC")), [4]
    yield "text_index", pd.DataFrame({"text": ["a", "b"]}, index=["r1", "r2"]), [5]
    yield "multi_index", pd.DataFrame({"text": ["a", "b"]}, index=pd.MultiIndex.from_tuples(
        [("x", 1), ("y", 2)])), [5]
    yield "series", pd.Series(["a", "b"], name="text"), [0, 5]
    yield "unnamed_series", pd.Series([1.5, 2.5]), [4]
    if pd.__version__ >= "2":
        arrow = {"i": pd.array([1, None, 3], dtype="int32[pyarrow]"),
                 "b": pd.array([True, False, None], dtype="bool[pyarrow]"),
                 "d": pd.array([0.5, None, 2.5], dtype="double[pyarrow]"),
                 "s": pd.array(["x", None, "z"], dtype=pd.ArrowDtype(__import__("pyarrow").string()))}
        yield "arrow", pd.DataFrame(arrow), [2, 5]
        chunks = pd.concat([pd.DataFrame({"s": pd.array([t], dtype="string[pyarrow]")})
                            for t in ["one", None, "two"]], ignore_index=True)
        yield "chunked", chunks, [5]
        yield "arrow_slice", chunks.iloc[1:].reset_index(drop=True), [4]


def main():
    folder = pathlib.Path(sys.argv[1])
    expected_path = folder / "expected.json"
    expected = json.loads(expected_path.read_text()) if expected_path.exists() else {}
    version = ".".join(pd.__version__.split(".")[:2])
    for name, frame, protocols in frames():
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        for protocol in protocols:
            data = pickle.dumps(frame, protocol=protocol)
            file_name = f"pandas{version}_{name}_p{protocol}.pickle"
            (folder / file_name).write_bytes(data)
            expected[file_name] = content(pickle.loads(data))
    lines = [f"{json.dumps(key)}: {json.dumps(expected[key])}" for key in sorted(expected)]
    expected_path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
