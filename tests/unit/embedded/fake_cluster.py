"""A cluster without HTTP in which time passes only when a test says so."""

from collections.abc import Callable
from itertools import count
from typing import Any

from mooring.embedded.api import Api
from mooring.embedded.controller_manager import ControllerManager
from mooring.embedded.kubelet.kubelet import KubeletSettings
from mooring.embedded.pod_subresources import bind
from mooring.embedded.resources import (
    CORE_EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    Obj,
    Resource,
)
from mooring.embedded.store import Store

START = 1_800_000_000.0


class FakeCluster:
    """Api, ControllerManager and a clock; `settle` runs everything that is due."""

    def __init__(
        self,
        *,
        kubelet: KubeletSettings | None = None,
        controllers: bool = True,
        before: Callable[[Api], None] = lambda _: None,
    ) -> None:
        self.now = START
        ids, names = count(1), count(1)
        self.api = Api(
            Store(),
            clock=lambda: self.now,
            new_id=lambda: f"00000000-0000-4000-8000-{next(ids):012}",
            suffix=lambda: f"{next(names):05}",
        )
        self.create(NAMESPACES, {"metadata": {"name": "default"}})
        before(self.api)
        self.controller_manager = ControllerManager(
            self.api, kubelet, controllers=controllers, clock=lambda: self.now
        )
        self.settle()

    def settle(self, limit: int = 20_000) -> None:
        """Do all that is due now, and fail if that never ends."""
        assert self.controller_manager.settle(limit) < limit, "the controllers do not come to rest"

    def wait(self, seconds: float) -> None:
        """Let time pass, as it would with a loop that sleeps until something is due."""
        end = self.now + seconds
        while True:
            self.settle()
            due = self.controller_manager.workqueue.next_due()
            if due is None or due > end:
                break
            self.now = max(due, self.now)
        self.now = end
        self.settle()

    def create(self, resource: Resource, obj: Obj, namespace: str = "") -> Obj:
        """Create an object; kind and apiVersion are added."""
        whole = {"kind": resource.kind, "apiVersion": resource.api_version, **obj}
        if resource.namespaced:
            namespace = namespace or "default"
        return self.api.create(resource, whole, namespace).obj

    def get(self, resource: Resource, name: str, namespace: str = "default") -> Obj:
        return self.api.get(resource, namespace if resource.namespaced else "", name).obj

    def find(self, resource: Resource, name: str, namespace: str = "default") -> Obj | None:
        item = self.api.store.get(resource, namespace if resource.namespaced else "", name)
        return item.obj if item is not None else None

    def all(self, resource: Resource, namespace: str = "") -> list[Obj]:
        return [item.obj for item in self.api.store.all(resource, namespace)]

    def names(self, resource: Resource, namespace: str = "") -> list[str]:
        return [item.name for item in self.api.store.all(resource, namespace)]

    def change(
        self, resource: Resource, name: str, change: Callable[[Obj], Any], subresource: str = ""
    ) -> Obj:
        """Change an object by a function and write it back."""
        obj = self.get(resource, name)
        change(obj)
        namespace = obj["metadata"].get("namespace", "")
        return self.api.update(resource, obj, namespace, name, subresource=subresource).obj

    def delete(self, resource: Resource, name: str, **options: Any) -> None:
        self.api.delete(resource, "default" if resource.namespaced else "", name, options)

    def node(self, name: str, **allocatable: str) -> Obj:
        """A node that is ready."""
        amounts = {"cpu": "4", "memory": "16Gi", "pods": "110", **allocatable}
        return self.create(
            NODES,
            {
                "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
                "status": {
                    "capacity": amounts,
                    "allocatable": amounts,
                    "conditions": [{"type": "Ready", "status": "True"}],
                    "addresses": [{"type": "InternalIP", "address": "192.168.0.1"}],
                },
            },
        )

    def pod(self, name: str, *, node: str = "", namespace: str = "default", **spec: Any) -> Obj:
        """A pod with one container."""
        metadata = spec.pop("metadata", {})
        inner = {"containers": [{"name": "main", "image": "nginx"}], **spec}
        if node:
            inner["nodeName"] = node
        return self.create(PODS, {"metadata": {"name": name, **metadata}, "spec": inner}, namespace)

    def bind_all(self, node: str) -> int:
        """Do what a scheduler does: give every pod that waits a node."""
        waiting = [
            one
            for one in self.all(PODS)
            if not one["spec"].get("nodeName") and "deletionTimestamp" not in one["metadata"]
        ]
        for one in waiting:
            metadata = one["metadata"]
            target = {"kind": "Node", "name": node}
            binding = {
                "kind": "Binding", "apiVersion": "v1",
                "metadata": {"name": metadata["name"]}, "target": target,
            }  # fmt: skip
            bind(self.api, metadata["namespace"], metadata["name"], binding)
        return len(waiting)

    def run_all(self, node: str = "n1") -> None:
        """Bind and run until nothing waits any more."""
        for _ in range(100):
            self.settle()
            if not self.bind_all(node):
                return
        raise AssertionError("there are always new pods")

    def events(self, about: str) -> list[tuple[str, str]]:
        """Reason and message of the events about an object."""
        return [
            (one["reason"], one["message"])
            for one in self.all(CORE_EVENTS)
            if one["involvedObject"]["name"] == about
        ]


def template(**labels: str) -> Obj:
    """A pod template with one container."""
    return {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "main", "image": "nginx"}]},
    }
