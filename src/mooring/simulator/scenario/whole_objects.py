"""Kubernetes objects that a scenario has in full: in `objects`, in manifests, and to `apply`.

Says what they are before the API sees them, which expects metadata that is a mapping. No I/O.
"""

from typing import Any, Final, NamedTuple

from mooring.embedded.resources import Obj, Resource
from mooring.simulator.engine.api_cluster import resource_of
from mooring.typed_yaml import FieldMistake, Path

_LIST: Final = "List"


class WholeObject(NamedTuple):
    """An object, and where it belongs.

    Attributes:
        obj: the object.
        resource: what it is.
        namespace: where it is; empty if its kind has none.
        name: empty if the API makes one.
    """

    obj: Obj
    resource: Resource
    namespace: str
    name: str


def whole_object(obj: Any, path: Path) -> WholeObject:
    """What an object is.

    Raises:
        FieldMistake: it is no object of a known kind.
    """
    if not isinstance(obj, dict):
        raise FieldMistake(path, "expected a Kubernetes object, a mapping")
    resource = resource_of(obj)
    if resource is None:
        kind, version = obj.get("kind"), obj.get("apiVersion")
        raise FieldMistake(path, f"there is no kind {kind} in apiVersion {version}")
    metadata = obj.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise FieldMistake([*path, "metadata"], "expected a mapping")
    for field in ("name", "namespace"):
        if not isinstance(metadata.get(field) or "", str):
            raise FieldMistake([*path, "metadata", field], "expected a text")
    space = (metadata.get("namespace") or "default") if resource.namespaced else ""
    return WholeObject(obj, resource, space, metadata.get("name") or "")


def items_of(obj: Any) -> list[Any]:
    """The objects of a List, as `kubectl get -o yaml` prints one; any other object is alone."""
    if isinstance(obj, dict) and obj.get("kind") == _LIST and isinstance(obj.get("items"), list):
        return list(obj["items"])
    return [obj]
