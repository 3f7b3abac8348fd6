"""Renders a kustomization as `kubectl kustomize` does, for the part of kustomize that k8s/ uses.

That is: resources, components, images, and patches that name one kind: strategic merge patches, as files or in place, and JSON patches (add,
remove, replace). Whatever else a kustomization.yaml holds is an error. scripts/test-peers.sh compares the results with those of kubectl.
"""

import copy
import json
import os

import yaml

# Lists whose items a strategic merge patch merges, with the key that names an item. Other lists are replaced.
MERGE_KEYS = {"containers": "name", "volumes": "name", "volumeMounts": "mountPath", "env": "name"}


def load(path):
    with open(path) as file:
        return [document for document in yaml.safe_load_all(file) if document is not None]


def merged(old, patch):
    """`old` with the strategic merge patch `patch`."""
    if not isinstance(old, dict) or not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = dict(old)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif key in MERGE_KEYS and isinstance(value, list):
            result[key] = merged_list(old.get(key, []), value, MERGE_KEYS[key])
        else:
            result[key] = merged(old.get(key), value)
    return result


def merged_list(old, patch, name):
    result = {item[name]: item for item in old}
    for item in patch:
        if item.get("$patch") == "delete":
            del result[item[name]]
        else:
            result[item[name]] = merged(result.get(item[name]), item)
    return list(result.values())


def apply_json_patch(document, operations):
    for operation in operations:
        *way, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        place = document
        for part in way:
            place = place[int(part) if isinstance(place, list) else part]
        if isinstance(place, list):
            if operation["op"] == "add":
                place.insert(len(place) if last == "-" else int(last), operation["value"])
                continue
            last = int(last)
        if operation["op"] == "remove":
            del place[last]
        elif operation["op"] in ("add", "replace"):
            place[last] = operation["value"]
        else:
            raise ValueError("unknown operation " + operation["op"])


def apply_patch(objects, patch, folder):
    kind = patch.pop("target")
    if list(kind) != ["kind"]:
        raise ValueError("a target has to be one kind: %s" % kind)
    text = patch.pop("patch", None)
    if text is None:
        with open(os.path.join(folder, patch.pop("path"))) as file:
            text = file.read()
    if patch:
        raise ValueError("unknown keys of a patch: %s" % patch)
    content = yaml.safe_load(text)
    found = [i for i, each in enumerate(objects) if each["kind"] == kind["kind"]]
    if not found:
        raise ValueError("a patch in %s has no target" % folder)
    for i in reversed(found):
        if isinstance(content, list):
            apply_json_patch(objects[i], content)
        elif content.get("$patch") == "delete":
            del objects[i]
        else:
            objects[i] = merged(objects[i], content)


def set_images(value, images):
    if isinstance(value, list):
        for item in value:
            set_images(item, images)
    elif isinstance(value, dict):
        for container in value.get("containers") or []:
            for image in images:
                if container["image"].split(":")[0] == image["name"]:
                    container["image"] = "%s:%s" % (image["newName"], image["newTag"])
        for part in value.values():
            set_images(part, images)


def apply(folder, objects):
    """Adds the resources of the kustomization in `folder` to `objects`, and applies its components and patches to all of them."""
    (content,) = load(os.path.join(folder, "kustomization.yaml"))
    content = copy.deepcopy(content)
    if content.pop("kind") not in ("Kustomization", "Component") or not content.pop("apiVersion").startswith(
        "kustomize.config.k8s.io/"
    ):
        raise ValueError("%s is no kustomization" % folder)
    for name in content.pop("resources", []):
        path = os.path.join(folder, name)
        objects += render(path) if os.path.isdir(path) else load(path)
    for name in content.pop("components", []):
        apply(os.path.join(folder, name), objects)
    for patch in content.pop("patches", []):
        apply_patch(objects, patch, folder)
    set_images(objects, content.pop("images", []))
    if content:
        raise ValueError("%s has what this renderer does not know: %s" % (folder, ", ".join(content)))
    names = [(each["kind"], each["metadata"]["name"]) for each in objects]
    if len(set(names)) != len(names):
        raise ValueError("%s has an object twice" % folder)


def render(folder):
    """The objects that `kubectl kustomize FOLDER` prints, as dictionaries."""
    objects = []
    apply(folder, objects)
    return json.loads(json.dumps(objects))  # YAML's dates and the like would not survive this
