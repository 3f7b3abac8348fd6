"""Checks what a Google Cloud project gets from this repository, without a project.

The files in vertex/ have only fields that Vertex AI knows, the scripts print gcloud lines whose arguments berth takes, cloudbuild.yaml builds
with and without a commit, and what docs/kubernetes.md and docs/vertex.md ask to paste leaves no name to fill in and changes no file
of the repository.

    cloud.py BERTH
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap

import jsonschema
import yaml

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../support"))
from installed import REPOSITORY, Installed  # noqa: E402

PACKAGE = "google.cloud.aiplatform.v1."
KINDS = {
    "custom-job.yaml": "CustomJobSpec",
    "spot.yaml": "CustomJobSpec",
    "tuning-job.yaml": "HyperparameterTuningJob",
    "workers.yaml": "CustomJobSpec",
}


def load(name):
    with open(os.path.join(REPOSITORY, name)) as file:
        return yaml.safe_load(file)


def complaints(content, kind):
    schemas = load("tests/testdata/vertex/schemas.json")
    validator = jsonschema.Draft202012Validator(dict(schemas, **{"$ref": "#/$defs/" + PACKAGE + kind}))
    return [error.message for error in validator.iter_errors(content)]


def explain(test, what, arguments):
    """berth explain parses arguments as berth would, and reads no file."""
    run = subprocess.run(
        [test.berth, "explain", "berth", *arguments], env=test.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    test.check(run.returncode == 0, what, arguments, run.stdout.decode())


def check_files(test):
    test.check(sorted(KINDS) == sorted(os.listdir(os.path.join(REPOSITORY, "vertex"))), "other files in vertex/")
    for name, kind in KINDS.items():
        test.check(not complaints(load("vertex/" + name), kind), name, complaints(load("vertex/" + name), kind))
    job, tuning = load("vertex/custom-job.yaml"), load("vertex/tuning-job.yaml")
    test.check(complaints(dict(job, schedulling={}), "CustomJobSpec"), "the schema accepts a typo")
    test.check(complaints({"scheduling": {"strategy": "CHEAP"}}, "CustomJobSpec"), "the schema accepts an unknown strategy")
    for name, spec in (("custom-job.yaml", job), ("tuning-job.yaml", tuning["trialJobSpec"])):
        (pool,) = spec["workerPoolSpecs"]
        test.check(pool["replicaCount"] == 1, name, "has several workers")
        # AIP_MODEL_DIR gives the job directory.
        explain(test, name, pool["containerSpec"]["args"] + ["--job-dir=gs://BUCKET/runs"])
    workers = load("vertex/workers.yaml")["workerPoolSpecs"]
    test.check(workers[0]["replicaCount"] == 1, "workers.yaml has several machines of rank 0")
    for pool in workers:
        explain(test, "workers.yaml", pool["containerSpec"]["args"] + ["--job-dir=gs://BUCKET/runs"])


def check_scripts(test):
    """What --dry-run prints is a gcloud line. A gcloud in its place gets the same words."""
    gcloud = test.write(
        "bin/gcloud",
        '#!/bin/bash\n[[ " $* " != *" describe "* ]] || exit 1\n'
        'printf "%s\\0" "$@" >>"$CALLS"\nprintf "\\n" >>"$CALLS"\necho JOB\n',
    )
    image = "us-central1-docker.pkg.dev/PROJECT/berth/nlp"
    os.chmod(gcloud, 0o755)
    given = [
        "--train-data-file",
        "gs://BUCKET/data/train.csv",
        "--job-dir=gs://BUCKET/runs/1",
        "--label-names",
        "a,b c",
        "--batch-size",
        "32",
    ]
    for device, settings in (
        ("cpu", {}),
        ("cpu", {"SPOT": "yes", "SERVICE_ACCOUNT": "berth@PROJECT.iam.gserviceaccount.com"}),
        ("gpu", {}),
        ("tpu", {}),
        ("tpu", {"SPOT": "yes"}),
    ):
        script = os.path.join(REPOSITORY, "scripts/train-cloud-%s.sh" % device)
        environment = dict(test.environment(settings), PATH=test.path("bin") + ":" + os.environ["PATH"], CALLS=test.path("calls"))
        test.write("calls", "")

        def run(*more):
            return subprocess.run(
                ["bash", script, *more, image, *given], env=environment, stdout=subprocess.PIPE, check=True, universal_newlines=True
            ).stdout

        printed = [shlex.split(line) for line in run("--dry-run").splitlines()]
        test.check(
            not test.read("calls") and all(line[0] == "gcloud" for line in printed), device, "a dry run does something:", printed
        )
        run()
        called = [line.split("\0")[:-1] for line in test.read("calls").decode().splitlines()]
        called_lines = [["gcloud", *line] for line in called]
        test.check(called_lines == printed, device, "runs", called_lines, "and prints", printed)
        if device == "tpu":
            (line,) = [line for line in printed if "ssh" in line]
            words = shlex.split(line[line.index("--command") + 1])
            arguments = words[words.index(image) + 1 :]
        else:
            line = printed[0]
            separated = line[line.index("--args") + 1]
            test.check(separated.startswith("^@@^"), separated)
            arguments = separated[4:].split("@@")
            if "--config" in line:
                with open(line[line.index("--config") + 1]) as file:
                    test.check(yaml.safe_load(file)["scheduling"] == {"strategy": "SPOT"}, device, "has another configuration")
        test.check(arguments[-len(given) :] == given, device, "changes the arguments:", arguments)
        explain(test, device, arguments)
        test.check(
            ("SPOT" in settings) == ("--config" in line if device != "tpu" else any("--spot" in each for each in printed)),
            device,
            printed,
        )


def check_build(test):
    """Substitutes as Cloud Build does, and puts a docker, a git that knows one commit and a clock in place of the real ones."""
    build = load("cloudbuild.yaml")
    for program, text in (
        ("docker", 'echo "$@" >>"$CALLS"'),
        ("git", '[ "$*" = "log -1 --format=%ct c0ffee" ] && echo 1700000000'),
        ("date", 'if [ "$*" = +%s ]; then echo 1800000000; else exec /usr/bin/date "$@"; fi'),
    ):
        os.chmod(test.write("bin/" + program, "#!/bin/bash\n" + text + "\n"), 0o755)
    (step,) = build["steps"]
    test.check(step["entrypoint"] == "bash", "cloudbuild.yaml has another step:", step)
    of_commit, of_build = ("2023-11-14T22:13:20Z", 1700000000), ("2027-01-15T08:00:00Z", 1800000000)
    for given, tag, moment in (
        ({"COMMIT_SHA": "c0ffee"}, "c0ffee", of_commit),
        ({}, "build-42", of_build),
        ({"_REVISION": "abc123"}, "abc123", of_build),
        ({"COMMIT_SHA": "c0ffee", "_REVISION": "abc123"}, "c0ffee", of_commit),
    ):
        values = {"COMMIT_SHA": "", "BUILD_ID": "42", **build["substitutions"], **given, "_IMAGE": "HOST/nlp"}
        arguments = []
        for argument in step["args"]:
            argument = argument.replace("$$", "\0")
            for name in sorted(values, key=len, reverse=True):
                argument = argument.replace("$" + name, values[name]).replace("${%s}" % name, values[name])
            arguments.append(argument.replace("\0", "$"))
        test.write("calls", "")
        environment = {"PATH": test.path("bin") + ":" + os.environ["PATH"], "CALLS": test.path("calls")}
        code = subprocess.run(["bash", *arguments], env=environment).returncode
        expected = (
            "build --target runtime --build-arg REVISION=%s --build-arg CREATED=%s --build-arg SOURCE_DATE_EPOCH=%d"
            " -t HOST/nlp:%s -t HOST/nlp:latest .\n" % (tag, *moment, tag)
            + "push HOST/nlp:%s\npush HOST/nlp:latest\n" % tag
        )
        test.check(
            code == 0 and test.read("calls").decode() == expected, "cloudbuild.yaml with", given, test.read("calls").decode()
        )


def pasted(page):
    """The shell lines of a page. Other code begins with a key and a colon."""
    with open(os.path.join(REPOSITORY, page)) as file:
        blocks = re.findall(r"(?:^    .*\n)+", file.read(), re.M)
    return "".join(textwrap.dedent(block) for block in blocks if not block.startswith("    apiVersion:"))


def check_pages(test):
    """Pastes all of a page, in a copy of what it names. The programs of the cloud only say yes, and kubectl also renders."""
    kubectl = textwrap.dedent(
        """\
        #!/bin/bash
        echo "$@" >>"$CALLS"
        case " $* " in
          *" tar "*) head -c 10240 /dev/zero ;;  # a tar that is asked for in a pod is empty
          *" -f - ") cat >filled.yaml ;;
          " kustomize "*) PYTHONPATH=%s /usr/bin/python3 -c 'import sys, yaml, kustomization as k
        yaml.dump_all(k.render(sys.argv[1]), sys.stdout)' "$2" ;;
        esac
        """
    ) % os.path.join(REPOSITORY, "tests/support")
    for tool in ("kubectl", "kind"):
        os.chmod(test.write("bin/" + tool, kubectl), 0o755)
    for page, folders, filled, asks in (
        ("docs/kubernetes.md", ["k8s"], ["filled.yaml"], "apply -k k8s/base"),
        ("docs/vertex.md", ["vertex", "scripts"], ["build/vertex/" + name for name in KINDS], "hp-tuning-jobs"),
    ):
        copy = test.path(page.replace("/", "-"))
        for folder in folders:
            shutil.copytree(os.path.join(REPOSITORY, folder), os.path.join(copy, folder))
        test.write(os.path.join(copy, "train.csv"), "")
        test.write("calls", "")
        environment = {"PATH": test.path("bin") + ":" + os.environ["PATH"], "CALLS": test.path("calls")}
        run = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", pasted(page)],
            env=environment,
            cwd=copy,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        test.check(run.returncode == 0, page, "cannot be pasted:", run.stdout.decode())
        calls = test.read("calls").decode().replace("\0", " ")
        test.check(asks in calls and "my-project" in calls, page, "calls", calls)
        for name in filled:
            left = re.findall("PROJECT|BUCKET", test.read(os.path.join(copy, name)).decode())
            test.check(not left, page, "leaves", left, "in", name)
        test.check(b"gs://my-bucket/" in test.read(os.path.join(copy, filled[0])), page, "fills in no bucket")
        for folder in folders:
            same = subprocess.run(["diff", "-r", os.path.join(REPOSITORY, folder), os.path.join(copy, folder)])
            test.check(same.returncode == 0, page, "changes files of", folder)


def main():
    with Installed(sys.argv[1]) as test:
        check_files(test)
        check_scripts(test)
        check_build(test)
        check_pages(test)
        test.finish()


main()
