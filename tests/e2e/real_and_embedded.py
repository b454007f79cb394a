"""The real API server and what the embedded one does with an object, side by side."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import yaml

from mooring.embedded.admission.admission import Admission
from mooring.embedded.admission.strategy import prepare_for_create, prepare_for_update
from mooring.embedded.defaults.defaults import set_defaults
from mooring.embedded.resources import BY_KIND, NAMESPACES, Obj
from mooring.embedded.store import Store
from mooring.testing.real_kubernetes import ControlPlane


def read_objects() -> dict[str, Obj]:
    """The manifests of `embedded_objects.yaml`, by kind and name."""
    found = {}
    text = Path(__file__).with_name("embedded_objects.yaml").read_text()
    for document in yaml.safe_load_all(text):
        name = document.pop("name")
        version = document.pop("apiVersion", "v1")
        document.setdefault("metadata", {})["name"] = name
        found[f"{document['kind']}/{name}"] = {"apiVersion": version, **document}
    return found


class RealAndEmbedded:
    """Both servers, side by side, with the same namespace in both."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self.plane = plane
        self.namespace = namespace
        self.store = Store()
        self.admission = Admission(self.store)
        self.made: list[Obj] = []
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        self.store.put(NAMESPACES, {**space, "status": {"phase": "Active"}})

    def create(self, manifest: Obj) -> tuple[Obj, Obj]:
        """What the real one and ours make of a manifest."""
        manifest = self.placed(manifest)
        real = self.plane.create(manifest)
        self.made.append(real)
        return real, self.ours(manifest, real)

    def placed(self, manifest: Obj) -> Obj:
        text = msgspec.json.encode(manifest).replace(b"NAMESPACE", self.namespace.encode())
        placed: Obj = msgspec.json.decode(text)
        if BY_KIND[manifest["apiVersion"], manifest["kind"]].namespaced:
            placed["metadata"]["namespace"] = self.namespace
        return placed

    def ours(self, manifest: Obj, real: Obj) -> Obj:
        """What the embedded API server does with a new object, without its checks."""
        resource = BY_KIND[manifest["apiVersion"], manifest["kind"]]
        obj: Obj = without_nulls(copy.deepcopy(manifest))
        for field in ("uid", "creationTimestamp"):
            obj["metadata"][field] = real["metadata"][field]
        set_defaults(resource, obj)
        self.admission.admit(resource, obj, None)
        prepare_for_create(resource, obj)
        return obj

    def update(self, old: Obj, change: Callable[[Obj], None], part: str = "") -> tuple[Obj, Obj]:
        """What the real one and ours make of a change."""
        resource = BY_KIND[old["apiVersion"], old["kind"]]
        wanted = copy.deepcopy(old)
        change(wanted)
        path = self.plane.path(
            old["kind"],
            old["metadata"]["name"],
            old["metadata"].get("namespace"),
            api_version=old["apiVersion"],
        )
        real = self.plane.request("PUT", f"{path}/{part}" if part else path, wanted)
        obj: Obj = without_nulls(copy.deepcopy(wanted))
        set_defaults(resource, obj)
        self.admission.admit(resource, obj, old, part)
        prepare_for_update(resource, obj, old, part)
        return real, obj

    def clean(self) -> None:
        for obj in reversed(self.made):
            kind, name = obj["kind"], obj["metadata"]["name"]
            if kind == "Namespace":
                self.plane.delete_namespace(name)
            elif "namespace" not in obj["metadata"]:
                self.plane.delete(kind, name, api_version=obj["apiVersion"])


def without_nulls(value: Any) -> Any:
    """As the check of fields leaves it."""
    if isinstance(value, dict):
        return {name: without_nulls(one) for name, one in value.items() if one is not None}
    return [without_nulls(one) for one in value] if isinstance(value, list) else value


def comparable(obj: Obj) -> Obj:
    obj = msgspec.json.decode(msgspec.json.encode(obj))
    metadata = obj["metadata"]
    for field in ("managedFields", "resourceVersion"):
        metadata.pop(field, None)
    spec = obj.get("spec", {})
    if obj["kind"] == "Service" and spec.get("clusterIP", "None") != "None":
        spec["clusterIP"], spec["clusterIPs"] = "given", ["given"]
    if obj["kind"] == "Service":
        for port in spec.get("ports", ()):
            if "nodePort" in port:
                port["nodePort"] = "given"
        if "healthCheckNodePort" in spec:
            spec["healthCheckNodePort"] = "given"
    return obj


def without_times(value: Any) -> Any:
    """With a text in place of every time that the server itself noted."""
    noted = ("lastTransitionTime", "lastPhaseTransitionTime", "timeAdded")
    if isinstance(value, dict):
        return {
            name: "noted" if name in noted and one else without_times(one)
            for name, one in value.items()
        }
    return [without_times(one) for one in value] if isinstance(value, list) else value
