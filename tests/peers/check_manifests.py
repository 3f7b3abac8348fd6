"""Compares the renderer of the tests with kubectl, and validates k8s/ against the schemas of Kubernetes 1.37.

check_manifests.py KUBECTL
"""

import glob
import os
import subprocess
import sys

import kubernetes_validate
import yaml

REPOSITORY = os.path.join(os.path.dirname(__file__), "../..")
sys.path.insert(0, os.path.join(REPOSITORY, "tests/support"))
import kustomization  # noqa: E402


def ordered(value):
    """Without the order of lists whose items have names, which kustomize changes."""
    if isinstance(value, dict):
        return {
            key: (
                sorted((ordered(item) for item in part), key=lambda item: item[kustomization.MERGE_KEYS[key]])
                if key in kustomization.MERGE_KEYS and isinstance(part, list)
                else ordered(part)
            )
            for key, part in value.items()
        }
    return [ordered(item) for item in value] if isinstance(value, list) else value


def main():
    kubectl = sys.argv[1]
    folders = sorted(glob.glob(os.path.join(REPOSITORY, "k8s/overlays/*"))) + [os.path.join(REPOSITORY, "k8s/base")]
    for folder in folders:
        printed = subprocess.run([kubectl, "kustomize", folder], check=True, stdout=subprocess.PIPE).stdout
        name = lambda each: (each["kind"], each["metadata"]["name"])  # noqa: E731
        theirs = sorted(map(ordered, yaml.safe_load_all(printed)), key=name)
        ours = sorted(map(ordered, kustomization.render(folder)), key=name)
        if theirs != ours:
            sys.exit("%s: kubectl kustomize renders\n%s\nand we\n%s" % (folder, yaml.dump_all(theirs), yaml.dump_all(ours)))
        for each in ours:
            if "." not in each["apiVersion"].split("/")[0]:
                kubernetes_validate.validate(each, "1.37", strict=True)
    print(len(folders), "kustomizations are rendered as by kubectl")


main()
