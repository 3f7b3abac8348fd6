"""Checks what a Google Cloud project gets from this repository, without a project.

The files in vertex/ have only fields that Vertex AI knows, cloudbuild.yaml builds and pushes each image with and without a commit, and what
docs/kubernetes.md and docs/vertex.md ask to paste leaves no name to fill in and changes no file of the repository. cloud_commands.py has
the scripts.

    cloud.py BERTH
"""

import os
import re
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
    # No registry can have it, so nobody runs an image that somebody else has pushed meanwhile.
    for pool in job["workerPoolSpecs"] + tuning["trialJobSpec"]["workerPoolSpecs"] + workers:
        image = pool["containerSpec"]["imageUri"]
        test.check(image == "REGION-docker.pkg.dev/PROJECT/berth/nlp@DIGEST", "vertex/ runs", image)
    test.check(workers[0]["replicaCount"] == 1, "workers.yaml has several machines of rank 0")
    for pool in workers:
        explain(test, "workers.yaml", pool["containerSpec"]["args"] + ["--job-dir=gs://BUCKET/runs"])


def substituted(text, values):
    """Cloud Build's substitution: $NAME and ${NAME} are values, and $$ is a dollar."""
    return re.sub(
        r"\$\$|\$(?:\{(\w+)\}|(\w+))", lambda found: "$" if found.group() == "$$" else values[found.group(1) or found.group(2)], text
    )


def check_build(test):
    """Substitutes as Cloud Build does, and puts a docker, a git that knows one commit and a clock in place of the real ones."""
    build = load("cloudbuild.yaml")
    test.check(build["options"]["dynamicSubstitutions"] is True, "the substitutions of cloudbuild.yaml do not refer to others")
    # gcloud shows no log that is in Cloud Logging alone.
    test.check("logging" not in build["options"], "gcloud builds submit shows no log")
    for program, text in (
        ("docker", 'echo "$@" >>"$CALLS"; [ "$1" != pull ] || { echo "Error response from daemon: $PULL" >&2; exit 1; }'),
        ("git", '[ "$*" = "log -1 --format=%ct c0ffee" ] && echo 1700000000'),
        ("date", 'if [ "$*" = +%s ]; then echo 1800000000; else exec /usr/bin/date "$@"; fi'),
    ):
        os.chmod(test.write("bin/" + program, "#!/bin/bash\n" + text + "\n"), 0o755)
    (step,) = build["steps"]
    test.check(step["entrypoint"] == "bash", "cloudbuild.yaml has another step:", step)
    # Cloud Build refuses a substitution that no step uses.
    unused = [name for name in build["substitutions"] if not re.search(r"\$\{?%s\b" % name, step["args"][1])]
    test.check(not unused, "cloudbuild.yaml does not use", unused)

    def run(given, pull):
        values = {"COMMIT_SHA": "", "BUILD_ID": "42", "PROJECT_ID": "my-project", **build["substitutions"], **given}
        for _ in values:
            values = {name: substituted(value, values) for name, value in values.items()}
        test.write("calls", "")
        environment = {"PATH": test.path("bin") + ":" + os.environ["PATH"], "CALLS": test.path("calls"), "PULL": pull}
        arguments = [substituted(argument, values) for argument in step["args"]]
        ended = subprocess.run(
            ["bash", *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True
        )
        return ended.returncode, test.read("calls").decode(), ended.stdout

    registry = "us-central1-docker.pkg.dev/my-project/berth/"
    absent = 'manifest for %snlp:absent-42 not found: manifest unknown: Failed to fetch "absent-42"' % registry
    of_commit, of_build = ("2023-11-14T22:13:20Z", 1700000000), ("2027-01-15T08:00:00Z", 1800000000)
    for given, target, image, tag, moment in (
        ({}, "runtime", registry + "nlp", "build-42", of_build),
        ({"COMMIT_SHA": "c0ffee"}, "runtime", registry + "nlp", "c0ffee", of_commit),
        ({"_REVISION": "abc123"}, "runtime", registry + "nlp", "abc123", of_build),
        ({"COMMIT_SHA": "c0ffee", "_REVISION": "abc123"}, "runtime", registry + "nlp", "c0ffee", of_commit),
        ({"_TARGET": "runtime-gpu"}, "runtime-gpu", registry + "nlp-gpu", "build-42", of_build),
        ({"_TARGET": "runtime-tpu"}, "runtime-tpu", registry + "nlp-tpu", "build-42", of_build),
        ({"_REGION": "europe-west4", "_REPOSITORY": "ml"}, "runtime", "europe-west4-docker.pkg.dev/my-project/ml/nlp", "build-42", of_build),
        ({"_IMAGE": "HOST/me/nlp", "_TARGET": "runtime-gpu"}, "runtime-gpu", "HOST/me/nlp", "build-42", of_build),
    ):
        code, calls, output = run(given, absent)
        expected = (
            "build --target %s --build-arg REVISION=%s --build-arg CREATED=%s --build-arg SOURCE_DATE_EPOCH=%d -t %s:%s -t %s:latest .\n"
            "push %s:%s\npush %s:latest\n" % (target, tag, *moment, image, tag, image, image, tag, image)
        )
        if "docker.pkg.dev" in image:
            expected = "pull %s:absent-42\n" % image + expected
        test.check(code == 0 and calls == expected, "cloudbuild.yaml with", given, code, calls, output)
    # Without the repository, nothing is built.
    denied = 'denied: Permission "artifactregistry.repositories.downloadArtifacts" denied on resource "projects/my-project" (or it may not exist)'
    for answer in ('name unknown: Repository "berth" not found', denied):
        code, calls, output = run({}, answer)
        line = "gcloud artifacts repositories create berth --repository-format docker --location us-central1 --project my-project"
        test.check(code == 4 and output.rstrip().endswith(line) and "build --target" not in calls, answer, code, calls, output)
    code, calls, output = run({"_TARGET": "test"}, absent)
    test.check(code == 2 and not calls and "_TARGET is test" in output, "builds the target test:", code, calls, output)


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
          *"=/dev/stdin "*) cat >/dev/null ;;
          " kustomize "*) PYTHONPATH=%s /usr/bin/python3 -c 'import sys, yaml, kustomization as k
        yaml.dump_all(k.render(sys.argv[1]), sys.stdout)' "$2" ;;
        esac
        """
    ) % os.path.join(REPOSITORY, "tests/support")
    for tool in ("kubectl", "kind"):
        os.chmod(test.write("bin/" + tool, kubectl), 0o755)
    gcloud = '#!/bin/bash\nexec /usr/bin/python3 "%s" "$@"\n' % os.path.join(REPOSITORY, "tests/support/fake_gcloud.py")
    os.chmod(test.write("bin/gcloud", gcloud), 0o755)
    test.write("state", '{"project": "my-project", "account": "me@example.com"}')
    for page, folders, filled, asks in (
        ("docs/kubernetes.md", ["k8s"], ["filled.yaml"], "apply -k k8s/base"),
        ("docs/vertex.md", ["vertex", "scripts"], ["build/vertex/" + name for name in KINDS], "hp-tuning-jobs"),
    ):
        copy = test.path(page.replace("/", "-"))
        for folder in folders:
            shutil.copytree(os.path.join(REPOSITORY, folder), os.path.join(copy, folder))
        test.write(os.path.join(copy, "train.csv"), "")
        test.write("calls", "")
        environment = {"PATH": test.path("bin") + ":" + os.environ["PATH"], "CALLS": test.path("calls"), "GCLOUD_STATE": test.path("state")}
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
            left = re.findall("PROJECT|BUCKET|REGION|DIGEST", test.read(os.path.join(copy, name)).decode())
            test.check(not left, page, "leaves", left, "in", name)
        test.check(b"gs://my-" in test.read(os.path.join(copy, filled[0])), page, "fills in no bucket")
        for folder in folders:
            same = subprocess.run(["diff", "-r", os.path.join(REPOSITORY, folder), os.path.join(copy, folder)])
            test.check(same.returncode == 0, page, "changes files of", folder)


def main():
    with Installed(sys.argv[1]) as test:
        check_files(test)
        check_build(test)
        check_pages(test)
        test.finish()


main()
