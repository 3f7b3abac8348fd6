"""Types scripts/train-cloud-cpu.sh, -gpu.sh and -tpu.sh as a user would, against a gcloud that answers as the real one.

With a project and a bucket the lines that run are those that --dry-run prints, and berth takes their arguments. Where something is
absent, off or not permitted, the script says so in one sentence with the line that makes it, before any machine is paid for.

    cloud_commands.py BERTH
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../support"))
from fake_gcloud import ERRORS, JOB  # noqa: E402
from installed import REPOSITORY, Installed  # noqa: E402

DEVICES = ("cpu", "gpu", "tpu")
READY = {"project": "my-project", "account": "me@example.com"}
REGISTRY = "us-central1-docker.pkg.dev/my-project/berth/"
IMAGES = {"cpu": REGISTRY + "nlp:latest", "gpu": REGISTRY + "nlp-gpu:latest", "tpu": REGISTRY + "nlp-tpu:latest"}
IN = " --project my-project"
ME = " --member user:me@example.com --role roles/"
JOBS_ACCOUNT = "berth@my-project.iam.gserviceaccount.com"
VERTEX, TPU, TPU_QUOTA = "aiplatform.googleapis.com", "tpu.googleapis.com", "TPUV5sLitepodPerProjectPerZoneForTPUAPI"
REPOSITORY_LINE = "artifacts repositories create berth --repository-format docker --location us-central1" + IN
BUCKET_LINE = "storage buckets create gs://my-project-berth --location us-central1" + IN
BUILD_LINE = "builds submit --config cloudbuild.yaml --substitutions _TARGET=%s" + IN + " ."
ENABLE_LINE = "services enable" + IN + " artifactregistry.googleapis.com cloudbuild.googleapis.com storage.googleapis.com "
ROLE_LINE = "projects add-iam-policy-binding my-project" + ME
BUCKET_ROLE_LINE = "storage buckets add-iam-policy-binding gs://my-project-berth" + ME
ACT_AS_LINE = "iam service-accounts add-iam-policy-binding " + JOBS_ACCOUNT + IN + ME
QUOTA_LINE = "beta quotas preferences create --service %s" + IN + " --dimensions %s --preferred-value 1 --quota-id %s"

# What is wrong, the script that notices it, its exit code, what its sentence says, and the line of gcloud in it.
REFUSALS = (
    ("expired", "cpu", 4, "not logged in", "auth login"),
    ("project", "cpu", 4, "no project my-project", "config set project PROJECT"),
    ("repository", "gpu", 4, "no repository berth", REPOSITORY_LINE),
    ("image", "cpu", 4, "no image " + IMAGES["cpu"], BUILD_LINE % "runtime"),
    ("image", "gpu", 4, "no image " + IMAGES["gpu"], BUILD_LINE % "runtime-gpu"),
    ("image", "tpu", 4, "no image " + IMAGES["tpu"], BUILD_LINE % "runtime-tpu"),
    ("registry off", "cpu", 4, "artifactregistry.googleapis.com is off", ENABLE_LINE + VERTEX),
    ("registry denied", "cpu", 4, "artifactregistry.repositories.get", ROLE_LINE + "artifactregistry.reader"),
    ("bucket", "cpu", 4, "no bucket gs://my-project-berth", BUCKET_LINE),
    ("bucket", "tpu", 4, "no bucket gs://my-project-berth", BUCKET_LINE),
    ("bucket denied", "gpu", 4, "storage.objects.list", BUCKET_ROLE_LINE + "storage.objectUser"),
    ("no billing", "cpu", 4, "no active billing account", "billing projects link my-project --billing-account ACCOUNT"),
    ("vertex off", "gpu", 4, VERTEX + " is off", ENABLE_LINE + VERTEX),
    ("vertex denied", "cpu", 4, "aiplatform.customJobs.create", ROLE_LINE + "aiplatform.user"),
    ("act as", "cpu", 4, "may not run jobs as " + JOBS_ACCOUNT, ACT_AS_LINE + "iam.serviceAccountUser"),
    ("vertex quota", "gpu", 4, "nvidia_l4_gpus", QUOTA_LINE % (VERTEX, "region=us-central1", "CustomModelTrainingQuota")),
    ("machine", "cpu", 2, "Machine type", ""),
    ("unavailable", "cpu", 10, "try again", ""),
    ("tpu off", "tpu", 4, TPU + " is off", ENABLE_LINE + TPU + " compute.googleapis.com"),
    ("tpu denied", "tpu", 4, "tpu.nodes.create", ROLE_LINE + "tpu.admin"),
    ("tpu quota", "tpu", 4, TPU_QUOTA, QUOTA_LINE % (TPU, "zone=us-west4-a", TPU_QUOTA)),
    ("tpu capacity", "tpu", 10, "no free machine", ""),
)

# Arguments that are refused before anything is asked.
BAD = (
    ("cpu", ["--region", "us-central"], "--region us-central"),
    ("cpu", ["--region"], "--region needs a value"),
    ("cpu", ["--bucket="], "--bucket needs a value"),
    ("cpu", ["--name", "My job"], "--name My job"),
    ("cpu", ["--project", "123456789012"], "123456789012 is not the id"),
    ("cpu", ["--project", "example.com:research"], "belongs to a domain"),
    ("cpu", ["--job-dir", "runs/1"], "--job-dir runs/1 would be lost"),
    ("tpu", ["--job_dir=/tmp/x"], "--job-dir /tmp/x would be lost"),
    ("cpu", ["train.csv"], "train.csv is neither"),
    ("cpu", ["--label-names", "a@@b"], "a@@b"),
    ("gpu", ["--gpus", "many"], "--gpus many"),
    ("tpu", ["--zone", "us-west4"], "--zone us-west4"),
)


class Commands(Installed):
    def __init__(self, binary):
        super().__init__(binary)
        fake = os.path.join(REPOSITORY, "tests/support/fake_gcloud.py")
        for name, line in (("gcloud", "exec /usr/bin/python3 %s" % shlex.quote(fake)), ("plain", "")):
            # Only the programs that a Mac has, too, and no gcloud of this machine.
            for program in ("basename", "bash", "cat", "dirname", "grep", "mktemp", "rm", "sed", "tee"):
                os.makedirs(self.path(name), exist_ok=True)
                os.symlink(shutil.which(program), os.path.join(self.path(name), program))
            if line:
                os.chmod(self.write(name + "/gcloud", '#!/bin/bash\n%s "$@"\n' % line), 0o755)

    def type(self, device, *arguments, state=READY, variables=(), programs="gcloud"):
        """The exit code, the lines of gcloud that are printed, the calls, and everything that is shown."""
        self.write("calls", "")
        self.write("state", json.dumps(state))
        environment = dict(
            {"PATH": self.path(programs), "CALLS": self.path("calls"), "GCLOUD_STATE": self.path("state"), "TMPDIR": self.scratch},
            **dict(variables),
        )
        run = subprocess.run(
            ["/bin/bash", "scripts/train-cloud-%s.sh" % device, *arguments],
            cwd=REPOSITORY,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
            timeout=60,
        )
        lines = [shlex.split(line) for line in run.stdout.splitlines() if line.startswith("gcloud ")]
        calls = [line.split("\0")[:-1] for line in self.read("calls").decode().splitlines()]
        return run.returncode, lines, [["gcloud", *call] for call in calls], run.stdout + run.stderr

    def arguments_of_berth(self, device, lines):
        (line,) = [line for line in lines if "ssh" in line or "--args" in line]
        if device == "tpu":
            words = shlex.split(line[line.index("--command") + 1])
            return words[words.index("--cache-dir=/cache") + 1 :]
        separated = line[line.index("--args") + 1]
        self.check(separated.startswith("^@@^"), separated)
        return separated[4:].split("@@")


def explain(test, what, arguments):
    """berth explain parses arguments as berth would, and reads no file."""
    run = subprocess.run(
        [test.berth, "explain", "berth", *arguments], env=test.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    test.check(run.returncode == 0, what, arguments, run.stdout.decode())


def check_alike(test, what, device, arguments, **how):
    """A dry run prints the lines that run, and runs none. Gives the lines."""
    code, printed, called, shown = test.type(device, "--dry-run", *arguments, **how)
    test.check(code == 0 and not called, what, "in a dry run:", code, called, shown)
    # The output is a shell script.
    syntax = subprocess.run(["bash", "-n"], input=shown.encode(), stderr=subprocess.PIPE)
    test.check(syntax.returncode == 0, what, "prints no shell lines:", syntax.stderr)
    printed = [[JOB if word == "JOB" else word for word in line] for line in printed]
    code, shown_lines, called, shown = test.type(device, *arguments, **how)
    test.check(code == 0, what, "ends with", code, shown)
    test.check(called == printed and shown_lines == printed, what, "runs", called, "and prints", printed, "and", shown_lines)
    explain(test, what, test.arguments_of_berth(device, printed))
    test.check("# machine: " in shown and "bills it" in shown, what, "does not tell the machine:", shown)
    return printed


def check_without_arguments(test):
    sample = ["--train-data-file=/job/data/df.pickle", "--epochs=5", "--batch-size=16"]
    machines = {"cpu": "machine-type=n2-standard-8", "gpu": "machine-type=g2-standard-8,accelerator-type=NVIDIA_L4,accelerator-count=1"}
    for device in DEVICES:
        lines = check_alike(test, device, device, [])
        test.check(all(line[line.index("--project") + 1] == "my-project" for line in lines), device, "has another project:", lines)
        test.check(lines[0][:5] == ["gcloud", "artifacts", "docker", "images", "describe"] and lines[0][5] == IMAGES[device], lines[0])
        test.check(lines[1][:5] == ["gcloud", "storage", "objects", "list", "gs://my-project-berth"], lines[1])
        expected = ["--device=" + device, *sample, "--job-dir=gs://my-project-berth/runs/berth-" + device]
        test.check(test.arguments_of_berth(device, lines) == expected, device, "has other arguments:", lines)
        verbs = [line[4] if device == "tpu" else line[3] for line in lines[2:]]
        if device == "tpu":
            test.check(verbs == ["describe", "create", "ssh", "delete"], device, verbs)
            test.check(IMAGES[device] in shlex.split(lines[4][lines[4].index("--command") + 1]), lines[4])
        else:
            test.check(verbs == ["create", "stream-logs", "describe"], device, verbs)
            pool = lines[2][lines[2].index("--worker-pool-spec") + 1]
            test.check(pool == machines[device] + ",replica-count=1,container-image-uri=" + IMAGES[device], device, pool)
        _, _, _, shown = test.type(device)
        test.check("gcloud storage ls gs://my-project-berth/runs/berth-%s/" % device in shown, device, "does not tell the results:", shown)
    # What cloudbuild.yaml pushes by default is what the scripts run.
    with open(os.path.join(REPOSITORY, "cloudbuild.yaml")) as file:
        values = dict(yaml.safe_load(file)["substitutions"], PROJECT_ID="my-project")
    registry = re.sub(r"\$\{(\w+)\}", lambda found: values[found.group(1)], values["_REGISTRY"])
    test.check(registry + "/" == REGISTRY, "cloudbuild.yaml pushes to", registry)


def check_options(test):
    own = ["--train-data-file", "gs://data/a,b.csv", "--job_dir=gs://other/runs/1", "--label-names", "a,b c", "--batch-size", "32"]
    for device in DEVICES:
        lines = check_alike(test, device + " with flags", device, own)
        test.check(test.arguments_of_berth(device, lines) == ["--device=" + device, *own], device, "changes the arguments:", lines)
        test.check(lines[1][4] == "gs://other", device, "looks at another bucket:", lines[1])
        # The image as the first word, and options between flags of berth.
        image = "europe-west4-docker.pkg.dev/your-project/models/nlp:v1"
        settings = ["--region", "europe-west4", "--bucket=gs://b/", "--spot", "--service-account", "a@b.iam.gserviceaccount.com"]
        lines = check_alike(test, device + " with options", device, [image, *own[:2], *settings, "--name", "news", *own[3:]])
        test.check(lines[0][5] == image, device, lines[0])
        arguments = test.arguments_of_berth(device, lines)
        test.check(arguments == ["--device=" + device, "--job-dir=gs://b/runs/news", *own[:2], *own[3:]], device, arguments)
        (create,) = [line for line in lines if "create" in line]
        test.check(create[create.index("--service-account") + 1] == "a@b.iam.gserviceaccount.com", create)
        if device == "tpu":
            test.check("--spot" in create and create[5] == "news", create)
        else:
            test.check(create[create.index("--region") + 1] == "europe-west4", create)
            test.check(create[create.index("--display-name") + 1] == "news", create)
            with open(create[create.index("--config") + 1]) as file:
                test.check(yaml.safe_load(file)["scheduling"] == {"strategy": "SPOT"}, device, "has another configuration")
        # The line that builds such an image names it.
        code, _, _, shown = test.type(device, image, state=dict(READY, wrong="image"))
        test.check(code == 4 and ",_IMAGE=%s,_TAG=v1 " % image[:-3] in shown, shown)
        # The repository of such an image is made in its own project.
        code, _, _, shown = test.type(device, image, state=dict(READY, wrong="repository"))
        line = "gcloud artifacts repositories create models --repository-format docker --location europe-west4 --project your-project"
        test.check(code == 4 and shown.rstrip().endswith(line), shown)
        # An image in another registry is not looked for, and a word after -- is a flag of berth.
        lines = check_alike(test, device, device, ["--image", "docker.io/me/nlp", "--", "--dry-run"])
        test.check(lines[0][1] == "storage" and test.arguments_of_berth(device, lines)[-1] == "--dry-run", lines)
        code, _, _, shown = test.type(device, "--help")
        test.check(code == 0 and "--service-account ACCOUNT" in shown and "set -e" not in shown, "--help prints", shown)
    lines = check_alike(test, "machines", "gpu", ["--machine", "a2-highgpu-1g", "--gpu", "NVIDIA_TESLA_A100", "--gpus=2"])
    test.check("machine-type=a2-highgpu-1g,accelerator-type=NVIDIA_TESLA_A100,accelerator-count=2," in str(lines), lines)
    lines = check_alike(test, "other files", "cpu", ["--mode", "predict", "--predict-data-file", "gs://b/rows.csv"])
    test.check("df.pickle" not in str(lines), "--mode predict trains on the sample:", lines)
    # --project, PROJECT_ID, then gcloud's own order.
    sources = [({}, "my-project"), ({"CLOUDSDK_CORE_PROJECT": "core-project"}, "core-project")]
    sources.append(({"CLOUDSDK_CORE_PROJECT": "core-project", "PROJECT_ID": "given-project"}, "given-project"))
    for variables, project in sources:
        lines = check_alike(test, project, "cpu", [], variables=variables)
        test.check("gs://%s-berth" % project in lines[1], variables, lines[1])
    lines = check_alike(test, "--project", "cpu", ["--project", "flag-project"], variables=sources[-1][0])
    test.check("gs://flag-project-berth" in lines[1], lines[1])


def check_refusals(test):
    test.check({each[0] for each in REFUSALS} == set(ERRORS), "untried errors:", set(ERRORS) - {each[0] for each in REFUSALS})
    for wrong, device, code, says, line in REFUSALS:
        arguments = ["--service-account", JOBS_ACCOUNT] if wrong == "act as" else []
        ended, _, called, shown = test.type(device, *arguments, state=dict(READY, wrong=wrong))
        sentence = shown.splitlines()[-1]
        test.check(ended == code and says in shown, wrong, "ends with", ended, shown)
        test.check(sentence.startswith("train-cloud-%s: " % device), wrong, "has another last line:", sentence)
        if code == 4:
            # gcloud's own text is not repeated.
            test.check("ERROR" not in shown, wrong, "shows", shown)
        if ERRORS[wrong][0] not in ("ai custom-jobs create", "compute tpus tpu-vm create"):
            test.check(not any("create" in call or "ssh" in call for call in called), wrong, "pays for a machine:", called)
        test.check(not any("ssh" in call for call in called), wrong, "goes on:", called)
        # A VM may have been made only where the answer does not exclude it.
        test.check(any("delete" in call for call in called) == (wrong == "tpu capacity"), wrong, called)
        if line:
            offered = sentence[sentence.rindex(": gcloud ") + 2 :] if ": gcloud " in sentence else ""
            # The line can be pasted.
            test.write("calls", "")
            test.write("state", json.dumps(READY))
            environment = {"PATH": test.path("gcloud"), "CALLS": test.path("calls"), "GCLOUD_STATE": test.path("state")}
            pasted = subprocess.run(["/bin/bash", "-c", offered], cwd=REPOSITORY, env=environment, stderr=subprocess.PIPE)
            last = test.read("calls").decode().splitlines()[-1:]
            test.check(pasted.returncode == 0 and last == [line.replace(" ", "\0") + "\0"], wrong, "offers", offered, pasted.stderr, last)
    for device in DEVICES:
        code, _, called, shown = test.type(device, state={"project": "my-project"})
        test.check(code == 4 and shown.endswith("log in: gcloud auth login\n") and len(called) == 1, "without a login:", code, shown)
        code, _, called, shown = test.type(device, state={"account": "me@example.com"})
        test.check(code == 2 and shown.endswith("gcloud config set project PROJECT\n") and not called, "without a project:", code, shown)
        code, _, _, shown = test.type(device, "--dry-run", state={})
        test.check(code == 2 and "no project is set" in shown, "a dry run without a project:", code, shown)
        code, _, _, shown = test.type(device, "--project", "my-project", programs="plain")
        test.check(code == 2 and "gcloud is not installed" in shown, "without gcloud:", code, shown)
        # A dry run needs neither gcloud nor a login where the project is given.
        code, lines, _, shown = test.type(device, "--dry-run", "--project", "my-project", programs="plain")
        test.check(code == 0 and len(lines) > 3, "a dry run without gcloud:", code, shown)
    for device, arguments, says in BAD:
        code, _, called, shown = test.type(device, *arguments)
        test.check(code == 2 and says in shown and not called and len(shown.splitlines()) == 1, arguments, code, shown, called)


def check_ends(test):
    """The exit code is that of berth."""
    status = "The replica workerpool0-0 exited with a non-zero status of %d. Termination reason: Error."
    for job, code, says in (
        (["JOB_STATE_FAILED", status % 3], 3, "status of 3"),
        (["JOB_STATE_FAILED", "Internal error occurred."], 1, "Internal error occurred."),
        (["JOB_STATE_CANCELLED", ""], 143, "was cancelled"),
        (["JOB_STATE_RUNNING", ""], 10, "stream-logs " + JOB),
    ):
        ended, _, _, shown = test.type("gpu", state=dict(READY, job=job))
        test.check(ended == code and says in shown.splitlines()[-1], job, "ends with", ended, shown)
    denied = 'docker: Error response from daemon: denied: Permission "artifactregistry.repositories.downloadArtifacts" denied on resource'
    lost = "ERROR: (gcloud.compute.tpus.tpu-vm.ssh) [/usr/bin/ssh] exited with return code [255]."
    for ssh, code, says in (
        ((14, "memory"), 14, "exit code 14"),
        ((125, denied), 4, "roles/artifactregistry.reader"),
        ((255, lost), 10, "resumes the job"),
    ):
        ended, lines, called, shown = test.type("tpu", state=dict(READY, ssh=ssh))
        test.check(ended == code and says in shown and ssh[1] in shown, ssh, "ends with", ended, shown)
        test.check("delete" in called[-1], ssh, "leaves the VM:", called)
    _, _, called, _ = test.type("tpu", "--keep")
    test.check("ssh" in called[-1], "--keep deletes the VM:", called)
    _, _, called, _ = test.type("tpu", state=dict(READY, vm=True))
    test.check(not any("create" in call for call in called), "creates a VM that exists:", called)


def main():
    with Commands(sys.argv[1]) as test:
        check_without_arguments(test)
        check_options(test)
        check_refusals(test)
        check_ends(test)
        test.finish()


main()
