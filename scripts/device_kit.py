#!/usr/bin/env python3
"""Tests and measures berth on the TPU or GPU of this machine, beside PyTorch and JAX where they are installed. It needs no network, no
package and no root: Python 3.9 and the folder that it lies in, which scripts/device-kit.sh makes.

    python3 run.py [--output DIR] [--only STEP]...

It looks for the PJRT plugin in the packages of every Python of this machine, and for /lib/libtpu.so. Without a TPU or GPU it runs through
a plugin for CPUs, with the small shapes of --quick. Each step prints its rows as it ends, has a limit of its own, and does not stop the
next one. All together take at most --minutes, 5 by default; the limits of the steps grow with it. The steps, in this order:

    check     the plugin's self-check and the quickest tests that compare the engine with the CPU's kernels
    sample    the bundled sample on the device and on the CPU at the same time: losses and accuracy
    base      BERT-base bf16, 256 texts of 128 tokens; PyTorch (autocast, sdpa, fused AdamW), also with torch.compile
    news      BERT-base bf16, 256 texts of AG News' lengths; PyTorch padded to the longest
    small     BERT-base, 32 texts of 128 tokens, fp32 and bf16; PyTorch
    resume    the sample's job killed and resumed: the same bits?

and by --only alone:

    parity    all tests of the engine that need one device
    large     BERT-large bf16, 64 texts of 512 tokens, with and without --recompute
    jax       bench/peer/step_jax.py at the shapes of base and news
    predict   20,000 texts
    kernels   the time of each kernel of base's update, by ncu

--output keeps, in DIR: table.txt, results.json, logs.tar.gz, and xla-dump.tar with the compiler's dump of base's program.
"""

import argparse
import csv
import datetime
import glob
import gzip
import hashlib
import io
import json
import os
import pathlib
import queue
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

KIT = pathlib.Path(__file__).resolve().parent
BERTH, TESTS = KIT / "berth/bin/berth", KIT / "berth/bin/xla_test"
MODEL, SAMPLE = KIT / "berth/share/berth/model", KIT / "berth/share/berth/data/df.pickle"
LENGTHS = KIT / "news-lengths.txt"
STEPS = ("check", "sample", "base", "news", "small", "resume")
ALONE = ("parity", "large", "jax", "predict", "kernels")
LIMITS = {"check": 60, "sample": 90, "base": 150, "news": 100, "small": 120, "resume": 60, "parity": 400, "large": 400, "jax": 300,
          "predict": 200, "kernels": 300}
SIZES = {"tiny": (2, 128, 2), "base": (12, 768, 12), "large": (24, 1024, 16)}
PLUGINS = {"tpu": ["libtpu/libtpu.so"],
           "gpu": ["jax_plugins/xla_cuda13/xla_cuda_plugin.so", "jax_plugins/xla_cuda12/xla_cuda_plugin.so"],
           "xla-cpu": ["lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so"]}
VOCABULARY = 30522


class StepError(Exception):
    """What a row says instead of a result."""


def run_for_text(command, seconds=20):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=seconds, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode(errors="replace").strip()


# ---- What this machine has ----------------------------------------------------------------------------------------------------------


def find_pythons():
    """Each Python of this machine with the folders of its packages."""
    folders = os.environ.get("PATH", "").split(":") + ["/usr/bin", "/usr/local/bin"]
    folders += glob.glob("/opt/*/bin") + glob.glob("/opt/*/.venv/bin") + glob.glob("/opt/*/venv/bin")
    folders += glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin")) + glob.glob(os.path.expanduser("~/*/.venv/bin"))
    folders += [os.path.join(os.environ[name], "bin") for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if name in os.environ]
    found = {}
    ask = "import json, site, sys; print(json.dumps([sys.prefix] + sys.path + site.getsitepackages() + [site.getusersitepackages()]))"
    for python in [sys.executable] + [os.path.join(folder, name) for folder in folders for name in ("python3", "python")]:
        if not python or not os.access(python, os.X_OK) or python in found:
            continue
        answer = run_for_text([python, "-c", ask])
        if not answer:
            continue
        prefix, *paths = json.loads(answer)
        if all(prefix != other[0] for other in found.values()):
            found[python] = (prefix, [p for p in dict.fromkeys(paths) if p and os.path.isdir(p)])
    return {python: paths for python, (_, paths) in found.items()}


def python_with(pythons, *packages):
    for python, paths in pythons.items():
        if all(any(os.path.isdir(os.path.join(p, package)) for p in paths) for package in packages):
            return python
    return None


def find_device():
    if os.path.exists("/dev/nvidiactl") or os.path.exists("/dev/nvidia0"):
        return "gpu"
    return "tpu" if glob.glob("/dev/accel[0-9]*") or glob.glob("/dev/vfio/[0-9]*") else "xla-cpu"


def find_plugin(device, sites, driver):
    wanted = list(PLUGINS[device])
    if device == "gpu" and driver and int(driver.split(".")[0]) < 580:
        wanted.reverse()  # CUDA 13 needs a newer driver
    places = ["/lib/libtpu.so"] if device == "tpu" else []
    places += [os.path.join(site, plugin) for plugin in wanted for site in sites]
    return next((place for place in places if os.path.exists(place)), None)


def query_gpu(fields):
    text = run_for_text(["nvidia-smi", "--query-gpu=" + fields, "--format=csv,noheader,nounits", "--id=0"])
    return [field.strip() for field in text.split(",")] if text else []


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return os.uname().machine


# ---- Programs that run beside this one ----------------------------------------------------------------------------------------------


class Job:
    """A training of berth whose log is read as it comes. A job that is held stops after its first update, when its program is compiled,
    until it is let go: so it compiles while something else is measured."""

    def __init__(self, kit, name, flags, held=False, environment=None, when_ready=None):
        self.name, self.held, self.is_stopped, self.when_ready = name, held, False, when_ready
        self.events, self.last, self.lock = [], "", threading.Lock()
        self.ready, self.ended = threading.Event(), threading.Event()
        self.directory = kit.work / "jobs" / name
        self.log = kit.logs / f"{name}.log"
        command = [str(BERTH), "--log-format", "json", "--logging-steps", "1", "--step-timeout", "0",
                   "--job-dir", str(self.directory), *flags]
        self.started_at = time.monotonic()
        with open(kit.logs / f"{name}.out", "wb") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                            env={**os.environ, **kit.environment, **(environment or {})})
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        kit.processes.append(self)

    def read(self):
        with open(self.log, "ab") as log:
            for line in self.process.stderr:
                log.write(line)
                log.flush()
                self.last = line.decode(errors="replace").strip() or self.last
                try:
                    event = json.loads(line)
                except ValueError:
                    continue
                with self.lock:
                    self.events.append(event)
                    is_first = event.get("event") == "step" and not self.ready.is_set()
                    if is_first and self.held:
                        self.process.send_signal(signal.SIGSTOP)
                        self.is_stopped = True
                if is_first:
                    if self.when_ready:
                        self.when_ready()
                    self.ready.set()
        self.process.wait()
        self.ended.set()
        self.ready.set()

    def let_go(self):
        with self.lock:
            self.held = False
            if self.is_stopped:
                self.process.send_signal(signal.SIGCONT)
                self.is_stopped = False

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.let_go()
        self.ended.wait(10)

    def of(self, kind):
        with self.lock:
            return [event for event in self.events if event.get("event") == kind]

    def messages(self):
        return [event["message"] for event in self.of("log")]

    def problem(self):
        with self.lock:
            last = self.events[-1] if self.events else {}
        if "what" not in last:
            return f"exit code {self.process.poll()}: {self.last[:300]}"
        return " ".join(filter(None, (last["what"], last.get("where"), last.get("hint"))))

    def wait_ready(self, seconds):
        if not self.ready.wait(max(1, seconds)):
            raise StepError(f"not compiled after {time.monotonic() - self.started_at:.0f} s")
        if not self.of("step"):
            raise StepError(self.problem())

    def wait_done(self, seconds):
        if not self.ended.wait(max(1, seconds)):
            self.kill()
            raise StepError(f"not finished after {time.monotonic() - self.started_at:.0f} s")
        if self.process.returncode != 0:
            raise StepError(self.problem())

    def compile_s(self):
        return sum(float(m[1]) for text in self.messages() for m in [re.match(r"compiled .* in ([0-9.]+) s$", text)] if m)

    def rates(self, after):
        """Examples a second in windows of a quarter of a second or one update, for the updates that began after event `after`. A window
        with a compilation in it does not count."""
        spans, last = [], None
        with self.lock:
            events = self.events[after:]
        for event in events:
            if event.get("event") == "step":
                now = datetime.datetime.strptime(event["time"], "%Y-%m-%dT%H:%M:%S.%fZ")
                spans.append(None if last is None else (now - last).total_seconds())
                last = now
            elif str(event.get("message", "")).startswith("compiling"):
                last = None
        spans = spans[2:]  # the update that was held, and the one after it
        usual = statistics.median([s for s in spans if s is not None] or [1])
        window = max(1, round(0.25 / max(usual, 1e-3)))
        groups = [spans[i:i + window] for i in range(0, len(spans) - window + 1, window)]
        return [window / max(sum(group), 1e-6) for group in groups if None not in group]


class Peer:
    """bench/peer/step_torch.py, which answers one shape after the other."""

    def __init__(self, kit, python, name):
        self.lines = queue.Queue()
        self.log = open(kit.logs / f"{name}.log", "wb")
        self.process = subprocess.Popen([python, str(KIT / "peer/step_torch.py"), "--serve", "--lengths", str(LENGTHS)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
                                        env={**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"})
        threading.Thread(target=self.read, daemon=True).start()
        kit.processes.append(self)

    def read(self):
        for line in self.process.stdout:
            self.log.write(line)
            try:
                self.lines.put(json.loads(line))
            except ValueError:
                continue
        self.lines.put({"error": "the process ended; its log says why"})

    def say(self, text):
        try:
            self.process.stdin.write((text + "\n").encode())
            self.process.stdin.flush()
        except OSError:
            self.lines.put({"error": "the process ended; its log says why"})

    def prepare(self, **shape):
        self.say(json.dumps(shape))

    def answer(self, seconds):
        try:
            answer = self.lines.get(timeout=max(1, seconds))
        except queue.Empty:
            self.kill()
            raise StepError("no answer in time") from None
        if "error" in answer:
            raise StepError(answer["error"])
        return answer

    def measure(self, seconds):
        """The answers about its preparation and its speed."""
        until = time.monotonic() + seconds
        ready = self.answer(seconds)
        self.say("go")
        return ready, self.answer(until - time.monotonic())

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


# ---- The kit ------------------------------------------------------------------------------------------------------------------------


class Kit:
    def __init__(self, options):
        self.options = options
        self.begin = time.monotonic()
        self.until = self.begin + 60 * options.minutes
        self.step_until = self.until
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="berth-kit-"))
        self.logs = self.work / "logs"
        self.logs.mkdir()
        self.rows, self.processes, self.jobs, self.peers = [], [], {}, {}
        self.wanted = [step for step in STEPS + ALONE if step in (options.only or STEPS)]
        self.lock = threading.Lock()  # of jobs
        self.failures, self.prepared = 0, set()
        self.flops, self.peak, self.speed = {}, {}, {}  # of an example by shape; by precision; berth's, by shape
        self.output = pathlib.Path(options.output) if options.output else None
        if self.output:
            self.output.mkdir(parents=True, exist_ok=True)
        self.text = ""
        self.find()
        self.choose_shapes()

    def say(self, line):
        print(line, flush=True)
        self.text += line + "\n"
        if self.output:
            (self.output / "table.txt").write_text(self.text)

    def find(self):
        pythons = find_pythons()
        self.device = "xla-cpu" if self.options.cpu else find_device()
        gpu = query_gpu("name,memory.total,driver_version,clocks.max.sm,clocks.sm,power.limit") if self.device == "gpu" else []
        sites = list(dict.fromkeys(path for paths in pythons.values() for path in paths))
        self.plugin = self.options.plugin or find_plugin(self.device, sites, gpu[2] if len(gpu) > 2 else "")
        self.torch = None if self.options.no_peers else python_with(pythons, "torch", "transformers")
        self.jax = None if self.options.no_peers else python_with(pythons, "jax", "jaxlib")
        self.memory_gib = float(gpu[1]) / 1024 if len(gpu) > 1 and re.match(r"[0-9.]+$", gpu[1]) else 0
        if self.device == "gpu" and not self.memory_gib:
            self.memory_gib = 20  # nvidia-smi does not say
        self.quick = self.options.quick or self.device == "xla-cpu"
        # Several processes share the device, so none may take most of its memory at once.
        self.environment = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "XLA_PYTHON_CLIENT_MEM_FRACTION": "0.9"}
        self.cuda_libraries = []
        if self.device == "gpu" and self.plugin:
            own = pathlib.Path(self.plugin).parents[2]
            version = re.sub(r"[^0-9]", "", pathlib.Path(self.plugin).parent.name)
            with_cuda = [site for site in [str(own), *sites] if glob.glob(os.path.join(site, "nvidia/*/lib"))]
            if with_cuda:
                folders = sorted(glob.glob(os.path.join(with_cuda[0], "nvidia/*/lib")))
                self.cuda_libraries = [f for f in folders if not re.match(r"cu\d+$", f.split("/")[-2]) or f.split("/")[-2] == "cu" + version]
            if with_cuda and with_cuda[0] != str(own):  # berth itself looks beside the plugin alone
                self.environment["LD_LIBRARY_PATH"] = ":".join(self.cuda_libraries + [os.environ.get("LD_LIBRARY_PATH", "")])
        version = run_for_text([str(BERTH), "--version"]) or "berth does not run here"
        self.say(f"{version}; {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC; {cpu_name()}, {os.cpu_count()} CPUs")
        self.say(f"device: {self.device}" + (f", {gpu[0]}, {gpu[1]} MiB, driver {gpu[2]}, at most {gpu[3]} MHz, {gpu[5]} W"
                                             if len(gpu) > 5 else ""))
        self.say(f"plugin: {self.plugin or 'none found in ' + ', '.join(sites)}")
        self.say(f"PyTorch: {self.torch or 'not found'}; JAX: {self.jax or 'not found'}")

    def choose_shapes(self):
        large = 256 if self.memory_gib >= 60 or self.device == "tpu" else 64 if self.memory_gib >= 20 else 16
        size, middle, steps = ("tiny", 4, 9) if self.quick else ("base", 32, 20)
        self.least_s = self.options.seconds or (2 if self.quick else 5)
        large = 8 if self.quick else large
        self.least_steps = steps
        shape = lambda size, batch, length, precision, **more: {"size": size, "batch": batch, "length": length, "precision": precision, **more}
        self.shapes = {"base": shape(size, large, "128", "bf16"), "news": shape(size, large, "news", "bf16"),
                       "small-fp32": shape(size, middle, "128", "fp32"), "small-bf16": shape(size, middle, "128", "bf16"),
                       "large": shape("tiny" if self.quick else "large", 2 if self.quick else 64, "512", "bf16"),
                       "large-recompute": shape("tiny" if self.quick else "large", 2 if self.quick else 64, "512", "bf16", recompute=True)}

    # ---- Inputs

    def inputs(self):
        """A vocabulary whose every word is one token, and the configurations of the models."""
        folder = self.work / "inputs"
        if folder.exists():
            return folder
        folder.mkdir()
        words = [f"w{i}" for i in range(VOCABULARY - 5)]
        (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + words) + "\n")
        for size, (layers, hidden, heads) in SIZES.items():
            (folder / f"{size}.json").write_text(json.dumps({
                "architectures": ["BertModel"], "model_type": "bert", "hidden_size": hidden, "num_hidden_layers": layers,
                "num_attention_heads": heads, "intermediate_size": 4 * hidden, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
                "attention_probs_dropout_prob": 0.1, "max_position_embeddings": 512, "type_vocab_size": 2, "initializer_range": 0.02,
                "layer_norm_eps": 1e-12, "pad_token_id": 0, "vocab_size": VOCABULARY}))
        return folder

    def table_of(self, length, rows):
        """Rows of random words: of `length` tokens with [CLS] and [SEP], or of AG News' lengths."""
        file = self.inputs() / f"{length}-{rows}.tsv"
        if not file.exists():
            draw = random.Random(1)
            words = [f"w{i}" for i in range(VOCABULARY - 5)]
            lengths = [int(line) for line in LENGTHS.read_text().split()] if length == "news" else [int(length)]
            lines = [" ".join(draw.choices(words, k=lengths[i * 37 % len(lengths)] - 2)) + "\t" + "ab"[i % 2] for i in range(rows)]
            file.write_text("text\tlabel\n" + "\n".join(lines) + "\n")
        return file

    # ---- Jobs and rows

    def left(self):
        return self.step_until - time.monotonic()

    def on_device(self, cache="cache"):
        return ["--device", self.device, "--pjrt-plugin", self.plugin, "--cache-dir", str(self.work / cache)]

    def training_flags(self, shape):
        longest = "128" if shape["length"] == "news" else shape["length"]
        return ["--mode", "train", "--task", "sequence_classification", "--init", "random", "--learning-rate", "1e-5",
                "--train-data-file", str(self.table_of(shape["length"], 8 * shape["batch"])), "--validation-split", "0",
                "--model-config", str(self.inputs() / f"{shape['size']}.json"), "--vocab-file", str(self.inputs() / "vocab.txt"),
                "--batch-size", str(shape["batch"]), "--max-seq-length", longest, "--precision", shape["precision"],
                "--save-steps", "0"] + (["--recompute"] if shape.get("recompute") else [])

    def next_shape(self, name):
        """The shape that is measured after this one."""
        names = [n for n in self.shapes if n.split("-")[0] in self.wanted]
        return next((after for before, after in zip(names, names[1:]) if before == name), None)

    def ahead(self, name):
        """Starts the job of a shape, which is held until it is measured. Once it is compiled, the next one is started."""
        with self.lock:
            if name not in self.jobs:
                environment = {}
                if name == "base":
                    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_dump_to={self.work}/dump --xla_dump_hlo_as_text"
                    environment["XLA_FLAGS"] = flags.strip()
                then = self.next_shape(name)
                flags = [*self.training_flags(self.shapes[name]), *self.on_device(), "--max-steps", "1000000", "--profile", "4"]
                self.jobs[name] = Job(self, name, flags, held=True, environment=environment,
                                      when_ready=(lambda: self.ahead(then)) if then else None)
            return self.jobs[name]

    def wait_compiled(self):
        """Waits until no program is being compiled any more: it would take the device from what is measured."""
        for name in self.shapes:
            if name in self.jobs:
                self.jobs[name].ready.wait(max(1, self.left()))

    def row(self, step, what, program, **values):
        row = {"step": step, "what": what, "program": program, "at_s": round(time.monotonic() - self.begin, 1), **values}
        self.rows.append(row)
        parts = []
        if "rate" in row:
            spread = f" ({row['low']:.4g} to {row['high']:.4g})" if "low" in row else ""
            parts.append(f"{row['rate']:.4g} examples/s{spread}")
        if row.get("share"):
            parts.append(f"{100 * row['share']:.1f} % of the peak")
        if row.get("memory"):
            parts.append(f"{row['memory'] / 2**30:.2f} GiB")
        if row.get("compile_s"):
            parts.append(f"ready after {row['compile_s']:.1f} s" if program != "berth" else f"compiled in {row['compile_s']:.1f} s")
        parts += [row[key] for key in ("result", "note") if row.get(key)]
        self.say(f"{row['at_s']:6.1f} s  {what:<34} {program:<14} {'; '.join(parts)}")
        if self.output:
            (self.output / "results.json").write_text(json.dumps(self.rows, indent=1) + "\n")

    def failed(self, step, what, program, error):
        self.failures += 1
        self.row(step, what, program, result=f"FAILED: {error}")

    def clocks(self):
        now = query_gpu("clocks.sm,power.draw") if self.device == "gpu" else []
        return f"{now[0]} MHz, {now[1]} W" if len(now) > 1 else ""

    def describe(self, shape):
        length = "AG News' lengths" if shape["length"] == "news" else shape["length"]
        return f"BERT-{shape['size']} {shape['precision']} {shape['batch']} x {length}" + (" --recompute" if shape.get("recompute") else "")

    def measure(self, step, name):
        """Measures berth at a shape."""
        shape = self.shapes[name]
        what = self.describe(shape)
        job = self.ahead(name)
        try:
            job.wait_ready(self.left())
            self.wait_compiled()
            after = len(job.events)
            job.let_go()
            begin, clocks = time.monotonic(), ""
            while not job.ended.is_set() and self.left() > 0:
                time.sleep(0.2)
                rates = job.rates(after)
                clocks = clocks or (self.clocks() if len(rates) > 1 else "")
                if time.monotonic() - begin > self.least_s and len(rates) >= 3 and len(job.of("step")) >= self.least_steps:
                    break
            rates = [shape["batch"] * rate for rate in job.rates(after)]
            if not rates:
                raise StepError(job.problem() if job.ended.is_set() else "no updates in time")
            last = job.of("step")[-1]
            rate = statistics.median(rates)
            values = {"rate": rate, "low": min(rates), "high": max(rates), "compile_s": job.compile_s(),
                      "memory": last.get("device_peak_bytes_in_use", 0)}
            per_example = statistics.median([e["flops_per_second"] / e["examples_per_second"] for e in job.of("step")[1:]])
            self.flops[name], self.speed[name] = per_example, rate
            if last.get("flops_utilization"):
                self.peak[shape["precision"]] = last["flops_per_second"] / last["flops_utilization"]
            values["share"] = self.share(name, rate)
            profile = [re.match(r" *[0-9.]+ % +([0-9.]+) .* waiting for the device$", m) for m in job.messages()]
            waits = [m for m in profile if m]
            update_ms = 1000 * shape["batch"] / rate
            values["note"] = "; ".join(filter(None, [
                f"the host waits for {float(waits[-1][1]):.1f} of the {update_ms:.1f} ms of an update" if waits else "", clocks]))
            self.row(step, what, "berth", **values)
        except StepError as error:
            self.failed(step, what, "berth", error)
        finally:
            job.kill()
            if (job.directory / "profile.pftrace").exists():
                shutil.copy(job.directory / "profile.pftrace", self.logs / f"{name}.pftrace")
            shutil.rmtree(job.directory, ignore_errors=True)

    def share(self, name, rate):
        peak = self.peak.get(self.shapes[name]["precision"])
        return rate * self.flops[name] / peak if peak and name in self.flops else None

    def peer(self, kind):
        if kind not in self.peers:
            self.peers[kind] = Peer(self, self.torch, kind)
        return self.peers[kind]

    def prepare_peer(self, kind, name):
        shape = self.shapes[name]
        self.prepared.add(kind)
        self.peer(kind).prepare(precision=shape["precision"], model=shape["size"], batch=shape["batch"], length=shape["length"],
                                compile=kind == "torch-compile")

    def measure_peer(self, step, kind, name):
        """Measures a peer that was prepared for this shape."""
        what = self.describe(self.shapes[name])
        program = {"torch": "PyTorch", "torch-compile": "torch.compile"}[kind]
        try:
            ready, speed = self.peer(kind).measure(self.left())
            rate = speed["examples_per_second"]
            ratio = f"berth is {self.speed[name] / rate:.2f} times as fast" if name in self.speed else ""
            on = "" if (ready["device"] == "cpu") == (self.device == "xla-cpu") else f"on {ready['device']}"
            self.row(step, what, program, rate=rate, low=speed["lowest"], high=speed["highest"], memory=speed["memory_bytes"],
                     compile_s=ready["prepare_s"], share=self.share(name, rate),
                     note="; ".join(filter(None, [ratio, on, f"{ready['version']}, {ready['attention']}, padded to {ready['padded_to']}"])))
        except StepError as error:
            self.failed(step, what, program, error)
            self.peer(kind).kill()
            del self.peers[kind]

    # ---- Steps

    def tests(self, step, patterns):
        platform = {"gpu": "cuda", "tpu": "tpu", "xla-cpu": "cpu"}[self.device]
        environment = {**os.environ, **self.environment, "BERTH_XLA_PLUGIN": self.plugin, "BERTH_XLA_PLATFORM": platform,
                       "BERTH_XLA_PROGRAMS": str(self.work / "test-programs"), "BERTH_TESTDATA": str(KIT / "testdata")}
        (self.work / "test-programs").mkdir(mode=0o700, exist_ok=True)
        # berth finds the driver and CUDA's libraries itself, and the tests do not.
        drivers = [f for f in ("/usr/local/nvidia/lib64", "/usr/lib/wsl/lib") if self.device == "gpu" and os.path.isdir(f)]
        environment["LD_LIBRARY_PATH"] = ":".join(self.cuda_libraries + drivers + [os.environ.get("LD_LIBRARY_PATH", "")]).strip(":")
        log = self.logs / f"{step}.log"
        begin = time.monotonic()
        with open(log, "wb") as out:
            process = subprocess.Popen([str(TESTS), "--gtest_filter=" + patterns], stdout=out, stderr=subprocess.STDOUT, env=environment)
            try:
                process.wait(timeout=max(1, self.left()))
                late = ""
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                late = "; stopped at the limit"
        text = log.read_text(errors="replace")
        passed, failed = (len(re.findall(r"^\[ +%s \] .*ms\)$" % word, text, re.M)) for word in ("OK", "FAILED"))
        skipped = len(re.findall(r"^\[ +SKIPPED \] .*ms\)$", text, re.M))
        result = f"{passed} passed, {failed} failed, {skipped} skipped in {time.monotonic() - begin:.0f} s{late}"
        if failed or skipped or not passed or (process.returncode != 0 and not late):
            names = re.findall(r"^\[ +FAILED \] (\S+?),? .*ms\)$", text, re.M)
            self.failed(step, "tests beside the CPU's kernels", "berth", result + (": " + ", ".join(names) if names else ""))
        else:
            self.row(step, "tests beside the CPU's kernels", "berth", result=result)

    def check(self):
        self.tests("check", "EngineBf16.*:Recorded/EngineParity.*/bert_sequence:Recorded/EngineParity.*/bert_sets")

    def sample_flags(self):
        steps, batch = ("12", "16") if self.quick else ("40", "32")
        return ["--train-data-file", str(SAMPLE), "--model", str(MODEL), "--max-steps", steps, "--batch-size", batch,
                "--max-seq-length", "64", "--learning-rate", "1e-4", "--precision", "fp32", "--save-steps", "4" if self.quick else "10"]

    def sample_on_device(self):
        """The finished job of the sample, which two steps use."""
        if "sample" not in self.jobs:
            self.jobs["sample"] = Job(self, "sample", [*self.sample_flags(), *self.on_device()])
        self.jobs["sample"].wait_done(self.left())
        return self.jobs["sample"]

    def sample(self):
        self.jobs["sample"] = Job(self, "sample", [*self.sample_flags(), *self.on_device()])
        cpu = Job(self, "sample-cpu", [*self.sample_flags(), "--device", "cpu"])
        what = "the sample, fp32, 5.4 million weights"
        device = self.sample_on_device()
        cpu.wait_done(self.left())
        losses = [[event["loss"] for event in job.of("step")] for job in (device, cpu)]
        if len(losses[0]) != len(losses[1]) or not losses[0]:
            raise StepError("the jobs have different updates")
        most = max(abs(a - b) / abs(b) for a, b in zip(*losses))
        accuracy = ["{:.4f}".format(job.of("evaluation")[-1]["accuracy"]) for job in (device, cpu)]
        result = (f"largest difference of a loss in {len(losses[0])} updates: {most:.1e} of it; "
                  f"accuracy {accuracy[0]} here, {accuracy[1]} on the CPU")
        if most > 0.01:
            self.failed("sample", what, "berth", result)
        else:
            self.row("sample", what, "berth", result=result, compile_s=device.compile_s())

    def base(self):
        self.measure("base", "base")
        self.keep_dump()
        if self.torch:
            self.prepare_peer("torch", "base")
            self.measure_peer("base", "torch", "base")
            if "torch-compile" not in self.prepared:
                self.prepare_peer("torch-compile", "base")
            self.measure_peer("base", "torch-compile", "base")
            if "torch-compile" in self.peers:
                self.peers.pop("torch-compile").kill()

    def news(self):
        self.measure("news", "news")
        if self.torch:
            self.prepare_peer("torch", "news")
            self.measure_peer("news", "torch", "news")

    def small(self):
        for name in ("small-fp32", "small-bf16"):
            self.measure("small", name)
            if self.torch:
                self.prepare_peer("torch", name)
                self.measure_peer("small", "torch", name)

    def resume(self):
        whole = self.sample_on_device()
        expected = hashlib.sha256((whole.directory / "model/model.safetensors").read_bytes()).hexdigest()
        flags = [*self.sample_flags(), *self.on_device()]
        killed = Job(self, "killed", flags)
        at = 8 if self.quick else 20  # with the checkpoint of this update
        while not killed.ended.is_set() and self.left() > 0:
            if any(event["step"] >= at for event in killed.of("checkpoint")):
                break
            time.sleep(0.005)
        killed.kill()
        done = max([event["step"] for event in killed.of("step")], default=0)
        again = Job(self, "killed", flags)
        again.wait_done(self.left())
        first = min([event["step"] for event in again.of("step")], default=0)
        found = hashlib.sha256((again.directory / "model/model.safetensors").read_bytes()).hexdigest()
        result = f"killed after update {done}, resumed with update {first}"
        if found != expected or first <= 1:
            self.failed("resume", "the sample, killed and resumed", "berth", result + ": other weights" * (found != expected))
        else:
            self.row("resume", "the sample, killed and resumed", "berth", result=result + ": the same bits as without",
                     note=f"programs from the cache in {again.compile_s():.1f} s, compiled in {whole.compile_s():.1f} s")

    def parity(self):
        self.tests("parity", "EngineBf16.*:EngineParityOfOptions.*:Recorded/EngineParity.*:XlaEngines.*")

    def large(self):
        self.measure("large", "large")
        self.measure("large", "large-recompute")

    def jax_steps(self):
        if not self.jax:
            raise StepError("no Python here has jax")
        for name in ("base", "news"):
            shape = self.shapes[name]
            command = [self.jax, str(KIT / "peer/step_jax.py"), shape["precision"], shape["size"], str(shape["batch"]), shape["length"],
                       "--lengths", str(LENGTHS)]
            environment = {**os.environ, **self.environment}
            with open(self.logs / f"jax-{name}.log", "w") as log:
                try:
                    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=log, env=environment, timeout=max(1, self.left()))
                except subprocess.TimeoutExpired:
                    self.failed("jax", self.describe(shape), "JAX", "not finished in time")
                    continue
            line = (done.stdout.decode(errors="replace").strip().splitlines() or [""])[-1]
            found = re.search(r"([0-9.]+) examples/s +lowered in ([0-9.]+) s, compiled in ([0-9.]+) s +([0-9.]+) GiB +(.*)$", line)
            if not found:
                self.failed("jax", self.describe(shape), "JAX", f"exit code {done.returncode}; its log says why")
                continue
            self.row("jax", self.describe(shape), "JAX", rate=float(found[1]), compile_s=float(found[2]) + float(found[3]),
                     memory=float(found[4]) * 2**30, note=found[5])

    def predict(self):
        shape = self.shapes["news"]
        count = 1000 if self.quick else 20000
        trained = Job(self, "to-predict", [*self.training_flags(shape), *self.on_device(), "--max-steps", "1"])
        trained.wait_done(self.left())
        begin = time.monotonic()
        predicted = Job(self, "to-predict", ["--mode", "predict", "--predict-data-file", str(self.table_of("news", count)), "--precision",
                                             shape["precision"], "--batch-size", str(shape["batch"]), *self.on_device()])
        predicted.wait_done(self.left())
        seconds = time.monotonic() - begin
        self.row("predict", f"BERT-{shape['size']} {shape['precision']}, {count} texts", "berth", rate=count / seconds,
                 compile_s=predicted.compile_s(), result=f"{seconds:.1f} s from start to end",
                 note=f"{count / max(seconds - predicted.compile_s(), 1e-3):.4g} examples/s without compiling")

    def kernels(self):
        ncu = shutil.which("ncu") or next(iter(glob.glob("/opt/nvidia/nsight-compute/*/ncu") + glob.glob("/usr/local/cuda/bin/ncu")), None)
        if self.device != "gpu" or not ncu:
            raise StepError("this needs a GPU and the program ncu")
        flags = [*self.training_flags(self.shapes["base"]), *self.on_device()]
        Job(self, "to-cache", [*flags, "--max-steps", "1"]).wait_done(self.left())  # so that ncu sees no tuning of kernels
        report, updates = self.logs / "kernels.csv", 3
        command = [ncu, "--csv", "--clock-control", "none", "--metrics", "gpu__time_duration.sum", "--log-file", str(report), str(BERTH),
                   *flags, "--max-steps", str(updates), "--log-format", "json", "--job-dir", str(self.work / "jobs/kernels")]
        with open(self.logs / "kernels.log", "wb") as log:
            try:
                subprocess.run(command, stdout=log, stderr=log, env={**os.environ, **self.environment}, timeout=max(1, self.left()))
            except subprocess.TimeoutExpired:
                pass  # what was written counts
        lines = report.read_text(errors="replace").splitlines() if report.exists() else []
        start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
        if start is None:
            raise StepError("ncu recorded nothing; kernels.log says why")
        scale = {"nsecond": 1e-6, "ns": 1e-6, "usecond": 1e-3, "us": 1e-3, "msecond": 1, "ms": 1, "second": 1e3, "s": 1e3}
        times = {}
        for record in csv.DictReader(io.StringIO("\n".join(lines[start:]))):
            if record.get("Metric Name") == "gpu__time_duration.sum":
                total, calls = times.get(record["Kernel Name"], (0, 0))
                ms = float(record["Metric Value"].replace(",", "")) * scale.get(record["Metric Unit"], 1e-6)
                times[record["Kernel Name"]] = (total + ms, calls + 1)
        whole = sum(total for total, _ in times.values())
        self.row("kernels", self.describe(self.shapes["base"]), "berth", result=f"{whole / updates:.2f} ms of kernels an update")
        for name, (total, calls) in sorted(times.items(), key=lambda item: -item[1][0])[:25]:
            self.say(f"          {100 * total / whole:5.1f} %  {total / updates:8.3f} ms  {calls / updates:7.1f} calls  {name[:90]}")

    # ---- The whole

    def keep_dump(self):
        """Keeps the compiler's dump, the telling files first, each compressed, up to 15 MiB."""
        dump = self.work / "dump"
        if not self.output or not dump.is_dir():
            return
        order = ["after_optimizations.txt", "buffer-assignment.txt", "memory-usage-report.txt", "before_optimizations.txt",
                 "thunk_sequence.txt", ".ptx", ".txt"]
        rank = lambda file: (next((i for i, end in enumerate(order) if file.name.endswith(end)), len(order)), -file.stat().st_size)
        kept, most = 0, 15 << 20
        with tarfile.open(self.output / "xla-dump.tar", "w") as archive:
            for file in sorted((f for f in dump.iterdir() if f.is_file()), key=rank):
                if rank(file)[0] == len(order):
                    continue
                content = gzip.compress(file.read_bytes(), 6)
                if kept + len(content) > most:
                    continue
                kept += len(content)
                entry = tarfile.TarInfo(file.name + ".gz")
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))

    def keep_logs(self):
        if self.output:
            with tarfile.open(self.output / "logs.tar.gz", "w:gz") as archive:
                archive.add(self.logs, "logs")

    def run(self):
        if not self.plugin:
            self.failed("check", "the plugin", "", "no PJRT plugin was found; name one with --plugin")
            return
        if self.torch and {"base", "news", "small"} & set(self.wanted):
            self.peer("torch")  # importing takes a while
        if "base" in self.wanted:
            if self.torch:
                self.prepare_peer("torch-compile", "base")
            self.ahead("base")
        for step in self.wanted:
            if self.until - time.monotonic() < 10:
                self.failed(step, step, "", "not begun: the time is up")
                continue
            self.step_until = min(self.until, time.monotonic() + LIMITS[step] * max(1, self.options.minutes / 5))
            try:
                (self.jax_steps if step == "jax" else getattr(self, step))()
            except StepError as error:
                self.failed(step, step, "berth", error)
            except Exception as error:  # a step does not stop the next one
                self.failed(step, step, "", f"{type(error).__name__}: {error}")
            self.keep_logs()

    def close(self):
        for process in self.processes:
            process.kill()
        self.keep_logs()
        self.say(f"failures: {self.failures}; {time.monotonic() - self.begin:.0f} s")
        shutil.rmtree(self.work, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(prog="python3 run.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", metavar="DIR", help="where the results go")
    parser.add_argument("--only", action="append", choices=STEPS + ALONE, metavar="STEP", help="runs this step alone; may be repeated")
    parser.add_argument("--plugin", metavar="FILE", help="the PJRT plugin, where it is not found")
    parser.add_argument("--quick", action="store_true", help="small shapes, which a CPU can compute")
    parser.add_argument("--cpu", action="store_true", help="uses a plugin for CPUs although there is a TPU or GPU")
    parser.add_argument("--no-peers", action="store_true", help="leaves PyTorch and JAX out")
    parser.add_argument("--seconds", type=float, metavar="N", help="how long each shape is measured at least; 5, and 2 with --quick")
    parser.add_argument("--minutes", type=float, default=5, metavar="N", help="the longest time of all steps together")
    kit = Kit(parser.parse_args())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        kit.run()
    finally:
        kit.close()
    sys.exit(1 if kit.failures else 0)


if __name__ == "__main__":
    main()
