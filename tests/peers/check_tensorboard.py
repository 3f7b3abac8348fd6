"""Reads a summaries directory with TensorBoard's own reader and compares it with expectations.

usage: check_tensorboard.py SUMMARIES_DIR EXPECTED.json

EXPECTED.json: {"scalars": {tag: [[step, value], ...]}, "texts": {tag: [[step, text], ...]}}.
Every tag must be there with exactly these points; others are ignored unless "only" is true.
Needs the PyPI package tensorboard.
"""

import json
import math
import sys

from tensorboard.backend.event_processing import event_accumulator
from tensorboard.util import tensor_util

KEEP_ALL = {event_accumulator.SCALARS: 0, event_accumulator.TENSORS: 0}


def scalars_of(reader):
    """Old-style simple values, and the tensors that newer writers make of scalars."""
    tags = reader.Tags()
    points = {tag: [(e.step, e.value) for e in reader.Scalars(tag)] for tag in tags["scalars"]}
    for tag in tags["tensors"]:
        if plugin_of(reader, tag) == "scalars":
            points[tag] = [
                (e.step, float(tensor_util.make_ndarray(e.tensor_proto)))
                for e in reader.Tensors(tag)
            ]
    return points


def texts_of(reader):
    points = {}
    for tag in reader.Tags()["tensors"]:
        if plugin_of(reader, tag) == "text":
            points[tag] = [
                (e.step, tensor_util.make_ndarray(e.tensor_proto).item().decode())
                for e in reader.Tensors(tag)
            ]
    return points


def plugin_of(reader, tag):
    return reader.SummaryMetadata(tag).plugin_data.plugin_name


def same(actual, expected):
    if isinstance(expected, str):
        return actual == expected
    return math.isclose(actual, expected, rel_tol=1e-6, abs_tol=1e-12)


def differences(kind, actual, expected, only):
    for tag, points in expected.items():
        got = actual.get(tag)
        if got is None:
            yield f"{kind} {tag!r} is missing; there are {sorted(actual)}"
        elif [step for step, _ in got] != [step for step, _ in points]:
            yield f"{kind} {tag!r} has steps {[s for s, _ in got]}, not {[s for s, _ in points]}"
        else:
            for (step, value), (_, wanted) in zip(got, points):
                if not same(value, wanted):
                    yield f"{kind} {tag!r} at step {step} is {value!r}, not {wanted!r}"
    if only:
        for tag in sorted(set(actual) - set(expected)):
            yield f"{kind} {tag!r} was not expected"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    directory, expected_file = sys.argv[1:]
    with open(expected_file, encoding="utf-8") as file:
        expected = json.load(file)
    reader = event_accumulator.EventAccumulator(directory, size_guidance=KEEP_ALL)
    reader.Reload()
    only = expected.get("only", False)
    found = list(differences("scalar", scalars_of(reader), expected.get("scalars", {}), only))
    found += differences("text", texts_of(reader), expected.get("texts", {}), only)
    for line in found:
        print(f"{directory}: {line}", file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
