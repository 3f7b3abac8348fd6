#!/usr/bin/env python3
"""Tests scripts/device_kit.py with programs of its own in place of berth and its tests: what it measures, what it leaves out, and that a
step that fails does not stop the next one.

    device_kit.py
"""

import importlib.util
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("device_kit", ROOT / "scripts/device_kit.py")
sys.dont_write_bytecode = True
device_kit = importlib.util.module_from_spec(spec)
spec.loader.exec_module(device_kit)

# Trains nothing, but writes what a job writes. In fp32 the models with random parameters do not fit.
BERTH = r'''#!{python}
import datetime, json, os, pathlib, sys, time
arguments = sys.argv[1:]
if arguments == ["--version"]:
    sys.exit(print("berth 9.9"))
flag = lambda name: arguments[arguments.index(name) + 1] if name in arguments else None
def say(**event):
    event["time"] = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    print(json.dumps(event), file=sys.stderr, flush=True)
job = pathlib.Path(flag("--job-dir"))
(job / "model").mkdir(parents=True, exist_ok=True)
if flag("--init") and flag("--precision") == "fp32":
    say(code=14, what="the job does not fit", where="here", hint="take less")
    sys.exit(14)
assert os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"
say(event="log", message="compiling training of 8 rows")
time.sleep(0.3)
say(event="log", message="compiled training of 8 rows in 0.3 s")
if "--xla_dump_to=" in os.environ.get("XLA_FLAGS", ""):
    folder = pathlib.Path(os.environ["XLA_FLAGS"].split("--xla_dump_to=")[1].split()[0])
    folder.mkdir(exist_ok=True)
    (folder / "module_0001.after_optimizations.txt").write_text("HloModule update")
    (folder / "module_0001.o").write_text("not kept")
state = job / "state"
first = int(state.read_text()) if state.exists() else 0
for step in range(first + 1, int(flag("--max-steps")) + 1):
    time.sleep(0.02)
    say(event="step", step=step, loss=1 / step, examples_per_second=100.0, flops_per_second=1e12, flops_utilization=0.25,
        device_peak_bytes_in_use=3 << 30)
    if step == 6 and flag("--profile"):
        say(event="log", message=" 75.0 %       1.500           1.0                               waiting for the device")
    if step % int(flag("--save-steps") or "1") == 0 if flag("--save-steps") != "0" else False:
        state.write_text(str(step))
        say(event="checkpoint", step=step)
say(event="evaluation", accuracy=0.5)
(job / "model/model.safetensors").write_text("weights")
say(code=0, what="all work is done")
'''
TESTS = """#!/bin/sh
echo "[       OK ] Recorded/EngineParity.Updates/bert_sequence (12 ms)"
"""


def make_kit(folder):
    kit = pathlib.Path(folder) / "kit"
    (kit / "berth/bin").mkdir(parents=True)
    (kit / "berth/share/berth/data").mkdir(parents=True)
    for file, text in (("berth", BERTH.replace("{python}", sys.executable)), ("xla_test", TESTS)):
        (kit / "berth/bin" / file).write_text(text)
        (kit / "berth/bin" / file).chmod(0o755)
    (kit / "run.py").write_bytes((ROOT / "scripts/device_kit.py").read_bytes())
    (kit / "news-lengths.txt").write_text("22\n47\n111\n")
    (kit / "plugin.so").write_text("")
    return kit


class Run(unittest.TestCase):
    def run_kit(self, *flags):
        with tempfile.TemporaryDirectory() as folder:
            kit = make_kit(folder)
            command = [sys.executable, str(kit / "run.py"), "--cpu", "--no-peers", "--plugin", str(kit / "plugin.so"), "--seconds",
                       "0.3", "--output", folder + "/out", *flags]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=280)
            out = pathlib.Path(folder) / "out"
            rows = json.loads((out / "results.json").read_text())
            self.assertIn(done.stdout.decode().splitlines()[-2], (out / "table.txt").read_text())
            with tarfile.open(out / "logs.tar.gz") as logs:
                self.names = logs.getnames()
            self.dump = None
            if (out / "xla-dump.tar").exists():
                with tarfile.open(out / "xla-dump.tar") as dump:
                    self.dump = dump.getnames()
            self.assertLessEqual(len(list(out.iterdir())), 8)
            return done, {(row["step"], row["what"]): row for row in rows}

    def test_measures_every_step_though_one_fails(self):
        done, rows = self.run_kit()
        self.assertEqual(done.returncode, 1, done.stdout.decode())
        self.assertIn("1 passed, 0 failed", rows["check", "tests beside the CPU's kernels"]["result"])
        base = rows["base", "BERT-tiny bf16 8 x 128"]
        self.assertGreater(base["rate"], 8 / 0.1)  # 8 texts in 20 ms and what sleeping costs more
        self.assertLess(base["rate"], 8 / 0.02)
        self.assertEqual(base["memory"], 3 << 30)
        self.assertEqual(base["compile_s"], 0.3)
        self.assertIn("the host waits for 1.5 of the ", base["note"])
        self.assertAlmostEqual(base["share"], base["rate"] * 1e10 / 4e12)  # 1e10 operations an example, 4e12 a second at most
        self.assertIn("news", [step for step, _ in rows])
        self.assertIn("FAILED: the job does not fit here take less", rows["small", "BERT-tiny fp32 4 x 128"]["result"])
        self.assertIn("rate", rows["small", "BERT-tiny bf16 4 x 128"])
        self.assertIn("largest difference of a loss in 12 updates: 0.0e+00", next(r for (s, _), r in rows.items() if s == "sample")["result"])
        self.assertRegex(next(r for (s, _), r in rows.items() if s == "resume")["result"], "killed after update [0-9]+, resumed with update ([2-9]|10): the same bits")
        self.assertEqual(self.dump, ["module_0001.after_optimizations.txt.gz"])
        self.assertIn("logs/base.log", self.names)
        self.assertTrue(done.stdout.decode().splitlines()[-1].startswith("failures: 1; "))

    def test_runs_one_step_alone(self):
        done, rows = self.run_kit("--only", "news")
        self.assertEqual(done.returncode, 0, done.stdout.decode())
        self.assertEqual([step for step, _ in rows], ["news"])
        self.assertEqual(self.dump, None)


class Search(unittest.TestCase):
    def test_takes_the_plugin_that_the_driver_can_serve(self):
        with tempfile.TemporaryDirectory() as folder:
            sites = [folder + "/a", folder + "/b"]
            twelve = pathlib.Path(sites[0], "jax_plugins/xla_cuda12/xla_cuda_plugin.so")
            thirteen = pathlib.Path(sites[1], "jax_plugins/xla_cuda13/xla_cuda_plugin.so")
            self.assertEqual(device_kit.find_plugin("gpu", sites, "580.1"), None)
            for file in (twelve, thirteen):
                file.parent.mkdir(parents=True)
                file.write_text("")
            self.assertEqual(device_kit.find_plugin("gpu", sites, "580.159.04"), str(thirteen))
            self.assertEqual(device_kit.find_plugin("gpu", sites, "535.86"), str(twelve))
            self.assertEqual(device_kit.find_plugin("xla-cpu", sites, ""), None)

    def test_asks_every_python_for_its_packages(self):
        with tempfile.TemporaryDirectory() as folder:
            packages = pathlib.Path(folder, "packages")
            (packages / "jax").mkdir(parents=True)
            pythons = {"/a/python3": [folder], "/b/python3": [folder, str(packages)]}
            self.assertEqual(device_kit.python_with(pythons, "jax"), "/b/python3")
            self.assertEqual(device_kit.python_with(pythons, "jax", "jaxlib"), None)
            self.assertIn(sys.executable, device_kit.find_pythons())


if __name__ == "__main__":
    unittest.main()
