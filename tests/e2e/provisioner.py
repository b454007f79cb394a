"""A thread that does what the PV controller and a provisioner do, for claims of one namespace."""

import threading
from types import TracebackType
from typing import Any, Self

from mooring.errors import ApiError
from mooring.testing.real_kubernetes import BaseControlPlane

SELECTED_NODE = "volume.kubernetes.io/selected-node"
_BOUND = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
_MERGE = "application/merge-patch+json"
_POLL_SECONDS = 0.05


def on_node(node: str) -> dict[str, Any]:
    """The node affinity of a volume that one node has."""
    term = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}}


def local_volume(name: str, node: str, storage_class: str, size: str) -> dict[str, Any]:
    """A volume on a disk of a node."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "persistentVolumeReclaimPolicy": "Retain",
            "local": {"path": f"/mnt/{name}"},
            "nodeAffinity": on_node(node),
        },
    }


class Provisioner:
    """Makes volumes for claims whose node was chosen, and binds claims to volumes meant for them.

    A claim whose name begins with ``fail`` fails once: its node is taken back, as a provisioner
    does that finds no room there. One whose name begins with ``stall`` is never provisioned.

    Attributes:
        nodes: the nodes that were chosen for each claim, in order.
    """

    def __init__(self, plane: BaseControlPlane, namespace: str) -> None:
        self.nodes: dict[str, list[str]] = {}
        self._plane = plane
        self._namespace = namespace
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._plane.delete_all("PersistentVolume")
        if self._error is not None and error is None:
            raise self._error

    def _run(self) -> None:
        try:
            while not self._ended.wait(_POLL_SECONDS):
                try:
                    self._turn()
                except ApiError as error:
                    if error.status not in (404, 409):  # somebody else was faster; look again
                        raise
        except BaseException as error:  # noqa: BLE001 - shown by the test's thread
            self._error = error

    def _turn(self) -> None:
        plane, namespace = self._plane, self._namespace
        volumes = plane.list_objects("PersistentVolume")
        for volume in volumes:
            if volume["status"].get("phase") == "Pending":
                path = plane.path("PersistentVolume", volume["metadata"]["name"])
                patch = {"status": {"phase": "Available"}}
                plane.request("PATCH", f"{path}/status", patch, content_type=_MERGE)
        claims = plane.list_objects("PersistentVolumeClaim", namespace)
        meant = {
            volume["spec"]["claimRef"]["uid"]: volume
            for volume in volumes
            if volume["spec"].get("claimRef", {}).get("uid")
        }
        for claim in claims:
            if claim["spec"].get("volumeName"):
                continue
            found = meant.get(claim["metadata"]["uid"])
            node = claim["metadata"].get("annotations", {}).get(SELECTED_NODE)
            if found is not None:
                self._bind(claim, found)
            elif node:
                self._provision(claim, node)

    def _provision(self, claim: dict[str, Any], node: str) -> None:
        name, plane = claim["metadata"]["name"], self._plane
        chosen = self.nodes.setdefault(name, [])
        if name.startswith("stall"):
            if not chosen:
                chosen.append(node)
            return
        path = plane.path("PersistentVolumeClaim", name, self._namespace)
        chosen.append(node)
        if name.startswith("fail") and len(chosen) == 1:
            patch = {"metadata": {"annotations": {SELECTED_NODE: None}}}
            plane.request("PATCH", path, patch, content_type=_MERGE)
            return
        volume = local_volume(
            f"made-{claim['metadata']['uid']}", node, claim["spec"]["storageClassName"], "1Gi"
        )
        volume["spec"]["claimRef"] = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": self._namespace,
            "name": name,
            "uid": claim["metadata"]["uid"],
        }
        self._bind(claim, plane.create(volume))

    def _bind(self, claim: dict[str, Any], volume: dict[str, Any]) -> None:
        plane, name = self._plane, volume["metadata"]["name"]
        path = plane.path("PersistentVolume", name)
        for what in (path, f"{path}/status"):
            patch = {"metadata": {"annotations": _BOUND}, "status": {"phase": "Bound"}}
            plane.request("PATCH", what, patch, content_type=_MERGE)
        path = plane.path("PersistentVolumeClaim", claim["metadata"]["name"], self._namespace)
        for what in (path, f"{path}/status"):
            patch = {
                "metadata": {"annotations": _BOUND},
                "spec": {"volumeName": name},
                "status": {"phase": "Bound", "capacity": volume["spec"]["capacity"]},
            }
            plane.request("PATCH", what, patch, content_type=_MERGE)
