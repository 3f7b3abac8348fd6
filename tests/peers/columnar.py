"""What check_parquet.py and check_arrow.py share: texts, how cells of two readers are compared, and how their speed is."""

import datetime
import decimal
import json
import math
import random
import subprocess
import time

WORDS = "the quick brown f\u00f6x jumps over \u65e5\u672c and \U0001f600 then some longer words follow it".split()


def text(rng):
    return " ".join(rng.choices(WORDS, k=rng.randint(0, 12)))


def cell(value):
    """What berth should print of a value of pyarrow."""
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, int) and value >= 2**63:
        return str(value)
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (datetime.date, datetime.time)):
        whole, _, rest = str(value).partition(".")
        digits, plus, zone = rest.partition("+")
        return whole + ("." + digits.rstrip("0") if digits.rstrip("0") else "") + plus + zone
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        value = [{"key": key, "value": inner} for key, inner in value]
    if isinstance(value, list):
        return [cell(inner) for inner in value]
    if isinstance(value, dict):
        return {key: cell(inner) for key, inner in value.items()}
    return value


def same(ours, theirs):
    """Whether a cell of berth is one of pyarrow. Nested values are JSON texts here."""
    if isinstance(theirs, (list, dict)):
        return ours is not None and json.loads(ours) == theirs
    if isinstance(theirs, float) and isinstance(ours, (int, float)):
        return math.isclose(ours, theirs, rel_tol=1e-14, abs_tol=1e-14)
    return ours == theirs and type(ours) is type(theirs)


def printed(reader, file):
    done = subprocess.run([reader, str(file)], capture_output=True, text=True)
    assert done.returncode == 0, (file, done.stderr)
    return done.stdout


def compare_cells(reader, file, read):
    """`read` makes a table of pyarrow of the file."""
    names, *rows = map(json.loads, printed(reader, file).splitlines())
    expected = read(file).select(names).to_pylist()
    assert len(rows) == len(expected), (file, len(rows), len(expected))
    for number, (ours, theirs) in enumerate(zip(rows, expected)):
        for name, value in zip(names, ours):
            assert same(value, cell(theirs[name])), (file, number, name, value, theirs[name])


def columns_of_texts(texts=None):
    """Two columns of long texts and one of numbers, for compare_speed(). `texts` are repeated; without them, each text is another one."""
    rng = random.Random(1)
    rows = 400_000
    texts = texts or [" ".join(rng.choices(WORDS, k=30)) + str(i) for i in range(rows)]
    texts = (texts * (rows // len(texts) + 1))[:rows]
    return {"text": texts, "other": texts[::-1], "number": list(range(rows))}


def compare_speed(reader, codec, file, read):
    """Prints a row of the table for one compression. `read` reads the two columns by pyarrow, on one thread."""
    ours, theirs = [], []
    for _ in range(5):
        _, size, seconds = subprocess.run([reader, file, "text", "other"], capture_output=True, text=True, check=True).stdout.split()
        ours.append(int(size) / 1e6 / float(seconds))
        start = time.perf_counter()
        read(file)
        theirs.append(int(size) / 1e6 / (time.perf_counter() - start))
    ours, theirs = sorted(ours)[2], sorted(theirs)[2]
    print(f"| {codec} | {ours:.0f} | {theirs:.0f} | {ours / theirs:.2f} |")


def print_speed_header():
    print("| compression | berth, MB/s | pyarrow, MB/s | ratio |\n| --- | --- | --- | --- |")
