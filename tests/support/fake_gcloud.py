#!/usr/bin/env python3
"""Stands in for gcloud. It appends its arguments to the file $CALLS, and answers as gcloud 528 does.

The file $GCLOUD_STATE is JSON: "project", "account", "job" (the state of the job and its message), "vm" (whether the TPU VM exists),
"ssh" (the exit code and the error output of ssh), and "wrong", one of ERRORS, which the commands of that service then answer. The texts
of ERRORS were taken from gcloud, which had been told to ask a local server in the place of Google's.
"""

import json
import os
import re
import sys

AS = " This command is authenticated as me@example.com which is the active account specified by the [core/account] property."
LOGIN = """You do not currently have an active account selected.
Please run:

  $ gcloud auth login

to obtain new credentials.

If you have already logged in with a different account, run:

  $ gcloud config set account ACCOUNT

to select an already authenticated account to use."""
JOB = "projects/123456789012/locations/us-central1/customJobs/42"
# The flags that each command is called with, by this repository's scripts and pages. Those with a value end with =.
COMMANDS = {
    "ai custom-jobs cancel": "--region= --project=",
    "ai custom-jobs create": "--region= --project= --display-name= --config= --service-account= --worker-pool-spec= --args= --format=",
    "ai custom-jobs describe": "--region= --project= --format=",
    "ai custom-jobs stream-logs": "--region= --project= --polling-interval=",
    "ai hp-tuning-jobs create": "--region= --display-name= --config=",
    "artifacts docker images describe": "--project= --format=",
    "artifacts repositories create": "--repository-format= --location= --project=",
    "auth login": "",
    "beta quotas info list": "--service= --project= --filter= --format=",
    "beta quotas preferences create": "--service= --project= --dimensions= --preferred-value= --quota-id=",
    "billing projects link": "--billing-account=",
    "builds submit": "--config= --substitutions= --project=",
    "compute tpus tpu-vm create": "--zone= --project= --accelerator-type= --version= --scopes= --spot --service-account=",
    "compute tpus tpu-vm delete": "--zone= --project= --quiet",
    "compute tpus tpu-vm describe": "--zone= --project= --format=",
    "compute tpus tpu-vm ssh": "--zone= --project= --command=",
    "config get-value": "",
    "config set": "",
    "iam service-accounts add-iam-policy-binding": "--project= --member= --role=",
    "iam service-accounts create": "--project=",
    "projects add-iam-policy-binding": "--member= --role=",
    "projects describe": "--format=",
    "services enable": "--project=",
    "storage buckets add-iam-policy-binding": "--member= --role=",
    "storage buckets create": "--location= --project=",
    "storage cat": "",
    "storage cp": "--recursive",
    "storage ls": "",
    "storage objects list": "--limit= --format= --project=",
}


def off(service, name):
    return (
        "PERMISSION_DENIED: %s has not been used in project my-project before or it is disabled. Enable it by visiting "
        "https://console.developers.google.com/apis/api/%s/overview?project=my-project then retry. If you enabled this API recently, "
        "wait a few minutes for the action to propagate to our systems and retry.%s\n"
        "- '@type': type.googleapis.com/google.rpc.ErrorInfo\n  domain: googleapis.com\n  metadata:\n"
        "    consumer: projects/my-project\n    service: %s\n  reason: SERVICE_DISABLED" % (name, service, AS, service)
    )


# What is wrong: the command that notices it, and what that command says.
BUCKET = "[me@example.com] does not have permission to access b instance [my-project-berth] (or it may not exist): "
CREATE, VM = "ai custom-jobs create", "compute tpus tpu-vm create"
IMAGE, LIST = "artifacts docker images describe", "storage objects list"
ERRORS = {
    "expired": (IMAGE, "UNAUTHENTICATED: Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or "
                "other valid authentication credential." + AS),
    "project": (IMAGE, "PERMISSION_DENIED: Permission denied on resource project my-project." + AS + "\n  reason: CONSUMER_INVALID"),
    "repository": (IMAGE, "NOT_FOUND: Requested entity was not found." + AS),
    "image": (IMAGE, "Image not found.\n\nA valid container image can be referenced by tag or digest, has the format of\n"
              "  LOCATION-docker.DOMAIN/PROJECT-ID/REPOSITORY-ID/IMAGE:tag\n"
              "  LOCATION-docker.DOMAIN/PROJECT-ID/REPOSITORY-ID/IMAGE@sha256:digest\n"),
    "registry off": (IMAGE, off("artifactregistry.googleapis.com", "Artifact Registry API")),
    "registry denied": (IMAGE, "PERMISSION_DENIED: Permission 'artifactregistry.repositories.get' denied on resource "
                        "'//artifactregistry.googleapis.com/projects/my-project/locations/us-central1/repositories/berth' (or it may not "
                        "exist)." + AS),
    "bucket": (LIST, "gs://my-project-berth not found: 404."),
    "bucket denied": (LIST, BUCKET + "me@example.com does not have storage.objects.list access to the Google Cloud Storage bucket. "
                      "Permission 'storage.objects.list' denied on resource (or it may not exist)." + AS),
    "no billing": (LIST, BUCKET + "The billing account for the owning project is disabled in state absent." + AS),
    "vertex off": (CREATE, off("aiplatform.googleapis.com", "Vertex AI API")),
    "vertex denied": (CREATE, "PERMISSION_DENIED: Permission 'aiplatform.customJobs.create' denied on resource "
                      "'//aiplatform.googleapis.com/projects/my-project/locations/us-central1' (or it may not exist)." + AS),
    "act as": (CREATE, "PERMISSION_DENIED: You do not have permission to act as service account: berth@my-project.iam.gserviceaccount.com. "
               "(or it may not exist)." + AS),
    "vertex quota": (CREATE, "RESOURCE_EXHAUSTED: The following quota metrics exceed quota limits: "
                     "aiplatform.googleapis.com/custom_model_training_nvidia_l4_gpus"),
    "machine": (CREATE, 'INVALID_ARGUMENT: Machine type "n9" is not supported.'),
    "unavailable": (CREATE, "HttpError accessing <https://us-central1-aiplatform.googleapis.com/v1/projects/my-project/locations/us-central1/"
                    "customJobs?alt=json>: response: <{'status': 503}>, content <{\"error\": {\"code\": 503, \"message\": \"The service is "
                    "currently unavailable.\", \"status\": \"UNAVAILABLE\"}}>\nThis may be due to network connectivity issues. Please check "
                    "your network settings, and the status of the service you are trying to reach."),
    "tpu off": (VM, off("tpu.googleapis.com", "Cloud TPU API")),
    "tpu denied": (VM, "PERMISSION_DENIED: Permission 'tpu.nodes.create' denied on 'projects/my-project/locations/us-west4-a/nodes/berth-tpu'."
                   + AS),
    "tpu quota": (VM, "RESOURCE_EXHAUSTED: Quota limit 'TPUV5sLitepodPerProjectPerZoneForTPUAPI' has been exceeded. Limit: 0 in zone "
                  "us-west4-a."),
    "tpu capacity": (VM, 'RESOURCE_EXHAUSTED: There is no more capacity in the zone "us-west4-a"; you can try in another zone where Cloud '
                     "TPU Nodes are offered (see https://cloud.google.com/tpu/docs/regions) [EID: 0x1]"),
}  # fmt: skip


def fail(command, text, code=1):
    print("ERROR: (gcloud.%s) %s" % (command.replace(" ", "."), text), file=sys.stderr)
    sys.exit(code)


def main(arguments):
    with open(os.environ["GCLOUD_STATE"]) as file:
        state = json.load(file)
    command = max((each for each in COMMANDS if (" ".join(arguments) + " ").startswith(each + " ")), key=len, default="")
    if not command:
        fail(arguments[0], "Invalid choice: %r." % " ".join(arguments), 2)
    known, rest, given = COMMANDS[command].split(), arguments[len(command.split()) :], {}
    while rest:
        word = rest.pop(0)
        name = word.split("=")[0]
        if name.startswith("--"):
            if name + "=" in known:
                given[name] = word.split("=", 1)[1] if "=" in word else rest.pop(0)
            elif word not in known:
                fail(command, "unrecognized arguments: " + word, 2)
    if command == "config get-value":
        value = os.environ.get("CLOUDSDK_CORE_PROJECT") if arguments[-1] == "project" else None
        value = value or state.get(arguments[-1], "")
        print(value, end="\n" if value else "")
        if not value:
            print("(unset)", file=sys.stderr)
        return 0
    with open(os.environ["CALLS"], "a") as calls:
        calls.write("\0".join(arguments).replace("\n", "\x01") + "\0\n")
    if not state.get("account"):
        fail(command, LOGIN)
    noticed_by, text = ERRORS.get(state.get("wrong"), ("", ""))
    if command == noticed_by:
        fail(command, text)
    if command == "ai custom-jobs create":
        # gcloud says this even where the output has a format.
        print("Using endpoint [https://us-central1-aiplatform.googleapis.com/]", file=sys.stderr)
        if "--args" in given and not re.match(r"\^(.+)\^", given["--args"]):
            fail(command, "argument --args: the list has no separator", 2)
        print(JOB)
    elif command == "ai custom-jobs describe":
        print("\t".join(state.get("job", ["JOB_STATE_SUCCEEDED"])))
    elif command == "artifacts docker images describe":
        print("sha256:" + "a" * 64)
    elif command == "beta quotas info list":
        print("CustomModelTrainingQuota")
    elif command == "compute tpus tpu-vm describe":
        if not state.get("vm"):
            fail(command, "NOT_FOUND: Resource 'projects/my-project/locations/us-west4-a/nodes/berth-tpu' was not found." + AS)
        print("READY")
    elif command == "compute tpus tpu-vm ssh":
        code, text = state.get("ssh", (0, ""))
        print(text, file=sys.stderr)
        return code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
