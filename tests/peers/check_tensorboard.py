#!/usr/bin/env python3
"""Serves the summaries of two jobs with TensorBoard and asks each of its plugins for what it shows. One of the jobs is killed and resumed.

    python tests/peers/check_tensorboard.py BERTH

Needs tensorboard.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

from tensorboard import program

berth = os.path.abspath(sys.argv[1])
SAMPLE = pathlib.Path(__file__).parent.parent.parent / "examples" / "data" / "df.pickle"
FLAGS = ["--train-data-file", SAMPLE, "--epochs", "2", "--max-train-samples", "320", "--batch-size", "16", "--logging-steps", "1",
         "--save-steps", "5", "--log-histograms", "--learning-rate", "1e-3"]
PARAMETERS = "bert.encoder.layer.0/attention.self.query.weight"


def train(work, name, *more):
    subprocess.run([berth, *FLAGS, "--job-dir", name, *more], cwd=work, stderr=subprocess.DEVNULL, check=True)


def train_with_a_kill(work, name, *more):
    job = subprocess.Popen([berth, *FLAGS, "--job-dir", name, *more], cwd=work, stderr=subprocess.DEVNULL)
    heartbeat = pathlib.Path(work) / name / "checkpoints" / "step-00000015" / "MANIFEST.json"
    while not heartbeat.exists():
        time.sleep(0.05)
    job.send_signal(signal.SIGTERM)
    assert job.wait() == 143
    train(work, name, *more)


def ask(address, route, **parameters):
    query = urllib.parse.urlencode(parameters)
    with urllib.request.urlopen(f"{address}data/plugin/{route}?{query}") as answer:
        return json.load(answer)


def post(address, route, body):
    request = urllib.request.Request(f"{address}data/plugin/{route}", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def check_scalars(address, run):
    points = ask(address, "scalars/scalars", run=f"{run}/train", tag="loss")
    steps = [step for _, step, _ in points]
    assert steps == list(range(1, 41)), f"{run}: the curve has a gap or a double point: {steps}"
    accuracies = ask(address, "scalars/scalars", run=f"{run}/eval", tag="accuracy")
    assert [step for _, step, _ in accuracies] == [20, 40], accuracies
    epochs = ask(address, "scalars/scalars", run=f"{run}/eval", tag="epoch_accuracy")
    assert [step for _, step, _ in epochs] == [0, 1], epochs
    assert [value for *_, value in epochs] == [value for *_, value in accuracies]
    tags = ask(address, "scalars/tags")
    assert "evaluation_accuracy_vs_iterations" in tags[f"{run}/eval"] and "epoch_loss" in tags[f"{run}/train"], tags
    return accuracies[-1][2]


with tempfile.TemporaryDirectory() as work:
    train(work, "jobs/whole", "--seed", "1")
    train_with_a_kill(work, "jobs/resumed", "--seed", "2")
    board = program.TensorBoard()
    board.configure(argv=[None, "--logdir", os.path.join(work, "jobs"), "--port", "0", "--load_fast", "false"])
    address = board.launch()
    runs = {"whole/summaries": 1, "resumed/summaries": 2}
    deadline = time.time() + 60
    while time.time() < deadline and len(ask(address, "scalars/tags")) < 4:
        time.sleep(0.5)
    accuracy = {run: check_scalars(address, run) for run in runs}
    for run in runs:
        text = ask(address, "text/text", run=f"{run}/train", tag="settings")
        assert "learning-rate" in text[0]["text"], text
        histograms = ask(address, "histograms/histograms", run=f"{run}/train", tag=PARAMETERS)
        assert [step for _, step, _ in histograms] == [20, 40], [step for _, step, _ in histograms]
        counted = sum(count for _, _, count in histograms[-1][2])
        assert counted == 256 * 256, counted
    experiment = post(address, "hparams/experiment", {"hparamsLimit": 100})
    names = {info["name"] for info in experiment["hparamInfos"]}
    assert {"seed", "learning-rate", "batch-size"} <= names, names
    groups = post(address, "hparams/session_groups", {
        "allowedStatuses": ["STATUS_UNKNOWN", "STATUS_SUCCESS", "STATUS_FAILURE", "STATUS_RUNNING"], "startIndex": 0, "sliceSize": 10,
        "colParams": [{"metric": {"group": "eval", "tag": "accuracy"}, "order": "ORDER_UNSPECIFIED"}]})["sessionGroups"]
    assert len(groups) == len(runs), [group["name"] for group in groups]
    for group in groups:
        run = group["sessions"][0]["name"]
        assert group["hparams"]["seed"] == runs[run], group["hparams"]
        assert group["sessions"][0]["status"] == "STATUS_SUCCESS", group["sessions"]
        metrics = {(value["name"]["group"], value["name"]["tag"]): value["value"] for value in group["metricValues"]}
        assert metrics[("eval", "accuracy")] == accuracy[run], metrics
    print(f"scalars, text, histograms and HParams of {len(runs)} runs, one of them resumed; accuracies {sorted(accuracy.values())}")
