"""Writes pickles in the layouts of pandas versions that can no longer be installed, into tests/testdata/pickle.tar.

    python tests/record/fixtures.py pickle record_old_pickles.py

The script needs no package. Classes with the same module and name stand in for those of numpy and pandas. They give Python's own pickler
the reductions that those versions made, which were measured on their files. The versions are pandas 0.15 and 0.17 under Python 2 (which
writes str as BINSTRING), 0.20, 0.25, 1.0, 1.1 and 1.3.
"""
import functools
import io
import json
import pathlib
import pickle
import struct
import sys
import types


@functools.lru_cache(None)
def stand_in(module, name, kind="class"):
    """A class (or function) that pickles as module.name."""
    parts = module.split(".")
    for i in range(1, len(parts) + 1):
        sys.modules.setdefault(".".join(parts[:i]), types.ModuleType(".".join(parts[:i])))
    made = type(name, (), {}) if kind == "class" else types.FunctionType(
        (lambda *args: None).__code__, {}, name)
    made.__module__, made.__qualname__ = module, name
    setattr(sys.modules[module], name, made)
    return made


class Reduced:
    """Pickles as `callable(*args)`, followed by BUILD if there is a `state`."""

    def __init__(self, callable, args, state=None):
        self.reduction = (callable, args) if state is None else (callable, args, state)

    def __reduce__(self):
        return self.reduction


def instance(cls, state=None):
    """Pickles as object.__reduce_ex__ does: _reconstructor or NEWOBJ, then BUILD."""
    made = cls()
    made.state = state
    cls.__getstate__ = lambda self: self.state
    return made


ndarray, np_dtype = stand_in("numpy", "ndarray"), stand_in("numpy", "dtype")
reconstruct = stand_in("numpy.core.multiarray", "_reconstruct", "function")


@functools.lru_cache(None)
def dtype(code):
    order = "|" if code[0] in "bO" or code == "i1" else "<"
    state = (3, order, None, None, None, -1, -1, 63 if code == "O8" else 0)
    return Reduced(np_dtype, (code, 0, 1), state)


def array(code, values, shape=None):
    form = {"i8": "q", "i1": "b", "f8": "d", "b1": "?"}.get(code)
    data = list(values) if form is None else struct.pack(f"<{len(values)}{form}", *values)
    shape = (len(values),) if shape is None else shape
    return Reduced(reconstruct, (ndarray, (0,), b"b"), (1, shape, dtype(code), False, data))


class Layout:
    """The module names and the layouts of one version."""

    def __init__(self, index, range_index, internals, categorical, key):
        self.new_index = stand_in(index, "_new_Index", "function")
        self.index = stand_in(index, "Index")
        self.range_index = range_index and stand_in(range_index, "RangeIndex")
        self.manager = stand_in(internals, "BlockManager")
        self.single_manager = stand_in(internals, "SingleBlockManager")
        self.categorical = stand_in(categorical, "Categorical")
        self.frame = stand_in("pandas.core.frame", "DataFrame")
        self.series = stand_in("pandas.core.series", "Series")
        self.key = key

    def labels(self, values):
        return Reduced(self.new_index, (self.index, {"data": array("O8", values), "name": None}))

    def rows(self, count):
        if self.range_index is None:
            return self.labels(list(range(count)))
        fields = {"name": None, "start": 0, "stop": count, "step": 1}
        return Reduced(self.new_index, (self.range_index, fields))

    def state(self, manager_class, axes, blocks):
        """(axes, values, items, {'0.14.1': ...})"""
        described = [{"values": values, "mgr_locs": placement} for values, placement in blocks]
        return instance(manager_class, (axes, [values for values, _ in blocks], [axes[0]] * len(blocks),
                                        {"0.14.1": {"axes": axes, "blocks": described}}))

    def data_frame(self, columns, rows, blocks):
        manager = self.state(self.manager, [self.labels(columns), self.rows(rows)], blocks)
        if self.key is None:
            return instance(self.frame, manager)
        return instance(self.frame, {self.key: manager, "_typ": "dataframe", "_metadata": []})

    def text_series(self, name, values):
        manager = self.state(self.single_manager, [self.rows(len(values))],
                             [(array("O8", values), slice(0, len(values), 1))])
        return instance(self.series, {self.key: manager, "_typ": "series", "_metadata": ["name"],
                                      "name": name})


TEXTS = ["plain", "caf\u00e9", None, "plain"]


def blocks():
    """Columns of three types, interleaved. The slice ends beyond the last column, as those of pandas do."""
    return ["text", "n", "flag", "other", "m"], 4, [
        (array("O8", TEXTS + ["w", "x", "y", "z"], (2, 4)), slice(0, 6, 3)),
        (array("i8", [1, 2, 3, -4, 5, 6, 7, 8], (2, 4)), array("i8", [1, 4])),
        (array("b1", [1, 0, 1, 1], (1, 4)), slice(2, 3, 1))]


BLOCKS_CONTENT = {"text": TEXTS, "n": [1, 2, 3, -4], "flag": [True, False, True, True],
                  "other": ["w", "x", "y", "z"], "m": [5, 6, 7, 8]}


class Python2Pickler(pickle._Pickler):
    """A str as Python 2 pickled it: as bytes."""

    dispatch = dict(pickle._Pickler.dispatch)

    def save_text(self, text):
        data = text.encode("utf-8") if isinstance(text, str) else text
        if self.proto == 0:
            escaped = "".join(chr(c) if 32 <= c < 127 and c not in (39, 92) else f"\\x{c:02x}"
                              for c in data)
            self.write(b"S'" + escaped.encode() + b"'\n")
        elif len(data) < 256:
            self.write(b"U" + bytes([len(data)]) + data)
        else:
            self.write(b"T" + struct.pack("<i", len(data)) + data)
        self.memoize(text)

    dispatch[str] = dispatch[bytes] = save_text


def files():
    """Yields (name, object to pickle, protocols, pickler, content, categories)."""
    python2, python3 = Python2Pickler, pickle._Pickler
    for version, layout, protocols, pickler in [
            ("0.15", Layout("pandas.core.index", None, "pandas.core.internals",
                            "pandas.core.categorical", None), [0, 2], python2),
            ("0.17", Layout("pandas.core.index", None, "pandas.core.internals",
                            "pandas.core.categorical", "_data"), [0, 2], python2),
            ("0.20", Layout("pandas.core.indexes.base", "pandas.core.indexes.range",
                            "pandas.core.internals", "pandas.core.categorical", "_data"),
             [2, 4], python3),
            ("0.25", Layout("pandas.core.indexes.base", "pandas.core.indexes.range",
                            "pandas.core.internals.managers", "pandas.core.arrays.categorical",
                            "_data"), [0, 4], python3),
            ("1.1", Layout("pandas.core.indexes.base", "pandas.core.indexes.range",
                           "pandas.core.internals.managers", "pandas.core.arrays.categorical",
                           "_mgr"), [1, 5], python3)]:
        for protocol in protocols:
            yield f"{version}_blocks", layout.data_frame(*blocks()), protocol, pickler, BLOCKS_CONTENT, {}
            if layout.key is not None:
                yield (f"{version}_series", layout.text_series("text", TEXTS), protocol, pickler,
                       {"text": TEXTS}, {})
            labels = layout.labels(["pos", "neg"])
            dtype_class = stand_in("pandas.core.dtypes.dtypes", "CategoricalDtype")
            state = {"_codes": array("i1", [1, 0, -1, 0]), "_ordered": False}
            if version < "0.25":
                state["_categories"] = labels
            else:
                state["_dtype"] = instance(dtype_class, {"categories": labels, "ordered": False})
            frame = layout.data_frame(["label"], 4, [(instance(layout.categorical, state),
                                                      slice(0, 1, 1))])
            yield (f"{version}_category", frame, protocol, pickler,
                   {"label": ["neg", "pos", None, "pos"]}, {"label": ["pos", "neg"]})
    yield "1.1_empty", instance(layout.frame, {"_mgr": instance(layout.manager)}), 4, python3, {}, {}
    strings = instance(stand_in("pandas.core.arrays.string_", "StringArray"),
                       {"_ndarray": array("O8", TEXTS),
                        "_dtype": instance(stand_in("pandas.core.arrays.string_", "StringDtype"))})
    numbers = instance(stand_in("pandas.core.arrays.integer", "IntegerArray"),
                       {"_data": array("i8", [1, 1, 3, 4]), "_mask": array("b1", [0, 1, 0, 0]),
                        "_cache": {}})
    yield ("1.1_extension", layout.data_frame(["text", "n"], 4, [(strings, slice(0, 1, 1)),
                                                                (numbers, slice(1, 2, 1))]),
           2, python3, {"text": TEXTS, "n": [1, None, 3, 4]}, {})
    new_block = stand_in("pandas.core.internals.blocks", "new_block", "function")
    partial = Reduced(functools.partial, (new_block,), (new_block, (), {"ndim": 2}, None))
    columns, rows, parts = blocks()
    for protocol in (2, 5):
        made = tuple(Reduced(PartialCall(partial), part) for part in parts)
        manager = Reduced(layout.manager, (made, [layout.labels(columns), layout.rows(rows)]))
        frame = instance(layout.frame, {"_mgr": manager, "_typ": "dataframe", "_metadata": [],
                                        "attrs": {}, "_flags": {"allows_duplicate_labels": True}})
        yield "1.3_blocks", frame, protocol, python3, BLOCKS_CONTENT, {}


class PartialCall:
    """A callable that is pickled as the partial that it holds."""

    def __init__(self, partial):
        self.partial = partial

    def __call__(self):
        pass

    def __reduce__(self):
        return self.partial.reduction


def main():
    folder = pathlib.Path(sys.argv[1])
    expected_path = folder / "expected.json"
    expected = json.loads(expected_path.read_text()) if expected_path.exists() else {}
    for name, value, protocol, pickler, content, categories in files():
        out = io.BytesIO()
        pickler(out, protocol).dump(value)
        file_name = f"pandas{name}_p{protocol}.pickle"
        (folder / file_name).write_bytes(out.getvalue())
        expected[file_name] = {column: {"categories": categories.get(column, []), "cells": cells}
                               for column, cells in content.items()}
    lines = [f"{json.dumps(key)}: {json.dumps(expected[key])}" for key in sorted(expected)]
    expected_path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
