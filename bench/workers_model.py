"""Predicts the time of an update that several workers share, and checks that on two hosts whose network is limited.

    python3 bench/workers_model.py table [sharded]                    the efficiency for 2 to 256 workers at 1, 10 and 100 Gbit/s
    sudo python3 bench/workers_model.py check BERTH MODEL RATE... [sharded]
                                                                      rates in Mbit/s; needs two CPUs and namespaces of the network

An update of one worker takes c seconds. Gradients of B bytes travel from each of n workers twice, but for its own share: t = 2 (n - 1) / n
B / rate, and each of K buckets waits for the network three times (the all-to-all, and the n - 1 steps of the gathering): l = K (n + 1) latency.
The exchange begins when the first bucket is full, after the forward pass and the first part of the backward pass (a share f of c), and
its last bucket (a share e of the bytes) begins after the backward pass. So an update takes max(c + e t, f c + t) + l.

With --shard-optimizer ("sharded") the gradients travel once, t = (n - 1) / n B / rate, and after the update the new values, of V bytes in
fp32, travel once, while nothing is computed: (n - 1) / n V / rate more. The optimizer's own time, of which each worker then takes a part, is
left out.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

# BERT-base: 85.6 million parameters of dense layers in bf16, and the looked-up rows of the embeddings, by 16 x 128 tokens a worker.
DENSE, ROW = 85_648_130 * 2, 768 * 2
FP32 = 2  # the bytes of a value for each byte of a gradient
EMBEDDINGS = 30_522 + 512 + 2  # rows, which all have moments after a while
FORWARD, LAST = 0.40, 0.10  # f: a third for the forward pass, and the head and the last layer of the backward pass; e
USED = 0.58  # the share of a line's rate that two workers used where it limited them: the one number that was fitted


def update_seconds(workers, compute_s, rows, bytes_per_s, latency_s, rows_with_moments=None):
    """`rows_with_moments` of the embeddings have moments, whose new values travel. None: the optimizer is not sharded."""
    sent = DENSE + rows * ROW
    once = (workers - 1) / workers * sent / bytes_per_s
    buckets = -(-sent // (2 * (4 << 20)))
    waits = buckets * (workers + 1) * latency_s
    travel, values = 2 * once, 0
    if rows_with_moments is not None:
        travel, values = once, (workers - 1) / workers * FP32 * (DENSE + rows_with_moments * ROW) / bytes_per_s
    return max(compute_s + LAST * travel, FORWARD * compute_s + travel) + values + waits


def table(sharded):
    # Of the machine in the text: an example of 128 tokens takes this long on 2 threads.
    per_example = 1 / 2.47
    print("| workers | " + " | ".join("%d examples, %s" % (b, r) for b in (8, 32) for r in ("1 Gbit/s", "10", "100")) + " |")
    print("| --- |" + " --- |" * 6)
    for workers in (2, 4, 8, 16, 32, 64, 128, 256):
        cells = []
        for examples in (8, 32):
            for gigabits in (1, 10, 100):
                compute = examples * per_example
                rows = min(30522, workers * examples * 128 * 0.6)
                seconds = update_seconds(workers, compute, rows, gigabits * 1e9 / 8 * USED, 100e-6, EMBEDDINGS if sharded else None)
                cells.append("%.0f %%" % (100 * compute / seconds))
        print("| %d | %s |" % (workers, " | ".join(cells)))


def run(*command):
    subprocess.run(command, check=True)


def measured_seconds(berth, model, folder, rate, sharded):
    """The mean of the updates from the third on, by two workers whose network carries `rate` Mbit/s; None: any."""
    names = ["berth-rate-0", "berth-rate-1"]
    for name in names:
        run("ip", "netns", "add", name)
    try:
        run("ip", "link", "add", "link0", "netns", names[0], "type", "veth", "peer", "name", "link1", "netns", names[1])
        for host, name in enumerate(names):
            inside = ["ip", "netns", "exec", name]
            run(*inside, "ip", "address", "add", "10.78.0.%d/24" % (host + 1), "dev", "link%d" % host)
            run(*inside, "ip", "link", "set", "link%d" % host, "up")
            run(*inside, "ip", "link", "set", "lo", "up")
            if rate:
                run(*inside, "tc", "qdisc", "add", "dev", "link%d" % host, "root", "tbf", "rate", "%gmbit" % rate, "burst", "256kb",
                    "latency", "200ms")
        workers = []
        for host, name in enumerate(names):
            log = open(os.path.join(folder, "%s.%d.log" % (rate, host)), "w")
            workers.append(subprocess.Popen(
                ["ip", "netns", "exec", name, berth, "--train-data-file", os.path.join(folder, "rows.csv"), "--model", model, "--init",
                 "random", "--max-seq-length", "128", "--batch-size", "32", "--max-steps", "5", "--save-steps", "0", "--eval-steps", "0",
                 "--validation-split", "0", "--logging-steps", "1", "--no-report", "--log-format", "json", "--threads", "1",
                 "--job-dir", os.path.join(folder, "job-%s" % rate), "--world-size", "2", "--rank", str(host), "--master-addr", "10.78.0.1"]
                + ["--shard-optimizer"] * sharded,
                stdout=subprocess.DEVNULL, stderr=log))
        assert [worker.wait() for worker in workers] == [0, 0], folder
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name])
    with open(os.path.join(folder, "%s.0.log" % rate)) as log:
        # The rate of examples is the mean since the start, so the sums of two updates give those between them.
        sums = [32 * at["step"] / at["examples_per_second"] for at in map(json.loads, log) if at.get("event") == "step"]
    return (sums[-1] - sums[1]) / (len(sums) - 2)


def check(berth, model, rates, sharded):
    with open(os.path.join(model, "vocab.txt")) as file:
        words = [word for word in file.read().split() if re.fullmatch("[a-z]{3,}", word)][:5000]
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "rows.csv"), "w") as rows:
            rows.write("text,label\n")
            for i in range(400):
                rows.write(" ".join(words[(i * 131 + j * (7 + i % 11)) % len(words)] for j in range(150)) + ",%s\n" % "abcd"[i % 4])
        compute = measured_seconds(berth, model, folder, None, sharded)
        print("any rate: %.2f s" % compute, flush=True)
        looked_up = 32 * 128 * 0.55
        for rate in rates:
            seconds = measured_seconds(berth, model, folder, rate, sharded)
            predicted = update_seconds(2, compute, looked_up, rate * 1e6 / 8 * USED, 0, len(words) + 130 if sharded else None)
            print("%g Mbit/s: %.2f s, predicted %.2f s, %+.0f %%" % (rate, seconds, predicted, 100 * (predicted / seconds - 1)), flush=True)


arguments = [argument for argument in sys.argv[1:] if argument != "sharded"]
is_sharded = len(arguments) < len(sys.argv) - 1
if arguments == ["table"]:
    table(is_sharded)
else:
    check(os.path.abspath(arguments[1]), arguments[2], [float(rate) for rate in arguments[3:]], is_sharded)
