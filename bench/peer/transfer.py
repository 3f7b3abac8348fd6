"""Uploads and downloads one object with google-cloud-storage's transfer manager. It is the counterpart of bench/storage_bench.cpp.

    STORAGE_EMULATOR_HOST=http://127.0.0.1:PORT python bench/peer/transfer.py [--mebibytes 1024] [--rounds 3] [--workers 8]

Prints one line for each verb: median seconds, GB/s, and CPU seconds of its processes. By default its workers are processes and its parts
are 32 MiB. The files lie in the folder that --scratch names, which is best a memory file system. CRC-32C is compared if the transfer
manager does so.
"""

import argparse
import os
import resource
import statistics
import time

from google.cloud import storage
from google.cloud.storage import transfer_manager

parser = argparse.ArgumentParser()
parser.add_argument("--bucket", default="bucket")
parser.add_argument("--mebibytes", type=int, default=1024)
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--workers", type=int, default=8)
parser.add_argument("--threads", action="store_true", help="threads instead of processes")
parser.add_argument("--scratch", default="/dev/shm")
args = parser.parse_args()

worker_type = transfer_manager.THREAD if args.threads else transfer_manager.PROCESS
blob = storage.Client(project="bench").bucket(args.bucket).blob("transfer_bench")
source = os.path.join(args.scratch, f"berth-transfer-{os.getpid()}.in")
target = os.path.join(args.scratch, f"berth-transfer-{os.getpid()}.out")


def upload():
    transfer_manager.upload_chunks_concurrently(source, blob, worker_type=worker_type, max_workers=args.workers)


def download():
    transfer_manager.download_chunks_concurrently(blob, target, worker_type=worker_type, max_workers=args.workers)


def cpu_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def measure(work, prepare=lambda: None):
    """The medians of the seconds and of the CPU seconds."""
    rounds = []
    for i in range(args.rounds + 1):
        prepare()
        start, cpu_start = time.perf_counter(), cpu_seconds()
        work()
        rounds.append((time.perf_counter() - start, cpu_seconds() - cpu_start))
    return [statistics.median(values) for values in zip(*rounds[1:])]  # the first round only touches the memory at both ends


def delete():
    if blob.exists():
        blob.delete()


try:
    with open(source, "wb") as file:
        piece = os.urandom(1 << 20)
        for _ in range(args.mebibytes):
            file.write(piece)
    for name, (seconds, cpu_s) in ("upload", measure(upload, delete)), ("download", measure(download)):
        print(f"{name} {seconds:.3f} s {args.mebibytes * 2**20 / seconds / 1e9:.2f} GB/s {cpu_s:.2f} CPU s", flush=True)
    assert os.path.getsize(target) == os.path.getsize(source)
finally:
    for path in source, target:
        if os.path.exists(path):
            os.remove(path)
