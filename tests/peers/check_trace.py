#!/usr/bin/env python3
"""Reads the trace of a profile with Perfetto's own schema and compares its sums with the times in the log.

    python tests/peers/check_trace.py BERTH

Needs perfetto, whose messages it uses. Perfetto's trace_processor is a program that the package downloads when it is first used; where it
can be had, the same sums are asked from it by SQL.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

from perfetto.protos.perfetto.trace import perfetto_trace_pb2

berth = os.path.abspath(sys.argv[1])
SAMPLE = pathlib.Path(__file__).parent.parent.parent / "examples" / "data" / "df.pickle"
UPDATES = 5
BEGIN, END = 1, 2


def slices(trace):
    """(track, depth, name, nanoseconds) of each slice, and the names of the tracks."""
    names, tracks, open_slices, found = {}, {}, {}, []
    for packet in trace.packet:
        for entry in packet.interned_data.event_names:
            names[entry.iid] = entry.name
        if packet.HasField("track_descriptor"):
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor.thread.thread_name
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        stack = open_slices.setdefault(event.track_uuid, [])
        if event.type == BEGIN:
            stack.append((names[event.name_iid], packet.timestamp))
        else:
            assert event.type == END
            name, began = stack.pop()
            found.append((event.track_uuid, len(stack), name, packet.timestamp - began))
    assert not any(open_slices.values()), "slices that do not end"
    return found, tracks


def by_trace_processor(path):
    try:
        from perfetto.trace_processor import TraceProcessor
        with TraceProcessor(trace=path) as processor:
            rows = processor.query("select sum(dur) as dur, count(*) as n from slice where name = 'update'")
            return [(row.n, row.dur) for row in rows][0]
    except Exception as error:  # it cannot be downloaded, or does not run here
        print(f"SKIPPED: Perfetto's trace_processor: {error}")
        return None


with tempfile.TemporaryDirectory() as work:
    run = subprocess.run([berth, "--train-data-file", SAMPLE, "--job-dir", "job", "--max-steps", str(UPDATES + 2), "--batch-size", "16",
                          "--profile", str(UPDATES), "--log-format", "text"], cwd=work, stderr=subprocess.PIPE, text=True, check=True)
    path = os.path.join(work, "job", "profile.pftrace")
    trace = perfetto_trace_pb2.Trace.FromString(pathlib.Path(path).read_bytes())
    found, tracks = slices(trace)
    updates = [duration for track, depth, name, duration in found if name == "update"]
    assert len(updates) == UPDATES and "training" in tracks.values(), (len(updates), tracks)
    logged = float(re.search(r"profile of 5 updates, ([0-9.]+) s each", run.stderr)[1])
    measured = sum(updates) * 1e-9 / UPDATES
    assert abs(measured - logged) < 0.03 * logged, (measured, logged)
    # What is inside the updates adds up to them, but for what the loop itself does.
    inside = sum(duration for track, depth, name, duration in found if depth == 1 and tracks[track] == "training")
    assert inside > 0.97 * sum(updates), inside / sum(updates)
    processed = by_trace_processor(path)
    assert processed in (None, (UPDATES, sum(updates))), processed
    print(f"{len(found)} slices on {len(tracks)} tracks; {UPDATES} updates of {measured:.4f} s, {100 * inside / sum(updates):.1f} % of it named")
