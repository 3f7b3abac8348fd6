"""Runs berth in the environment of each platform that starts it, with the variables, arguments and files that the platform documents.

The results have to be those of a plain run.

    platforms.py BERTH FAKE_GCS_SERVER
"""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../support"))
import mounted_bucket  # noqa: E402
from installed import REPOSITORY, Installed, rows  # noqa: E402

FLAGS = ["--train-data-file=gs://bucket/rows.csv", "--epochs=2", "--batch-size=32", "--threads=2", "--device=cpu"]

# What Vertex AI sets for a custom job with one worker. The project is a number there.
VERTEX = {
    "CLOUD_ML_JOB_ID": "8613211226245791744",
    "CLOUD_ML_PROJECT_ID": "123456789012",
    "CLOUD_ML_REGION": "us-central1",
    "AIP_TF_PROFILER_PORT": "6009",
    "AIP_HTTP_HANDLER_PORT": "6010",
    "AIP_TENSORBOARD_API_URI": "https://us-central1-aiplatform.googleapis.com/",
    "AIP_TENSORBOARD_RESOURCE_NAME": "projects/123456789012/locations/us-central1/tensorboards/4501",
    "AIP_EXPERIMENT_NAME": "",
    "AIP_EXPERIMENT_RUN_NAME": "",
}
JOB = '"job":{"worker_pool_specs":[{"replica_count":1,"container_spec":{"image_uri":"nlp","args":["--epochs=2"]}}]}'
CLUSTER_SPEC = (
    '{"cluster":{"workerpool0":["127.0.0.1:2222"]},"environment":"cloud","task":{"type":"workerpool0","index":0%s},' + JOB + "}"
)
TF_CONFIG = '{"cluster":{"chief":["127.0.0.1:2222"]},"environment":"cloud","task":{"type":"chief","index":0%s},' + JOB + "}"


def vertex(base, trial=""):
    """The variables of a job whose output directory is `base`; with a trial, those of tuning."""
    of_trial = ',"trial":"%s"' % trial if trial else ""
    below = base + "/" + trial if trial else base
    variables = dict(
        VERTEX,
        CLUSTER_SPEC=CLUSTER_SPEC % of_trial,
        TF_CONFIG=TF_CONFIG % of_trial,
        AIP_MODEL_DIR=below + "/model/",
        AIP_CHECKPOINT_DIR=below + "/checkpoints/",
        AIP_TENSORBOARD_LOG_DIR=below + "/logs/",
    )
    if trial:
        variables["CLOUD_ML_TRIAL_ID"] = trial
    return variables


KUBERNETES = {
    "HOSTNAME": "berth-3",
    "JOB_COMPLETION_INDEX": "3",
    "KUBERNETES_PORT": "tcp://10.96.0.1:443",
    "KUBERNETES_PORT_443_TCP_ADDR": "10.96.0.1",
    "KUBERNETES_SERVICE_HOST": "10.96.0.1",
    "KUBERNETES_SERVICE_PORT": "443",
    "BERTH_PORT": "tcp://10.96.3.7:80",  # of a service with berth's name
}
# Kubeflow's Trainer on a node of 32 CPUs with numProcPerNode: auto, and what a PyTorchJob with nprocPerNode: "32" sets.
KUBEFLOW = {
    "PET_NNODES": "1",
    "PET_NPROC_PER_NODE": "32",
    "PET_NODE_RANK": "0",
    "PET_MASTER_ADDR": "berth-node-0-0.berth",
    "PET_MASTER_PORT": "29500",
    "PYTHONUNBUFFERED": "1",
    "MASTER_ADDR": "berth-master-0",
    "MASTER_PORT": "23456",
    "WORLD_SIZE": "32",
    "RANK": "0",
}


class Platforms(Installed):
    def __init__(self, binary, server):
        super().__init__(binary)
        self.process = subprocess.Popen([server, "--port-file", self.path("port"), "--bucket", "bucket"])
        while not os.path.exists(self.path("port")):
            time.sleep(0.01)
        self.emulator = {"STORAGE_EMULATOR_HOST": "127.0.0.1:" + self.read("port").decode().strip()}
        self.container = ["bash", os.path.join(REPOSITORY, "tests/support/in_container.sh"), self.scratch]
        if subprocess.run(self.container + ["true"], cwd=self.scratch, stderr=subprocess.DEVNULL).returncode != 0:
            print("SKIPPED: /gcs, /dev/termination-log and /tmp/hypertune (this sandbox mounts nothing)")
            self.container = []

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        super().__exit__()

    def request(self, path, body=None):
        address = "http://%s/%s" % (self.emulator["STORAGE_EMULATOR_HOST"], path)
        with urllib.request.urlopen(urllib.request.Request(address, body)) as answer:
            return answer.read()

    def put(self, text, name):
        self.request("upload/storage/v1/b/bucket/o?uploadType=media&name=" + name, text.encode())

    def get(self, name):
        """The bytes of an object, or b""."""
        try:
            return self.request("storage/v1/b/bucket/o/%s?alt=media" % urllib.parse.quote(name, safe=""))
        except urllib.error.HTTPError:
            return b""

    def run(self, what, arguments, variables=(), code=0, before=None):
        """Runs berth as a container's entry point. Returns its final report, which the termination message repeats."""
        run = subprocess.run(
            self.container + [self.berth, *arguments],
            env=self.environment(dict(self.emulator, **dict(variables))),
            cwd=self.scratch,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=120,
            preexec_fn=before,
        )
        lines = run.stderr.splitlines() or [b"{}"]
        self.check(run.returncode == code, what, "ends with", run.returncode, lines[-1][:600])
        self.log = run.stderr.decode()
        if self.container:
            message = self.read("termination-log")
            self.check(message == lines[-1] and len(message) <= 4096, what, "has another termination message:", message)
        return json.loads(lines[-1])

    def has(self, what, *names):
        for name in names:
            self.check(self.get(name), what, "lacks", name)

    def names(self, prefix):
        """The names of the objects that begin so."""
        return [item["name"] for item in json.loads(self.request("storage/v1/b/bucket/o?prefix=" + prefix)).get("items", [])]

    def same_weights(self, what, weights, other):
        self.check(weights == other and other, what, "has other weights than a plain run")


def check_custom_job(test, plain):
    test.run("a custom job", FLAGS, vertex("gs://bucket/base"))
    test.same_weights("a custom job", test.get("base/model/model.safetensors"), plain)
    test.has("a custom job", "base/job.json", "base/metrics.json", "base/checkpoints/best.json")
    for split in ("train", "eval"):
        test.check(test.names("base/logs/%s/events.out.tfevents." % split), "a custom job has no summaries in its logs", split)
    test.check(not test.names("base/summaries"), "a custom job has summaries elsewhere")
    # Vertex AI restarts workers, and users submit a job again.
    test.run("a custom job again", FLAGS, vertex("gs://bucket/base"))
    test.check("already finished" in test.log, "a custom job does not find what it has done")
    # A flag outranks the platform.
    test.run(
        "a custom job with --job-dir",
        FLAGS + ["--job-dir=gs://bucket/own", "--export-dir=gs://bucket/own/m"],
        vertex("gs://bucket/other"),
    )
    test.has("--job-dir", "own/m/model.safetensors", "own/job.json", "other/checkpoints/best.json")
    # A wrong argument costs no download and no time, and says the same each time.
    first, second = (test.run("a typo", FLAGS + ["--epoch=3"], vertex("gs://bucket/base"), 2) for _ in range(2))
    test.check(first["what"] == second["what"] and "the nearest is --epochs" in first["hint"], "a typo:", first)


def check_tuning(test):
    """The study and the arguments are those of vertex/tuning-job.yaml."""
    with open(os.path.join(REPOSITORY, "vertex/tuning-job.yaml")) as file:
        study = yaml.safe_load(file)
    given = study["trialJobSpec"]["workerPoolSpecs"][0]["containerSpec"]["args"]
    given = [argument.replace("gs://BUCKET/data/train.csv", "gs://bucket/rows.csv") for argument in given]
    # Vertex AI appends parameters as separate words, and writes discrete values as doubles.
    chosen = {"learning_rate": "0.0001", "batch_size": "16.0"}
    test.check([each["parameterId"] for each in study["studySpec"]["parameters"]] == list(chosen), "the study has other parameters")
    appended = [word for name, value in chosen.items() for word in ("--" + name, value)]
    variables = dict(vertex("gs://bucket/study", "3"), CLOUD_ML_HP_METRIC_FILE=test.path("hypertune/output.metrics"))
    begin = time.time()
    test.run("a trial", ["--batch-size=64", *given, *appended], variables)
    test.has("a trial", "study/3/model/model.safetensors", "study/3/job.json", "study/3/checkpoints/best.json")
    settings = json.loads(test.get("study/3/job.json"))["settings"]
    test.check(settings["batch-size"] == "16" and float(settings["learning-rate"]) == 1e-4, "a trial's parameters:", settings)

    # The lines are those of the Python package cloudml-hypertune: sorted keys, and texts but for the time.
    (metric,) = [each["metricId"] for each in study["studySpec"]["metrics"]]
    text = test.read("hypertune/output.metrics").decode()
    lines = text.splitlines()
    test.check(len(lines) == int(given[1].split("=")[1]), "a trial reports", len(lines), "evaluations")
    for line in lines:
        record = json.loads(line)
        test.check(line == json.dumps(record, sort_keys=True), "another form than json.dumps:", line)
        test.check(
            set(record) == {"checkpoint_path", "global_step", metric, "timestamp", "trial"}, "a record with other keys:", line
        )
        test.check(begin < record.pop("timestamp") < time.time() and all(type(value) is str for value in record.values()), line)
        test.check(record["trial"] == "3" and record["checkpoint_path"] == "", line)
    # The service may name neither file nor trial.
    if test.container:
        test.run("tuning without a file", FLAGS + ["--hypertune-metric=loss"], vertex("gs://bucket/unnamed"))
        record = json.loads(test.read("tmp/hypertune/output.metrics").splitlines()[-1])
        test.check(record["trial"] == "0" and float(record["loss"]) > 0, "tuning without a file:", record)


def check_legacy(test, plain):
    """AI Platform Training appended --job-dir, and told the trial in TF_CONFIG alone."""
    variables = {
        "TF_CONFIG": TF_CONFIG % "",
        "CLOUD_ML_JOB_ID": "berth_1",
        "TPU_CONFIG": '{"tpu_node_name": "t", "zone": "z", "project": "p"}',
    }
    test.run("AI Platform", FLAGS + ["--job-dir", "gs://bucket/legacy/"], variables)
    test.same_weights("AI Platform", test.get("legacy/model/model.safetensors"), plain)
    variables["TF_CONFIG"] = TF_CONFIG % ',"trial":"7"'
    test.run("a trial of AI Platform", FLAGS + ["--job-dir", "gs://bucket/legacy", "--learning-rate", "1e-4"], variables)
    test.has("a trial of AI Platform", "legacy/7/model/model.safetensors")


def check_managed_data(test):
    """A managed data set: a pattern for each split, and one object for each text."""
    for split, count in {"training": 24, "validation": 8, "test": 8}.items():
        shards = ["", ""]
        for i, row in enumerate(rows(count).splitlines()[1:]):
            text, label = row.split(",")
            name = "texts/%s-%d.txt" % (split, i)
            test.put(text + "\n", name)
            shards[i % 2] += (
                json.dumps(
                    {
                        "textContent": "gs://bucket/" + name,
                        "classificationAnnotations": [{"displayName": label}],
                        "dataItemResourceLabels": {"aiplatform.googleapis.com/ml_use": split},
                    }
                )
                + "\n"
            )
        for i, shard in enumerate(shards):
            test.put(shard, "managed/dataset-1-text-2/%s-%05d-of-00002.jsonl" % (split, i))
    place = "gs://bucket/managed/dataset-1-text-2/%s-*.jsonl"
    data = {
        "AIP_DATA_FORMAT": "jsonl",
        "AIP_TRAINING_DATA_URI": place % "training",
        "AIP_VALIDATION_DATA_URI": place % "validation",
        "AIP_TEST_DATA_URI": place % "test",
    }
    test.run("a managed data set", FLAGS[1:], dict(vertex("gs://bucket/pipeline"), **data))
    metrics = json.loads(test.get("pipeline/metrics.json") or "{}")
    test.check(metrics.get("eval", {}).get("examples") == 8, "a managed data set:", metrics)
    config = json.loads(test.get("pipeline/model/config.json") or "{}")
    test.check(
        sorted(config.get("id2label", {}).values()) == ["science", "sport"],
        "a managed data set has the labels",
        config.get("id2label"),
    )
    test.check("training on 24 examples" in test.log, "a managed data set trains on other rows:", test.log[:2000])
    # Tables come as BigQuery tables.
    table = dict(
        data,
        AIP_DATA_FORMAT="bigquery",
        AIP_TRAINING_DATA_URI="bq://project.dataset_1_text_2.training",
        AIP_VALIDATION_DATA_URI="bq://project.dataset_1_text_2.validation",
        AIP_TEST_DATA_URI="bq://project.dataset_1_text_2.test",
    )
    report = test.run("a table of BigQuery", FLAGS[1:], dict(vertex("gs://bucket/table"), **table), 2)
    test.check(
        "bq://" in report["what"] + report["where"] and "BigQuery" in report["what"] + report["hint"],
        "a table of BigQuery:",
        report,
    )


def check_gcs_folder(test, plain):
    """Vertex AI mounts buckets below /gcs, and its samples replace gs:// by that."""
    test.write("gcs/bucket/rows.csv", rows(120))
    variables = {name: value.replace("gs://", "/gcs/") for name, value in vertex("gs://bucket/mounted").items()}
    test.run("/gcs", ["--train-data-file=/gcs/bucket/rows.csv", *FLAGS[1:]], variables, before=mounted_bucket.enter)
    test.same_weights("/gcs", test.read("gcs/bucket/mounted/model/model.safetensors"), plain)


def main():
    with Platforms(*sys.argv[1:]) as test:
        test.put(rows(120), "rows.csv")
        test.run("a plain run", FLAGS + ["--job-dir=gs://bucket/plain"])
        plain = test.get("plain/model/model.safetensors")

        check_custom_job(test, plain)
        check_tuning(test)
        check_legacy(test, plain)
        check_managed_data(test)
        if test.container:
            check_gcs_folder(test, plain)
        for what, variables in {"an Indexed Job": KUBERNETES, "Kubeflow": KUBEFLOW}.items():
            place = what.replace(" ", "-")
            without = [flag for flag in FLAGS if not flag.startswith("--threads")]
            test.run(what, without + ["--job-dir=gs://bucket/" + place], variables)
            test.same_weights(what, test.get(place + "/model/model.safetensors"), plain)
            test.check(
                ", %d thread" % len(os.sched_getaffinity(0)) in test.log, what, "changes the number of threads:", test.log[:2000]
            )
        test.finish()


main()
