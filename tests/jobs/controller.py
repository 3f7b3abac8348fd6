"""Runs the Jobs of k8s/ without a cluster.

A scripted controller reads limits and podFailurePolicy from the rendered manifests, starts berth with their arguments, disturbs it, and
decides as Kubernetes' Job controller does whether it is started again. It prints a table.

    controller.py BERTH
"""

import http.server
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../support"))
from installed import REPOSITORY, Installed, rows  # noqa: E402
from kustomization import render  # noqa: E402

GKE_SPOT_GRACE_S = 15  # what GKE leaves to pods on a Spot node, whatever they ask for
PATIENCE_S = 120


class TooLate(Exception):
    """A pod had done its work before it was disturbed."""


class Pod:
    """How one pod ended: its exit code, whether it was disrupted, and what the controller did."""

    def __init__(self, code, disrupted):
        self.code, self.disrupted, self.action = code, disrupted, None


def action_for(policy, pod, container):
    """The action of the first rule that matches; Count, if none does."""
    for rule in policy["rules"]:
        codes = rule.get("onExitCodes")
        if codes and codes["containerName"] == container:
            listed = pod.code in codes["values"]
            if listed if codes["operator"] == "In" else not listed:
                return rule["action"]
        for condition in rule.get("onPodConditions", []):
            holds = "True" if pod.disrupted and condition["type"] == "DisruptionTarget" else "Unknown"
            if condition.get("status", "True") == holds:
                return rule["action"]
    return "Count"


class Cluster:
    """Runs the Job of one folder of k8s/, with paths of this machine for volumes and gs://."""

    def __init__(self, test, folder, root, rows_file):
        self.test, self.root = test, root
        objects = render(os.path.join(REPOSITORY, "k8s", folder))
        (job,) = [each for each in objects if each["kind"] == "Job"]
        self.spec = job["spec"]
        pod = self.spec["template"]["spec"]
        (self.container,) = pod["containers"]
        self.is_spot = "cloud.google.com/gke-spot" in pod.get("nodeSelector", {})
        self.grace_s = min(pod["terminationGracePeriodSeconds"], GKE_SPOT_GRACE_S if self.is_spot else PATIENCE_S)
        self.places = {
            "data/df.pickle": rows_file,
            "gs://BUCKET/data/train.csv": rows_file,
            "gs://BUCKET/": root + "/bucket/",
            "/data/": root + "/data/",
            "/grid/": root + "/grid/",
        }
        for each in objects:
            for name, text in each["data"].items() if each["kind"] == "ConfigMap" else ():
                test.write("%s/grid/%s" % (root, name), text)

    def arguments(self, index):
        line = []
        for argument in self.container["args"]:
            argument = argument.replace("$(JOB_COMPLETION_INDEX)", str(index))
            flag, _, value = argument.partition("=")
            for place, here in self.places.items():
                if value.startswith(place):
                    value = here + value[len(place) :]
                    break
            line.append("%s=%s" % (flag, value))
        return line

    def job_dir(self, index=0):
        (place,) = [each for each in self.arguments(index) if each.startswith("--job-dir=")]
        return place.partition("=")[2]

    def run_pod(self, index, more, disturb):
        variables = {"JOB_COMPLETION_INDEX": str(index)} if self.spec.get("completionMode") == "Indexed" else {}
        with open(self.test.path("log.txt"), "w") as log:
            process = subprocess.Popen(
                [self.test.berth, *self.arguments(index), *more],
                env=self.test.environment(variables),
                cwd=self.root,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        try:
            disrupted = disturb(self, process, index) if disturb else False
        except TooLate:
            process.kill()
            process.wait()
            raise
        try:
            code = process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
            self.test.check(False, "a pod does not end:", self.arguments(index))
        if disturb and code == 0:
            raise TooLate("it ended well although it was disturbed")
        return Pod(128 - code if code < 0 else code, disrupted)

    def run(self, more=(), disturbances=(), index=0, before=lambda pods: None):
        """Runs one index of the Job. Returns its pods and the outcome.

        Each pod meets the disturbance of its number, if there is one, and `before` is told how many pods were before it.
        """
        per_index = "backoffLimitPerIndex" in self.spec
        limit = self.spec["backoffLimitPerIndex" if per_index else "backoffLimit"]
        pods, counted = [], 0
        while True:
            before(len(pods))
            pod = self.run_pod(index, more, disturbances[len(pods)] if len(pods) < len(disturbances) else None)
            pods.append(pod)
            if pod.code == 0:
                return pods, "Complete"
            pod.action = action_for(self.spec["podFailurePolicy"], pod, self.container["name"])
            if pod.action in ("FailJob", "FailIndex"):
                return pods, "Failed: PodFailurePolicy" if pod.action == "FailJob" else "index failed"
            counted += pod.action == "Count"
            if counted > limit:
                return pods, "Failed: BackoffLimitExceeded"

    def wait_for(self, index, process, holds):
        """Returns as soon as `holds(job directory)`. Throws TooLate if the pod ends before."""
        end = time.monotonic() + PATIENCE_S
        while process.poll() is None and time.monotonic() < end:
            if holds(self.job_dir(index)):
                return
            time.sleep(0.005)
        raise TooLate(self.test.read("log.txt")[-500:])


def has_checkpoint(job_dir):
    folder = os.path.join(job_dir, "checkpoints")
    steps = os.listdir(folder) if os.path.isdir(folder) else []
    return any(os.path.exists(os.path.join(folder, step, "MANIFEST.json")) for step in steps)


# Disturbances. They return whether the pod gets the condition DisruptionTarget.


def preempted(when):
    def disturb(cluster, process, index):
        cluster.wait_for(index, process, when)
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(cluster.grace_s)
        except subprocess.TimeoutExpired:
            process.kill()
        return True

    return disturb


def killed(when):
    def disturb(cluster, process, index):
        cluster.wait_for(index, process, when)
        process.kill()
        return False

    return disturb


class DataServer:
    """Serves one file, unless it is down and answers 503."""

    def __init__(self, content):
        self.is_down = True
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(503 if server.is_down else 200)
                self.send_header("Content-Length", "0" if server.is_down else str(len(content)))
                self.end_headers()
                if not server.is_down and self.command == "GET":
                    self.wfile.write(content)

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def url(self):
        return "http://127.0.0.1:%d/rows.csv" % self.http.server_address[1]

    def set_down(self, is_down):
        self.is_down = is_down


def main():
    with Installed(sys.argv[1]) as test:
        rows_file = test.write("rows.csv", rows(120))
        folders = iter(range(1000))
        table = []

        def cluster(folder):
            root = test.path("c%d" % next(folders))
            os.makedirs(root + "/data")
            return Cluster(test, folder, root, rows_file)

        def run_in_time(each, index, more, disturbances, before):
            """A busy machine may let a pod end before it is disturbed. The Job then begins anew."""
            for _ in range(10):
                try:
                    return each.run(more, disturbances, index, before)
                except TooLate as error:
                    print("again:", error)
                    shutil.rmtree(each.job_dir(index), ignore_errors=True)
            return [], "never disturbed in time"

        def expect(each, name, codes, outcome, counted=None, more=(), disturbances=(), index=0, before=lambda pods: None):
            pods, got = run_in_time(each, index, more, disturbances, before)
            count = sum(pod.action == "Count" for pod in pods)
            exits = [pod.code for pod in pods]
            table.append((name, exits, len(pods), count, got))
            test.check(exits == codes and got == outcome, name, exits, got, test.read("log.txt")[-600:])
            test.check(counted is None or count == counted, name, "counted", count, "failures")
            return each

        def weights(each, index=0):
            return test.read(each.job_dir(index) + "/model/model.safetensors")

        complete, refused = "Complete", "Failed: PodFailurePolicy"
        whole = expect(cluster("base"), "success", [0], complete)

        # What would recur is tried once.
        expect(cluster("base"), "wrong flag", [2], refused, more=["--batch-size=many"])
        bad_rows = test.write("bad.csv", "text,label\na,x\nb,y,z\n")
        expect(cluster("base"), "bad data", [3], refused, more=["--train-data-file=" + bad_rows])
        expect(cluster("base"), "absent file", [4], refused, more=["--train-data-file=" + test.path("absent.csv")])
        expect(whole, "another job's directory", [5], refused, more=["--learning-rate=1e-3"])
        expect(cluster("base"), "diverged", [13], refused, more=["--learning-rate=100", "--weight-decay=1", "--max-grad-norm=0"])
        expect(cluster("base"), "too little memory", [14], refused, more=["--memory-limit=20000000"])

        # What may pass is tried again, and counted.
        server = DataServer(test.read("rows.csv"))
        expect(
            cluster("base"),
            "data server is down twice",
            [10, 10, 0],
            complete,
            2,
            ["--train-data-file=" + server.url(), "--storage-retry-deadline=0.2"],
            before=lambda pods: server.set_down(pods < 2),
        )
        once = expect(cluster("base"), "killed, as for memory", [137, 0], complete, 1, disturbances=[killed(has_checkpoint)])
        test.check(weights(once) == weights(whole), "a killed job has other weights")
        limit = cluster("base").spec["backoffLimit"]
        always = [killed(lambda _: True)] * (limit + 1)
        expect(
            cluster("base"), "killed always", [137] * (limit + 1), "Failed: BackoffLimitExceeded", limit + 1, disturbances=always
        )

        # A preemption is not counted, whenever it comes.
        spot = cluster("overlays/spot")
        test.check(spot.is_spot and spot.grace_s == GKE_SPOT_GRACE_S, "the overlay spot does not ask for Spot nodes")
        expect(
            spot,
            "preempted at its start, then later",
            [143, 143, 0],
            complete,
            0,
            disturbances=[preempted(lambda _: True), preempted(has_checkpoint)],
        )
        test.check(weights(spot) == weights(whole), "a preempted job has other weights")
        # Without the condition the same exit code is a failure like others.
        test.check(action_for(spot.spec["podFailurePolicy"], Pod(143, False), "train") == "Count", "143 is not counted")

        # Each index of a sweep is a training of its own.
        sweep = cluster("overlays/sweep")
        test.check(sweep.spec["completions"] > 2, "a sweep of", sweep.spec["completions"])
        expect(sweep, "sweep, index 0", [0], complete, index=0)
        expect(sweep, "sweep, index 1, killed", [137, 0], complete, 1, disturbances=[killed(has_checkpoint)], index=1)
        alone = cluster("base")
        expect(alone, "its seed alone", [0], complete, more=["--seed=1"])
        test.check(weights(sweep, 1) == weights(alone), "an index has other weights than its seed alone")
        test.check(weights(sweep, 0) != weights(sweep, 1), "two seeds have the same weights")

        grid = cluster("overlays/grid")
        expect(grid, "grid, index 3", [0], complete, index=3)
        settings = test.read(grid.job_dir(3) + "/job.json")
        test.check(b'"5e-5"' in settings or b"5e-05" in settings, "the point of a grid is not used:", settings[:2000])
        test.write(grid.root + "/grid/1", "--learning-rate=fast\n")
        expect(grid, "grid, a typo in point 1", [2], "index failed", index=1)
        expect(grid, "grid, no such point", [4], "index failed", index=9)

        print("%-36s %-24s %8s %8s  %s" % ("case", "exit codes", "attempts", "counted", "outcome"))
        for name, exits, attempts, count, outcome in table:
            shown = " ".join(map(str, exits)) if len(exits) < 6 else "%d, %d times" % (exits[0], len(exits))
            print("%-36s %-24s %8d %8d  %s" % (name, shown, attempts, count, outcome))
        test.finish()


main()
