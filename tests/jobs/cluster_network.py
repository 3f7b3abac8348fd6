"""Trains with workers on separate hosts: network namespaces, whose packets a relay of ours delays, slows down or loses.

cluster_network.py BERTH [SERIES] [SEED]

SERIES is how many series of random trouble there are, which SEED draws.
"""

import glob
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../support"))
from installed import Installed, rows  # noqa: E402
from packet_network import Network, available  # noqa: E402

WORKERS = 3


class Cluster:
    """Workers of one job, each on a host of its own."""

    def __init__(self, test, network, job, flags, size=WORKERS):
        self.test, self.job = test, job
        self.processes = []
        for rank in range(size):
            log = open(test.path("%s.%d.log" % (job, rank)), "wb")
            command = [test.berth, "--train-data-file", test.path("rows.csv"), "--job-dir", test.path(job), "--rank", str(rank)]
            command += ["--world-size", str(size), "--master-addr", network.address(0), "--master-port", "29500"] + flags
            self.processes.append(
                subprocess.Popen(network.command(rank, command), stdout=subprocess.DEVNULL, stderr=log, env=test.environment())
            )

    def wait(self, seconds, ranks=None):
        """The exit codes; None for a worker that has not ended by then."""
        end, codes = time.monotonic() + seconds, []
        for rank in range(len(self.processes)) if ranks is None else ranks:
            try:
                codes.append(self.processes[rank].wait(max(0.1, end - time.monotonic())))
            except subprocess.TimeoutExpired:
                codes.append(None)
        return codes

    def last_words(self, rank):
        with open(self.test.path("%s.%d.log" % (self.job, rank)), errors="replace") as log:
            lines = log.read().strip().splitlines()
        try:
            return json.loads(lines[-1])
        except (IndexError, ValueError):
            return {"message": lines[-1] if lines else ""}

    def wait_for_step(self, step, seconds=120):
        """Waits until a checkpoint of that step or a later one is complete."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for manifest in glob.glob(self.test.path(self.job + "/checkpoints/step-*/MANIFEST.json")):
                if int(re.search(r"step-(\d+)", manifest).group(1)) >= step:
                    return True
            time.sleep(0.05)
        return False

    def kill(self):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()


def main():
    why = available()
    if why:
        print("SKIPPED: workers on separate hosts:", why)
        sys.exit(77)
    series = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    draw = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    short = "--max-steps 8 --batch-size 12 --validation-split 0 --threads 1 --learning-rate 1e-3 --save-steps 0 --logging-steps 1".split()
    long = "--max-steps 100000 --batch-size 12 --validation-split 0 --threads 1 --save-steps 20 --save-total-limit 2".split()
    long += ["--peer-timeout", "5"]
    with Installed(os.path.abspath(sys.argv[1])) as test:
        test.write("rows.csv", rows(120))
        network = Network(WORKERS)
        try:
            run(test, network, short, long, series, draw)
        finally:
            network.close()
        test.finish()


def run(test, network, short, long, series, draw):
    def model(job):
        return test.read(job + "/model/model.safetensors")

    def finishes(job, what, seconds=120):
        began = time.monotonic()
        cluster = Cluster(test, network, job, short)
        codes = cluster.wait(seconds)
        test.check(codes == [0] * WORKERS, what, "ends with", codes, [cluster.last_words(r)["message"] for r in range(WORKERS)])
        cluster.kill()
        print("%-34s all end with 0 after %4.1f s" % (what, time.monotonic() - began))
        return codes == [0] * WORKERS

    if not finishes("plain", "3 hosts"):
        return
    network.delay_s = 0.1  # in each direction: 200 ms from question to answer
    finishes("delayed", "200 ms of delay") and test.check(model("delayed") == model("plain"), "a delay changes the model")
    network.delay_s, network.bytes_per_s = 0.0, 50e6 / 8
    finishes("slow", "50 Mbit/s") and test.check(model("slow") == model("plain"), "a slow network changes the model")
    network.bytes_per_s = None

    # A worker that computes ten times slower: it runs a tenth of the time.
    cluster = Cluster(test, network, "lame", short)
    ends = threading.Event()

    def hold_back(process):
        while not ends.is_set() and process.poll() is None:
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.18)
            process.send_signal(signal.SIGCONT)
            time.sleep(0.02)

    holder = threading.Thread(target=hold_back, args=[cluster.processes[1]])
    holder.start()
    codes = cluster.wait(200)
    ends.set()
    holder.join()
    cluster.kill()
    test.check(codes == [0] * WORKERS, "a slow worker: ends with", codes)
    codes == [0] * WORKERS and test.check(model("lame") == model("plain"), "a slow worker changes the model")
    print("%-34s all end with 0" % "a worker ten times slower")

    for number in range(series):
        kind = draw.choice(["cut", "kill", "cut two"]) if number > 1 else ["cut", "kill"][number]
        lost = draw.randrange(WORKERS)
        shutil.rmtree(test.path("trouble"), ignore_errors=True)
        cluster = Cluster(test, network, "trouble", long)
        test.check(cluster.wait_for_step(20), "series", number, "does not begin", [cluster.last_words(r) for r in range(WORKERS)])
        time.sleep(draw.random())
        began = time.monotonic()
        others = [rank for rank in range(WORKERS) if rank != lost]
        if kind == "kill":
            cluster.processes[lost].kill()
            ended = others
        else:
            network.cut = {lost} if kind == "cut" else set(others)
            ended = range(WORKERS)
        codes = cluster.wait(30, ended)
        took = time.monotonic() - began
        words = [cluster.last_words(rank)["message"] for rank in ended]
        test.check(codes == [11] * len(ended), "series", number, kind, lost, "ends with", codes, words)
        if kind == "cut" and lost != 0:
            for rank in others:
                message = cluster.last_words(rank)["message"]
                test.check("worker %d" % lost in message, "series", number, kind, lost, "worker", rank, "says", message)
        network.cut = set()
        cluster.kill()
        print("%-34s the others end with 11 after %4.1f s" % ("%s, worker %d" % (kind, lost), took), flush=True)


main()
