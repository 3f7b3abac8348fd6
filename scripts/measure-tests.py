#!/usr/bin/env python3
"""Shows where the time of a build and its tests went, from what ninja, ctest, GoogleTest and clang left in a build folder.

    python3 scripts/measure-tests.py build/PRESET [ROWS]

Compile times are those of ninja's last run of each command, so build in a new folder, without a compiler cache and with nothing else
running. With -DCMAKE_CXX_FLAGS=-ftime-trace (clang) it also shows the headers that take longest. The time to start a process is measured:
each test executable is started once without a case.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as xml


def table(title, rows, limit, unit="s"):
    """Prints the largest of the (number, name) pairs."""
    rows = sorted(rows, reverse=True)
    print(f"\n{title}: {sum(number for number, _ in rows):.0f} {unit} in {len(rows)} rows")
    for number, name in rows[:limit]:
        print(f"  {number:8.1f}  {name}")


def ninja_times(folder):
    """Seconds of the last run of each command, by its first output."""
    times = {}
    for line in (folder / ".ninja_log").read_text().splitlines()[1:]:
        start, end, _, output, command = line.split("\t")
        times[command] = ((int(end) - int(start)) / 1000, output)
    return times.values()


def header_times(folder):
    """Seconds that clang spent in each header and in what it includes."""
    times = collections.Counter()
    for trace in folder.rglob("*.json"):
        if trace.with_suffix(".o").exists():
            for event in json.loads(trace.read_text())["traceEvents"]:
                if event["name"] == "Source":
                    times[event["args"]["detail"]] += event["dur"] / 1e6
    return [(seconds, name) for name, seconds in times.items()]


def case_times(folder):
    for file in (folder / "cases").glob("*.xml"):
        for case in xml.parse(file).iter("testcase"):
            yield float(case.get("time", 0)), f'{file.stem}: {case.get("classname")}.{case.get("name")}'


def ctest_times(folder):
    log = folder / "ctest.log"
    for line in log.read_text(errors="replace").splitlines() if log.exists() else []:
        found = re.match(r" *\d+/\d+ Test +#\d+: (\S+) .* ([0-9.]+) sec", line)
        if found:
            yield float(found[2]), found[1]


def start_times(folder):
    for program in sorted((folder / "tests").glob("*_test")):
        start = time.monotonic()
        subprocess.run([program, "--gtest_filter=-*"], stdout=subprocess.DEVNULL, check=False)
        yield (time.monotonic() - start) * 1000, program.name


def main():
    folder, limit = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 50
    commands = list(ninja_times(folder))
    table("compile", [row for row in commands if row[1].endswith((".o", ".pch", ".gch"))], limit)
    table("link", [row for row in commands if not row[1].endswith((".o", ".pch", ".gch"))], limit)
    table("headers, with what they include", header_times(folder), limit)
    table("processes of ctest", list(ctest_times(folder)), limit)
    table("cases of unit tests", list(case_times(folder)), limit)
    table("start of a process", list(start_times(folder)), limit, "ms")


if __name__ == "__main__":
    main()
