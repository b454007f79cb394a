"""The objects of a snapshot, put into an embedded cluster as they are.

They were a real API server's objects: names, unique ids, placements and status stay.
``moor cluster`` calls it before anybody else sees the cluster.
"""

import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mooring.errors import InputError

if TYPE_CHECKING:
    from mooring.embedded.api import Api
    from mooring.embedded.resources import Obj, Resource

_SUFFIXES: Final = (".json", ".yaml", ".yml")


class LoadedSnapshot:
    """What became of a snapshot.

    Attributes:
        counts: how many objects of each kind there are now.
        problems: why something was left out, a sentence each.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.problems: list[str] = []


def read_files(place: str) -> "list[Obj]":
    """The objects in a file, in the files of a folder, or on standard input for ``-``.

    Raises:
        InputError: there is nothing to read, or it is no list of objects.
    """
    from mooring.snapshot.manifests import read_objects

    found: list[Obj] = []
    for name, data in _texts(place):
        found += read_objects(data, name)
    if not found:
        what = "standard input" if place == "-" else place
        raise InputError(f"{what} contains no Kubernetes objects; create it with moor snapshot")
    return found


def load(api: "Api", objects: "Iterable[Obj]") -> LoadedSnapshot:
    """Put objects into a cluster that is not served yet.

    References to owners that are not among the objects are dropped: what they own would be cleaned
    away. Priority classes that pods name are made.

    Args:
        api: of the cluster.
        objects: in any order; they are changed.
    """
    from mooring.embedded.resources import BINDINGS, BY_KIND, RESOURCES

    done = LoadedSnapshot()
    sorted_out: dict[Resource, list[Obj]] = {}
    unknown: Counter[str] = Counter()
    for obj in objects:
        resource = BY_KIND.get((obj["apiVersion"], obj["kind"]))
        if resource is None or resource is BINDINGS:
            unknown[f"{obj['kind']} of {obj['apiVersion']}"] += 1
        else:
            sorted_out.setdefault(resource, []).append(obj)
    for kind, count in unknown.items():
        done.problems.append(f"{count} of kind {kind}, which the embedded cluster does not have")
    _have_priority_classes(sorted_out)
    owned: list[tuple[Resource, Obj]] = []
    uids: set[str] = set()
    for resource in RESOURCES:
        for obj in sorted_out.get(resource, ()):
            problem = _put(api, resource, obj)
            if problem is not None:
                done.problems.append(problem)
                continue
            done.counts[resource.kind] += 1
            uids.add(obj["metadata"].get("uid", ""))
            if obj["metadata"].get("ownerReferences"):
                owned.append((resource, obj))
    for resource, obj in owned:
        _forget_owners(api, resource, obj["metadata"], uids)
    return done


def _put(api: "Api", resource: "Resource", obj: "Obj") -> str | None:
    """Store one object; what is wrong with it, if it cannot be."""
    from mooring.embedded.status_errors import StatusError

    metadata = obj.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(name, str) or not name:
        return f"a {resource.kind} has no metadata.name"
    namespace = _namespace(resource, metadata)
    if api.store.get(resource, namespace, name) is not None:
        if _is_furniture(name):
            return None
        where = f"{namespace}/{name}" if namespace else name
        return f"{resource.kind} {where} occurs more than once; the first one is used"
    metadata.pop("managedFields", None)
    try:
        api.restore(resource, obj)
    except StatusError as rejected:
        return f"{resource.kind} {name}: {rejected}"
    return None


def _have_priority_classes(objects: "dict[Resource, list[Obj]]") -> None:
    """Add the priority classes that pods name and the snapshot does not have."""
    from mooring.embedded.resources import PODS, PRIORITY_CLASSES

    classes = objects.setdefault(PRIORITY_CLASSES, [])
    known = {(one.get("metadata") or {}).get("name") for one in classes}
    for pod in objects.get(PODS, ()):
        spec = pod.get("spec") or {}
        name, value = spec.get("priorityClassName"), spec.get("priority")
        if name and isinstance(value, int) and name not in known and not _is_furniture(name):
            known.add(name)
            made = {"apiVersion": PRIORITY_CLASSES.api_version, "kind": PRIORITY_CLASSES.kind}
            classes.append({**made, "metadata": {"name": name}, "value": value})


def _forget_owners(
    api: "Api", resource: "Resource", metadata: dict[str, Any], uids: set[str]
) -> None:
    """Drop references to owners that are not here."""
    owners = metadata["ownerReferences"]
    kept = [one for one in owners if isinstance(one, dict) and one.get("uid") in uids]
    item = api.store.get(resource, metadata.get("namespace", ""), metadata["name"])
    if item is None or len(kept) == len(owners):
        return
    stored = item.obj
    if kept:
        stored["metadata"]["ownerReferences"] = kept
    else:
        del stored["metadata"]["ownerReferences"]
    api.store.put(resource, stored)


def _is_furniture(name: str) -> bool:
    """Whether every cluster has an object of this name from the beginning."""
    return name == "default" or name.startswith(("kube-", "system-"))


def _namespace(resource: "Resource", metadata: dict[str, Any]) -> str:
    """The namespace of an object, which is written into it."""
    if not resource.namespaced:
        metadata.pop("namespace", None)
        return ""
    namespace: str = metadata.get("namespace") or "default"
    metadata["namespace"] = namespace
    return namespace


def _texts(place: str) -> list[tuple[str, bytes]]:
    if place == "-":
        return [("standard input", sys.stdin.buffer.read())]
    path = Path(place)
    try:
        if not path.is_dir():
            return [(place, path.read_bytes())]
        files = [one for one in sorted(path.rglob("*")) if one.suffix in _SUFFIXES]
        return [(str(one), one.read_bytes()) for one in files if not one.name.startswith(".")]
    except FileNotFoundError:
        raise InputError(f"{place} does not exist; specify a file, a directory or -") from None
    except OSError as error:
        raise InputError(f"{place} cannot be read: {error.strerror}") from error
