"""Binds claims to persistent volumes, and provides volumes for those that fit none.

Every provisioner is taken to exist: what a storage class asks for is there at once. Claims of
classes that wait for a consumer are left to the scheduler until it has chosen a node or a volume.

parity v1.36.4: pkg/controller/volume/persistentvolume, as far as phases and bindings go
"""

from collections.abc import Iterable, Mapping
from typing import Final

from mooring.embedded.controllers.controller import Controller, EventHandler
from mooring.embedded.controllers.controller_client import ControllerClient
from mooring.embedded.controllers.pod_index import Key, PodIndex
from mooring.embedded.controllers.timestamps import format_time
from mooring.embedded.controllers.volumes.volume_matching import (
    find_matching_volume,
    provision_volume,
    storage_class_name,
)
from mooring.embedded.resources import (
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
    Obj,
    Resource,
)
from mooring.embedded.stored_object import StoredObject
from mooring.embedded.watch_history import WatchEvent
from mooring.model.storage import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    NO_PROVISIONER,
    SELECTED_NODE,
    WAIT_FOR_FIRST_CONSUMER,
)

_PROVISIONER: Final = "volume.kubernetes.io/storage-provisioner"
_VOLUME: Final = ""


class PersistentVolumeController(Controller):
    """Works on claims and on volumes; a key without namespace is a volume's."""

    resource = PERSISTENT_VOLUME_CLAIMS

    def __init__(self, client: ControllerClient, pods: PodIndex) -> None:
        super().__init__(client, pods)
        self._free: dict[str, set[str]] = {}
        self._class_of: dict[str, str] = {}
        self._kept_for: dict[Key, set[str]] = {}
        self._claim_of: dict[str, Key] = {}
        self._waiting: dict[str, set[Key]] = {}

    @property
    def event_handlers(self) -> Mapping[Resource, EventHandler]:
        """Of claims, volumes and classes."""
        return {
            STORAGE_CLASSES: self._class_changed,
            PERSISTENT_VOLUMES: self._volume_changed,
            PERSISTENT_VOLUME_CLAIMS: self._claim_changed,
        }

    def _class_changed(self, event: WatchEvent) -> Iterable[Key]:
        return list(self._waiting.get(event.item.name, ()))

    def _volume_changed(self, event: WatchEvent) -> Iterable[Key]:
        item = event.item
        known = self._class_of.pop(item.name, None)
        if known is not None:
            self._free[known].discard(item.name)
        before = self._claim_of.pop(item.name, None)
        if before is not None:
            self._kept_for[before].discard(item.name)
            if not self._kept_for[before]:
                del self._kept_for[before]
        obj = item.obj
        keys: list[Key] = [(_VOLUME, item.name)]
        wanted = obj["spec"].get("claimRef")
        if wanted:
            claim = (wanted.get("namespace", ""), wanted.get("name", ""))
            keys.append(claim)
            if event.type != "DELETED":
                self._claim_of[item.name] = claim
                self._kept_for.setdefault(claim, set()).add(item.name)
        elif event.type != "DELETED":
            name = obj["spec"].get("storageClassName") or ""
            self._class_of[item.name] = name
            self._free.setdefault(name, set()).add(item.name)
            keys.extend(self._waiting.get(name, ()))
        return keys

    def _claim_changed(self, event: WatchEvent) -> Iterable[Key]:
        item = event.item
        key = (item.namespace, item.name)
        obj = item.obj
        name = storage_class_name(obj)
        volume = obj["spec"].get("volumeName")
        if event.type == "DELETED" or volume:
            waiting = self._waiting.get(name)
            if waiting is not None:
                waiting.discard(key)
        else:
            self._waiting.setdefault(name, set()).add(key)
        return [key, *([(_VOLUME, volume)] if volume else [])]

    def reconcile(self, key: Key, now: float) -> float | None:
        """Reconcile one claim or one volume."""
        if key[0] != _VOLUME:
            return super().reconcile(key, now)
        item = self._client.store.get(PERSISTENT_VOLUMES, "", key[1])
        if item is not None:
            self._sync_volume(item, now)
        return None

    def sync(self, key: Key, item: StoredObject, now: float) -> float | None:  # noqa: ARG002
        """Bind one claim, or complete its binding."""
        obj = item.obj
        if obj["spec"].get("volumeName"):
            self._sync_bound_claim(item, obj, now)
        elif not obj["metadata"].get("deletionTimestamp"):
            self._sync_unbound_claim(obj, now)
        return None

    # -- claims

    def _sync_bound_claim(self, item: StoredObject, claim: Obj, now: float) -> None:
        """A claim names its volume: both are bound if the volume agrees."""
        there = self._client.store.get(PERSISTENT_VOLUMES, "", claim["spec"]["volumeName"])
        if there is None:
            if BIND_COMPLETED in (claim["metadata"].get("annotations") or {}):
                self._set_claim_phase(item, claim, "Lost")
            return
        volume = there.obj
        wanted = volume["spec"].get("claimRef")
        if wanted is not None and not _is_for(wanted, claim):
            return
        if wanted is None or not wanted.get("uid"):
            self._bind(volume, claim, by_us=wanted is None)
            return  # the change of the volume has the claim reconciled again
        self._complete(claim, volume, now)

    def _sync_unbound_claim(self, claim: Obj, now: float) -> None:
        """A claim has no volume: find one that fits, or have one made."""
        name = storage_class_name(claim)
        item = self._client.store.get(STORAGE_CLASSES, "", name) if name else None
        kind = item.obj if item is not None else None
        waits = kind is not None and kind.get("volumeBindingMode") == WAIT_FOR_FIRST_CONSUMER
        annotations = claim["metadata"].get("annotations") or {}
        node = annotations.get(SELECTED_NODE, "")
        reserved = self._reserved(claim)
        if reserved is not None:
            self._complete(claim, reserved, now)
            return
        if waits and not node:
            message = "waiting for first consumer to be created before binding"
            self._client.record_event(claim, "Normal", "WaitForFirstConsumer", message, now)
            return
        if not waits:
            found = find_matching_volume(claim, self._candidates(name))
            if found is not None:
                self._complete(claim, self._bind(found, claim, by_us=True), now)
                return
        self._provision(claim, kind, node, now)

    def _provision(self, claim: Obj, kind: Obj | None, node: str, now: float) -> None:
        name = storage_class_name(claim)
        if kind is None or kind.get("provisioner") == NO_PROVISIONER:
            if kind is None and name:
                reason = "ProvisioningFailed"
                message = f'storageclass.storage.k8s.io "{name}" not found'
                self._client.record_event(claim, "Warning", reason, message, now)
                return
            message = "no persistent volumes available for this claim and no storage class is set"
            self._client.record_event(claim, "Normal", "FailedBinding", message, now)
            return
        chosen = self._client.store.get(NODES, "", node) if node else None
        volume = provision_volume(claim, kind, chosen.obj if chosen is not None else None)
        metadata = volume["metadata"]
        there = self._client.store.get(PERSISTENT_VOLUMES, "", metadata["name"])
        made = there or self._client.create(PERSISTENT_VOLUMES, volume)
        message = f"Successfully provisioned volume {made.name}"
        self._client.record_event(claim, "Normal", "ProvisioningSucceeded", message, now)
        annotations = claim["metadata"].setdefault("annotations", {})
        annotations[_PROVISIONER] = kind["provisioner"]
        self._complete(claim, made.obj, now)

    def _candidates(self, name: str) -> list[Obj]:
        found = []
        for volume in sorted(self._free.get(name, ())):
            item = self._client.store.get(PERSISTENT_VOLUMES, "", volume)
            if item is not None:
                found.append(item.obj)
        return found

    def _reserved(self, claim: Obj) -> Obj | None:
        """A volume that is kept for this claim by name."""
        metadata = claim["metadata"]
        for name in sorted(self._kept_for.get((metadata["namespace"], metadata["name"]), ())):
            item = self._client.store.get(PERSISTENT_VOLUMES, "", name)
            if item is None:
                continue
            obj = item.obj
            wanted = obj["spec"].get("claimRef")
            if wanted is not None and _is_for(wanted, claim):
                return obj if wanted.get("uid") else self._bind(obj, claim, by_us=False)
        return None

    def _bind(self, volume: Obj, claim: Obj, *, by_us: bool) -> Obj:
        """Reserve a volume for a claim; the volume as it is then."""
        metadata = claim["metadata"]
        volume["spec"]["claimRef"] = {
            "kind": "PersistentVolumeClaim",
            "apiVersion": "v1",
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
        }
        if by_us:
            volume["metadata"].setdefault("annotations", {})[BOUND_BY_CONTROLLER] = "yes"
        return self._client.update(PERSISTENT_VOLUMES, volume).obj

    def _complete(self, claim: Obj, volume: Obj, now: float) -> None:  # noqa: ARG002
        """Write into the claim that it has the volume."""
        spec, metadata = claim["spec"], claim["metadata"]
        annotations = metadata.setdefault("annotations", {})
        if not spec.get("volumeName"):
            spec["volumeName"] = volume["metadata"]["name"]
            annotations[BOUND_BY_CONTROLLER] = "yes"
        if annotations.get(BIND_COMPLETED) != "yes":
            annotations[BIND_COMPLETED] = "yes"
            claim = self._client.update(PERSISTENT_VOLUME_CLAIMS, claim).obj
        item = self._client.store.get(
            PERSISTENT_VOLUME_CLAIMS, metadata["namespace"], metadata["name"]
        )
        if item is not None:
            status = {
                **(claim.get("status") or {}),
                "phase": "Bound",
                "accessModes": volume["spec"].get("accessModes"),
                "capacity": volume["spec"].get("capacity"),
            }
            self._client.set_status(PERSISTENT_VOLUME_CLAIMS, item, claim, status)

    def _set_claim_phase(self, item: StoredObject, claim: Obj, phase: str) -> None:
        status = {**(claim.get("status") or {}), "phase": phase}
        self._client.set_status(PERSISTENT_VOLUME_CLAIMS, item, claim, status)

    # -- volumes

    def _sync_volume(self, item: StoredObject, now: float) -> None:
        volume = item.obj
        wanted = volume["spec"].get("claimRef")
        if wanted is None or not wanted.get("uid"):
            self._set_volume_phase(item, volume, "Available", now)
            return
        there = self._client.store.get(
            PERSISTENT_VOLUME_CLAIMS, wanted.get("namespace", ""), wanted.get("name", "")
        )
        if there is not None and there.uid == wanted["uid"]:
            claimed = there.obj["spec"].get("volumeName")
            bound = claimed == item.name
            self._set_volume_phase(item, volume, "Bound" if bound else "Available", now)
            return
        if volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
            self._client.delete(PERSISTENT_VOLUMES, "", item.name, item.uid)
            return
        self._set_volume_phase(item, volume, "Released", now)

    def _set_volume_phase(self, item: StoredObject, volume: Obj, phase: str, now: float) -> None:
        status = dict(volume.get("status") or {})
        if status.get("phase") == phase:
            return
        status["phase"] = phase
        status["lastPhaseTransitionTime"] = format_time(now)
        self._client.set_status(PERSISTENT_VOLUMES, item, volume, status)


def _is_for(wanted: Obj, claim: Obj) -> bool:
    """Whether a volume's claimRef means this claim."""
    metadata = claim["metadata"]
    if (wanted.get("namespace"), wanted.get("name")) != (metadata["namespace"], metadata["name"]):
        return False
    return wanted.get("uid") in (None, "", metadata["uid"])
