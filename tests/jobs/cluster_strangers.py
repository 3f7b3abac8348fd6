"""Trains with two workers while strangers send frames to worker 0, whole, damaged and in random pieces.

cluster_strangers.py BERTH [FRAMES] [CONNECTIONS] [SEED]

The job must end with the bits that it has without them, and worker 0 must need no more memory. FRAMES is how many frames the strangers
send. CONNECTIONS is how many of them are connected at once.
"""

import json
import os
import random
import selectors
import socket
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../support"))
from installed import Installed, rows  # noqa: E402

KINDS = "challenge hello welcome later refused set get value alive leave lost done".split()
FLAGS = "--batch-size 8 --validation-split 0 --threads 1 --save-steps 0 --eval-steps 0 --precision fp32 --world-size 2 --peer-timeout 15"
MOST_GROWTH_KIB = 32 << 10
DEADLINE_S = 1800


def frame(draw):
    """One frame that no worker sends, or that only a worker may send."""
    what = draw.random()
    if what < 0.1:
        body = draw.randbytes(draw.randrange(60))
    else:
        message = {"kind": draw.choice(KINDS), "rank": draw.choice([0, 1, 2, -1, 99, 1 << 62]), "size": draw.choice([2, 3, 0, -5])}
        for name in ("host", "job", "attempt", "nonce", "proof", "key", "text", "value"):
            if draw.random() < 0.4:
                message[name] = "%x" % draw.getrandbits(draw.choice([4, 64, 256, 4096]))
        body = bytearray(json.dumps(message).encode())
        if what < 0.3:
            for _ in range(draw.randrange(1, 4)):
                body[draw.randrange(len(body))] = draw.randrange(256)
    length = len(body) if draw.random() < 0.9 else draw.choice([0, 1, 4096, 4097, 1 << 22, (1 << 32) - 1])
    return struct.pack("<I", length) + bytes(body)


class Strangers:
    """So many connections at once to one port. Each sends some frames in pieces, and is made anew when it is closed."""

    def __init__(self, port, connections, seed):
        self.port, self.draw = port, random.Random(seed)
        # Making frames takes longer than sending them.
        self.frames = [frame(self.draw) for _ in range(2000)]
        self.selector = selectors.DefaultSelector()
        self.sent, self.made = 0, 0
        for _ in range(connections):
            self.connect()

    def connect(self):
        stranger = socket.socket()
        stranger.setblocking(False)
        stranger.connect_ex(("127.0.0.1", self.port))
        frames = self.draw.choices(self.frames, k=self.draw.randrange(1, 100))
        self.selector.register(stranger, selectors.EVENT_READ | selectors.EVENT_WRITE, [frames, b""])
        self.made += 1

    def close(self, stranger):
        self.selector.unregister(stranger)
        stranger.close()
        self.connect()

    def send_for(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for key, events in self.selector.select(0.05):
                self.serve(key.fileobj, key.data, events)

    def serve(self, stranger, state, events):
        try:
            if events & selectors.EVENT_READ and stranger.recv(65536) == b"":
                return self.close(stranger)
            if events & selectors.EVENT_WRITE:
                frames, rest = state
                # What remains of one frame and some of the next ones leave together, cut anywhere.
                while frames and len(rest) < 4000:
                    rest += frames.pop()
                    self.sent += 1
                if not rest:
                    return self.close(stranger)
                state[1] = rest[stranger.send(rest[: self.draw.randrange(1, len(rest) + 1)]) :]
        except BlockingIOError:
            pass
        except OSError:
            self.close(stranger)


class Flood:
    """Two connections that send signs of life without a hello, as fast as worker 0 takes them."""

    def __init__(self, port):
        self.port, self.ends = port, threading.Event()
        body = b'{"kind":"alive"}'
        self.frames = (struct.pack("<I", len(body)) + body) * 100000
        self.threads = [threading.Thread(target=self.send, daemon=True) for _ in range(2)]
        for each in self.threads:
            each.start()

    def send(self):
        while not self.ends.is_set():
            try:
                with socket.create_connection(("127.0.0.1", self.port), 5) as stranger:
                    while not self.ends.is_set():
                        stranger.sendall(self.frames)
            except OSError:
                time.sleep(0.001)

    def end(self):
        self.ends.set()
        for each in self.threads:
            each.join()


def memory_kib(process):
    """0 where the process has just ended."""
    with open("/proc/%d/status" % process.pid) as status:
        return int(next((line for line in status if line.startswith("VmRSS")), "VmRSS: 0").split()[1])


def free_port():
    with socket.socket() as each:
        each.bind(("", 0))
        return each.getsockname()[1]


def main():
    frames, connections, seed = (int(sys.argv[i]) if len(sys.argv) > i else default for i, default in ((2, 20000), (3, 20), (4, 1)))
    with Installed(os.path.abspath(sys.argv[1])) as test:
        test.write("rows.csv", rows(120))

        def worker(rank, job, port, updates):
            command = [test.berth, "--train-data-file", test.path("rows.csv"), "--job-dir", test.path(job), "--rank", str(rank)]
            command += FLAGS.split() + ["--max-steps", str(updates), "--master-addr", "127.0.0.1", "--master-port", str(port)]
            log = open(test.path("%s.%d.log" % (job, rank)), "wb")
            return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log, env=test.environment())

        def train(job, updates, strangers_send):
            port = free_port()
            leader = worker(0, job, port, updates)
            workers = [leader]
            try:
                growth = strangers_send(port, leader, lambda: workers.append(worker(1, job, port, updates)))
                codes = [each.wait(DEADLINE_S) for each in workers]
            finally:
                for each in workers:
                    each.kill()
                    each.wait()
            if not test.check(codes == [0, 0], job, "ends with", codes, *(test.read("%s.%d.log" % (job, rank))[-800:] for rank in (0, 1))):
                test.finish()
            peak = json.loads(test.read(job + "/metrics.json"))["peak_rss_bytes"] >> 10
            return growth, peak, test.read(job + "/model/model.safetensors")

        def nobody(port, leader, other_begins):
            other_begins()

        def strangers(port, leader, other_begins):
            while subprocess.call(["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/%d" % port], stderr=subprocess.DEVNULL):
                time.sleep(0.05)
            before = memory_kib(leader)
            crowd = Strangers(port, connections, seed)
            flood = Flood(port)
            began = time.monotonic()
            # A half while worker 0 waits for the other, and a half while both train.
            while crowd.sent < frames / 2 and leader.poll() is None:
                crowd.send_for(0.5)
            waiting = memory_kib(leader)
            other_begins()
            most = waiting
            while leader.poll() is None and time.monotonic() - began < DEADLINE_S:
                most = max(most, memory_kib(leader))
                crowd.send_for(0.5)
            flood.end()
            took = time.monotonic() - began
            print("%d frames over %d connections, %d at once, in %.0f s" % (crowd.sent, crowd.made, connections, took))
            print("worker 0, resident: %d KiB before the strangers, %d KiB with them, %d KiB in the training" % (before, waiting, most))
            test.check(crowd.sent >= frames, "only", crowd.sent, "frames were sent before the job ended: give it more updates")
            return waiting - before

        # The job lasts as long as the second half of the frames takes.
        updates = max(50, frames // 400)
        _, usual, expected = train("alone", updates, nobody)
        growth, peak, model = train("disturbed", updates, strangers)
        print("worker 0, peak: %d KiB without strangers, %d KiB with them" % (usual, peak))
        test.check(max(growth, peak - usual) < MOST_GROWTH_KIB, "the memory grows by", growth, "KiB and", peak - usual, "KiB")
        test.check(model == expected, "strangers change the model")
        log = test.read("disturbed.0.log").decode()
        test.check("strangers" in log, "the strangers are not counted:", log[-800:])
        test.check("worker 99" not in log, "a stranger is named as a worker:", log[-800:])
        test.finish()


main()
