"""Checks k8s/ without a cluster: every object has only fields that Kubernetes knows, what it names is there, and berth takes the arguments.

manifests.py BERTH
"""

import copy
import glob
import json
import os
import subprocess
import sys

import jsonschema

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../support"))
from installed import REPOSITORY, Installed  # noqa: E402
from kustomization import apply, render  # noqa: E402

with open(os.path.join(REPOSITORY, "tests/testdata/kubernetes/schemas.json")) as file:
    SCHEMAS = json.load(file)


def complaints(each):
    """What is wrong with one object. Empty: nothing."""
    if each.get("kind") not in SCHEMAS["kinds"]:
        return ["there is no schema of %s" % each.get("kind")]
    name = SCHEMAS["kinds"][each["kind"]]
    schema = {"$ref": "#/$defs/" + name, "$defs": SCHEMAS["$defs"]}
    found = [
        "%s: %s" % ("/".join(map(str, error.path)), error.message)
        for error in jsonschema.Draft202012Validator(schema).iter_errors(each)
    ]
    version = {"Job": "batch/v1", "NetworkPolicy": "networking.k8s.io/v1"}.get(each["kind"], "v1")
    if name.startswith("io.k8s") and each["apiVersion"] != version:
        found.append("apiVersion is " + each["apiVersion"])
    return found


def jobs(value):
    """The specs of all Jobs inside an object: its own, or those in a JobSet or a TrainingRuntime."""
    if isinstance(value, list):
        for part in value:
            yield from jobs(part)
    elif isinstance(value, dict):
        if "podReplacementPolicy" in value:
            yield value
        else:
            for part in value.values():
                yield from jobs(part)


def check_job(test, folder, job, objects):
    pod = job["template"]["spec"]
    (container,) = pod["containers"]
    names = {(each["kind"], each["metadata"]["name"]) for each in objects}
    wanted = [("ServiceAccount", pod["serviceAccountName"])] if "serviceAccountName" in pod else []
    volumes = set()
    for volume in pod["volumes"]:
        volumes.add(volume["name"])
        if "persistentVolumeClaim" in volume:
            wanted.append(("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"]))
        if "configMap" in volume:
            wanted.append(("ConfigMap", volume["configMap"]["name"]))
    test.check(names >= set(wanted), folder, "names what it does not have:", set(wanted) - names)
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    test.check(mounted == volumes, folder, "mounts", mounted, "and has", volumes)
    claims = {each["metadata"]["name"] for each in objects if each["kind"] == "PersistentVolumeClaim"}
    test.check(
        claims == {name for kind, name in wanted if kind == "PersistentVolumeClaim"}, folder, "has a volume that nothing uses"
    )

    # What Kubernetes and the single writer of a job directory require.
    test.check(job["podReplacementPolicy"] == "Failed" and pod["restartPolicy"] == "Never", folder, "may have two writers")
    test.check(job.get("completionMode") == "Indexed" or "backoffLimitPerIndex" not in job, folder, "limits an index and has none")
    for rule in job["podFailurePolicy"]["rules"]:
        test.check(rule["action"] in ("Ignore", "FailJob", "FailIndex", "Count"), folder, "has no such action:", rule)
        codes = rule.get("onExitCodes", {"containerName": container["name"], "operator": "In", "values": [1]})
        test.check(codes["containerName"] == container["name"], folder, "has no container", codes["containerName"])
        test.check(codes["operator"] in ("In", "NotIn"), folder, "has no such operator:", codes)
        test.check(codes["values"] == sorted(set(codes["values"])) and 0 not in codes["values"], folder, "has other codes:", codes)
    # Kueue admits by requests; berth counts its threads by the limit.
    resources = container["resources"]
    test.check(resources["requests"]["cpu"] == resources["limits"]["cpu"], folder, "has other threads than its request")
    # The profile "restricted", but for the TPU's driver.
    security = container["securityContext"]
    test.check(security["allowPrivilegeEscalation"] is False and security["readOnlyRootFilesystem"] is True, folder, security)
    test.check(security["capabilities"]["drop"] == ["ALL"], folder, security)
    test.check(pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, folder, pod["securityContext"])
    if not folder.endswith("/tpu"):
        test.check(pod["securityContext"]["runAsNonRoot"] is True and "add" not in security["capabilities"], folder, security)


def check_policy(test, folder, policy, objects):
    """The policy must concern the pods of a Job that is there, which its controller labels with its name."""
    labels = {"matchLabels": {"batch.kubernetes.io/job-name": "berth"}}
    spec = policy["spec"]
    test.check(("Job", "berth") in {(each["kind"], each["metadata"]["name"]) for each in objects}, folder, "has another Job than its policy")
    test.check(spec["podSelector"] == labels, folder, "has a policy for others:", spec)
    if policy["metadata"]["name"] == "berth-workers":
        test.check(spec["policyTypes"] == ["Ingress"], folder, "says more than who may connect:", spec)
        test.check(spec["ingress"] == [{"from": [{"podSelector": labels}]}], folder, "lets others connect:", spec["ingress"])
        return
    test.check(spec["policyTypes"] == ["Ingress", "Egress"] and "ingress" not in spec, folder, "lets others connect:", spec)
    reached = set()
    for rule in spec["egress"]:
        for to in rule.get("to", ["everywhere"]):
            to = to["ipBlock"]["cidr"] if "ipBlock" in to else "workers" if to == {"podSelector": labels} else to
            reached |= {(to, port["port"]) for port in rule.get("ports", [{"port": "all"}])}
    needed = {("everywhere", 53), ("everywhere", 5353), ("everywhere", 443), ("workers", "all"), ("169.254.169.254/32", 80), ("169.254.169.252/32", 988)}
    test.check(reached == needed, folder, "reaches", reached)


def check_workers(test, folder, job):
    """Where a worker is lost, all others end with 11. So restarts count, and the limit grows with the number of workers."""
    codes = [code for rule in job["podFailurePolicy"]["rules"] for code in rule.get("onExitCodes", {"values": []})["values"]]
    test.check(11 not in codes, folder, "has a rule for 11:", job["podFailurePolicy"])
    test.check(job["backoffLimit"] == 20 * job["completions"], folder, "restarts", job["backoffLimit"], "times")
    (container,) = job["template"]["spec"]["containers"]
    (secret,) = [each["valueFrom"]["secretKeyRef"] for each in container["env"] if each["name"] == "BERTH_CLUSTER_SECRET"]
    with open(os.path.join(REPOSITORY, folder, "kustomization.yaml")) as file:
        makes = "kubectl create secret generic %s --from-file=%s=" % (secret["name"], secret["key"])
        test.check(makes in file.read(), folder, "does not say how to make", secret)


def command_lines(objects):
    """The arguments of each pod: of an Indexed Job those of each index, with the flags in its file."""
    maps = {each["metadata"]["name"]: each["data"] for each in objects if each["kind"] == "ConfigMap"}
    lines = [each["spec"]["trainer"]["args"] for each in objects if each["kind"] == "TrainJob"]
    for job in jobs(objects):
        (container,) = job["template"]["spec"]["containers"]
        for index in range(job.get("completions", 1)):
            line = []
            for argument in container.get("args", []):
                argument = argument.replace("$(JOB_COMPLETION_INDEX)", str(index))
                if argument.startswith("--flagfile="):
                    line += maps["berth-grid"][os.path.basename(argument)].split()
                else:
                    line.append(argument)
            lines.append(line)
    return [line for line in lines if line]


def check_schemas_are_strict(test, job):
    """A typo, a wrong type and an unknown kind must not pass."""
    for damage in (
        lambda each: each["spec"].update(backofLimit=1),
        lambda each: each["spec"].update(backoffLimit="20"),
        lambda each: each["spec"]["template"]["spec"]["containers"][0]["resources"].update(limit={}),
        lambda each: each["spec"]["podFailurePolicy"]["rules"][0].pop("action"),
        lambda each: each.update(kind="Jobb"),
        lambda each: each.update(apiVersion="batch/v1beta1"),
    ):
        damaged = copy.deepcopy(job)
        damage(damaged)
        test.check(complaints(damaged), "the schemas accept a damaged Job")


def main():
    with Installed(sys.argv[1]) as test:
        folders = sorted(glob.glob(os.path.join(REPOSITORY, "k8s/overlays/*"))) + [os.path.join(REPOSITORY, "k8s/base")]
        rendered = {os.path.relpath(folder, REPOSITORY): render(folder) for folder in folders}
        # Components combine, as docs/kubernetes.md says.
        rendered["k8s/components/*"] = render(os.path.join(REPOSITORY, "k8s/base"))
        for component in sorted(glob.glob(os.path.join(REPOSITORY, "k8s/components/*"))):
            apply(component, rendered["k8s/components/*"])
        explained = 0
        for folder, objects in rendered.items():
            for each in objects:
                for complaint in complaints(each):
                    test.check(False, folder, each["kind"], complaint)
                if each["kind"] == "NetworkPolicy":
                    check_policy(test, folder, each, objects)
            of_base = folder not in ("k8s/overlays/jobset", "k8s/overlays/trainjob")
            policies = [each["metadata"]["name"] for each in objects if each["kind"] == "NetworkPolicy"]
            test.check(("berth" in policies) == of_base, folder, "has the policies", policies)
            found = list(jobs(objects))
            test.check(len(found) == 1, folder, "has", len(found), "jobs")
            for job in found:
                check_job(test, folder, job, objects)
                if folder == "k8s/overlays/workers":
                    check_workers(test, folder, job)
            # berth explain parses the line as berth would, and reads no file.
            for line in command_lines(objects):
                run = subprocess.run(
                    [test.berth, "explain", "berth", *line],
                    env=test.environment(),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    universal_newlines=True,
                )
                explained += test.check(run.returncode == 0, folder, "berth", *line, run.stdout)
            test.check(command_lines(objects), folder, "has no arguments")
        # The other ways to run a Job have the base's pod.
        (base,) = jobs(rendered["k8s/base"])
        for folder in ("k8s/overlays/jobset", "k8s/overlays/trainjob"):
            (job,) = jobs(rendered[folder])
            same = json.loads(json.dumps(job).replace('"node"', '"train"'))
            (container,) = same["template"]["spec"]["containers"]
            container.setdefault("args", base["template"]["spec"]["containers"][0]["args"])
            if folder.endswith("/trainjob"):
                # No registry can have it, so nobody runs another image by mistake.
                test.check(container["image"] == "REGISTRY/nlp@sha256:DIGEST", folder, "runs", container["image"])
                container["image"] = base["template"]["spec"]["containers"][0]["image"]
            expected = {key: value for key, value in base.items() if key != "ttlSecondsAfterFinished"}
            test.check(same == expected, folder, "has another pod than k8s/base")
        check_schemas_are_strict(test, rendered["k8s/base"][0])
        print(len(rendered), "kustomizations,", sum(map(len, rendered.values())), "objects,", explained, "command lines")
        test.finish()


main()
