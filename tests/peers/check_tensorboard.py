#!/usr/bin/env python3
"""Serves the summaries of two jobs with TensorBoard and asks each of its plugins for what it shows. One of the jobs is killed and resumed.

    python tests/peers/check_tensorboard.py BERTH

Needs tensorboard, which brings Pillow along.
"""

import io
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

from PIL import Image
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


def check_classes(address, work, run):
    """Compares the PR curves and the picture of the confusion matrix with metrics.json."""
    evaluation = json.loads((pathlib.Path(work) / "jobs" / pathlib.Path(run).parent / "metrics.json").read_text())["eval"]
    matrix = evaluation["confusion_matrix"]
    labels = list(evaluation["per_class"])
    for index, label in enumerate(labels):
        curves = ask(address, "pr_curves/pr_curves", run=f"{run}/eval", tag=f"pr_curves/{label}")[f"{run}/eval"]
        assert [curve["step"] for curve in curves] == [20, 40], curves
        curve = curves[-1]
        support, examples = sum(matrix[index]), sum(map(sum, matrix))
        assert curve["thresholds"][1] == 0.005 and curve["recall"][0] == 1, curve
        assert (curve["true_positives"][0], curve["false_positives"][0]) == (support, examples - support), curve
        if len(labels) == 2:  # the class with more than half of the probability is predicted
            assert abs(curve["true_positives"][100] - matrix[index][index]) <= 1, (curve["true_positives"][100], matrix)
    images = ask(address, "images/images", run=f"{run}/eval", tag="confusion_matrix", sample=0)
    assert [image["step"] for image in images] == [20, 40], images
    with urllib.request.urlopen(f"{address}data/plugin/images/individualImage?{images[-1]['query']}") as answer:
        assert answer.headers["Content-Type"] == "image/png", answer.headers
        picture = Image.open(io.BytesIO(answer.read())).convert("RGB")
    cell = (picture.width - 28) // len(labels)
    for truth, row in enumerate(matrix):
        for guess, count in enumerate(row):
            red, *_ = picture.getpixel((28 + guess * cell, 28 + truth * cell))
            assert abs(red - (255 - 247 * count / sum(row))) <= 3, (truth, guess, red, row)
    tags = ask(address, "images/tags")[f"{run}/eval"]
    assert f"1 {labels[1]}" in tags["confusion_matrix"]["description"], tags


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
        check_classes(address, work, run)
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
    print(f"scalars, text, histograms, PR curves, confusion matrices and HParams of {len(runs)} runs, one of them resumed; accuracies {sorted(accuracy.values())}")
