"""An API without HTTP, with a clock that a test moves."""

import itertools
from typing import Any

from mooring.embedded.api import Api
from mooring.embedded.resources import NAMESPACES, PODS, Obj
from mooring.embedded.store import Store
from mooring.embedded.stored_object import StoredObject

#: 2026-01-01T00:00:00Z
START = 1_767_225_600.0


class FakeApiServer:
    """An API, its store and the time."""

    def __init__(self) -> None:
        self.now = START
        self.store = Store()
        ids, ends = itertools.count(1), itertools.count()
        self.api = Api(
            self.store,
            clock=lambda: self.now,
            new_id=lambda: f"00000000-0000-4000-8000-{next(ids):012}",
            suffix=lambda: f"{next(ends):05}",
        )
        for name in ("default", "kube-system"):
            self.api.create(NAMESPACES, manifest("v1", "Namespace", name))

    def pod(self, name: str, namespace: str = "default", **spec: Any) -> StoredObject:
        """Create a small pod."""
        return self.api.create(PODS, pod(name, **spec), namespace)

    def bound_pod(self, name: str, node: str = "n1", **spec: Any) -> StoredObject:
        """Create a pod that is on a node from the beginning."""
        return self.pod(name, nodeName=node, **spec)


def manifest(api_version: str, kind: str, name: str, **fields: Any) -> Obj:
    """A manifest."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}


def pod(name: str, **spec: Any) -> Obj:
    """A manifest of a small pod."""
    labels = spec.pop("labels", {})
    found = manifest(
        "v1", "Pod", name, spec={"containers": [{"name": "c", "image": "nginx:1.27"}], **spec}
    )
    if labels:
        found["metadata"]["labels"] = labels
    return found
