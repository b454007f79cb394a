"""Binds claims to persistent volumes, and provides volumes for those that fit none.

Every provisioner is taken to exist: what a storage class asks for is there at once. Claims of
classes that wait for a consumer are left to the scheduler until it has chosen a node or a volume.

parity v1.36.4: pkg/controller/volume/persistentvolume, as far as phases and bindings go
"""

from collections.abc import Iterable, Mapping
from typing import Final

from mooring.embedded.controllers import moments
from mooring.embedded.controllers.hand import Hand
from mooring.embedded.controllers.pod_index import Key
from mooring.embedded.controllers.volume_fit import fitting, provisioned, storage_class_of
from mooring.embedded.controllers.work import Controller, Heard
from mooring.embedded.resources import (
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
    Obj,
    Resource,
)
from mooring.embedded.store import Entry, Item
from mooring.model.storage import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    NO_PROVISIONER,
    SELECTED_NODE,
    WAIT_FOR_FIRST_CONSUMER,
)

_PROVISIONER: Final = "volume.kubernetes.io/storage-provisioner"
_VOLUME: Final = ""


class Volumes(Controller):
    """Works on claims and on volumes; a key without namespace is a volume's.

    Args:
        hand: writes.
    """

    def __init__(self, hand: Hand) -> None:
        self._hand = hand
        self._free: dict[str, set[str]] = {}
        self._class_of: dict[str, str] = {}
        self._kept_for: dict[Key, set[str]] = {}
        self._claim_of: dict[str, Key] = {}
        self._waiting: dict[str, set[Key]] = {}

    @property
    def name(self) -> str:
        """For the log."""
        return self._hand.component

    @property
    def listens(self) -> Mapping[Resource, Heard]:
        """To claims, volumes and classes."""
        return {
            STORAGE_CLASSES: self._class_changed,
            PERSISTENT_VOLUMES: self._volume_changed,
            PERSISTENT_VOLUME_CLAIMS: self._claim_changed,
        }

    def _class_changed(self, entry: Entry) -> Iterable[Key]:
        return list(self._waiting.get(entry.item.name, ()))

    def _volume_changed(self, entry: Entry) -> Iterable[Key]:
        item = entry.item
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
            if entry.type != "DELETED":
                self._claim_of[item.name] = claim
                self._kept_for.setdefault(claim, set()).add(item.name)
        elif entry.type != "DELETED":
            name = obj["spec"].get("storageClassName") or ""
            self._class_of[item.name] = name
            self._free.setdefault(name, set()).add(item.name)
            keys.extend(self._waiting.get(name, ()))
        return keys

    def _claim_changed(self, entry: Entry) -> Iterable[Key]:
        item = entry.item
        key = (item.namespace, item.name)
        obj = item.obj
        name = storage_class_of(obj)
        volume = obj["spec"].get("volumeName")
        if entry.type == "DELETED" or volume:
            waiting = self._waiting.get(name)
            if waiting is not None:
                waiting.discard(key)
        else:
            self._waiting.setdefault(name, set()).add(key)
        return [key, *([(_VOLUME, volume)] if volume else [])]

    def reconcile(self, key: Key, now: float) -> float | None:
        """Look at one claim or one volume."""
        if key[0] == _VOLUME:
            item = self._hand.store.get(PERSISTENT_VOLUMES, "", key[1])
            if item is not None:
                self._look_at_volume(item, now)
            return None
        item = self._hand.store.get(PERSISTENT_VOLUME_CLAIMS, *key)
        if item is not None:
            obj = item.obj
            if obj["spec"].get("volumeName"):
                self._follow(item, obj, now)
            elif not obj["metadata"].get("deletionTimestamp"):
                self._seek(obj, now)
        return None

    # -- claims

    def _follow(self, item: Item, claim: Obj, now: float) -> None:
        """A claim names its volume: both are bound if the volume agrees."""
        there = self._hand.store.get(PERSISTENT_VOLUMES, "", claim["spec"]["volumeName"])
        if there is None:
            if BIND_COMPLETED in (claim["metadata"].get("annotations") or {}):
                self._set_phase(item, claim, "Lost")
            return
        volume = there.obj
        wanted = volume["spec"].get("claimRef")
        if wanted is not None and not _is_for(wanted, claim):
            return
        if wanted is None or not wanted.get("uid"):
            self._bind(volume, claim, by_us=wanted is None)
            return  # that it is bound is heard of, and the claim is looked at again
        self._complete(claim, volume, now)

    def _seek(self, claim: Obj, now: float) -> None:
        """A claim has no volume: find one that fits, or have one made."""
        name = storage_class_of(claim)
        item = self._hand.store.get(STORAGE_CLASSES, "", name) if name else None
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
            self._hand.tell(claim, "Normal", "WaitForFirstConsumer", message, now)
            return
        if not waits:
            found = fitting(claim, self._candidates(name))
            if found is not None:
                self._complete(claim, self._bind(found, claim, by_us=True), now)
                return
        self._provide(claim, kind, node, now)

    def _provide(self, claim: Obj, kind: Obj | None, node: str, now: float) -> None:
        name = storage_class_of(claim)
        if kind is None or kind.get("provisioner") == NO_PROVISIONER:
            if kind is None and name:
                reason = "ProvisioningFailed"
                message = f'storageclass.storage.k8s.io "{name}" not found'
                self._hand.tell(claim, "Warning", reason, message, now)
                return
            message = "no persistent volumes available for this claim and no storage class is set"
            self._hand.tell(claim, "Normal", "FailedBinding", message, now)
            return
        chosen = self._hand.store.get(NODES, "", node) if node else None
        volume = provisioned(claim, kind, chosen.obj if chosen is not None else None)
        metadata = volume["metadata"]
        there = self._hand.store.get(PERSISTENT_VOLUMES, "", metadata["name"])
        made = there or self._hand.create(PERSISTENT_VOLUMES, volume)
        message = f"Successfully provisioned volume {made.name}"
        self._hand.tell(claim, "Normal", "ProvisioningSucceeded", message, now)
        annotations = claim["metadata"].setdefault("annotations", {})
        annotations[_PROVISIONER] = kind["provisioner"]
        self._complete(claim, made.obj, now)

    def _candidates(self, name: str) -> list[Obj]:
        found = []
        for volume in sorted(self._free.get(name, ())):
            item = self._hand.store.get(PERSISTENT_VOLUMES, "", volume)
            if item is not None:
                found.append(item.obj)
        return found

    def _reserved(self, claim: Obj) -> Obj | None:
        """A volume that is kept for this claim by name."""
        metadata = claim["metadata"]
        for name in sorted(self._kept_for.get((metadata["namespace"], metadata["name"]), ())):
            item = self._hand.store.get(PERSISTENT_VOLUMES, "", name)
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
        return self._hand.update(PERSISTENT_VOLUMES, volume).obj

    def _complete(self, claim: Obj, volume: Obj, now: float) -> None:  # noqa: ARG002
        """Write into the claim that it has the volume."""
        spec, metadata = claim["spec"], claim["metadata"]
        annotations = metadata.setdefault("annotations", {})
        if not spec.get("volumeName"):
            spec["volumeName"] = volume["metadata"]["name"]
            annotations[BOUND_BY_CONTROLLER] = "yes"
        if annotations.get(BIND_COMPLETED) != "yes":
            annotations[BIND_COMPLETED] = "yes"
            claim = self._hand.update(PERSISTENT_VOLUME_CLAIMS, claim).obj
        item = self._hand.store.get(
            PERSISTENT_VOLUME_CLAIMS, metadata["namespace"], metadata["name"]
        )
        if item is not None:
            status = {
                **(claim.get("status") or {}),
                "phase": "Bound",
                "accessModes": volume["spec"].get("accessModes"),
                "capacity": volume["spec"].get("capacity"),
            }
            self._hand.set_status(PERSISTENT_VOLUME_CLAIMS, item, claim, status)

    def _set_phase(self, item: Item, claim: Obj, phase: str) -> None:
        status = {**(claim.get("status") or {}), "phase": phase}
        self._hand.set_status(PERSISTENT_VOLUME_CLAIMS, item, claim, status)

    # -- volumes

    def _look_at_volume(self, item: Item, now: float) -> None:
        volume = item.obj
        wanted = volume["spec"].get("claimRef")
        if wanted is None or not wanted.get("uid"):
            self._set_volume(item, volume, "Available", now)
            return
        there = self._hand.store.get(
            PERSISTENT_VOLUME_CLAIMS, wanted.get("namespace", ""), wanted.get("name", "")
        )
        if there is not None and there.uid == wanted["uid"]:
            claimed = there.obj["spec"].get("volumeName")
            bound = claimed == item.name
            self._set_volume(item, volume, "Bound" if bound else "Available", now)
            return
        if volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
            self._hand.delete(PERSISTENT_VOLUMES, "", item.name, item.uid)
            return
        self._set_volume(item, volume, "Released", now)

    def _set_volume(self, item: Item, volume: Obj, phase: str, now: float) -> None:
        status = dict(volume.get("status") or {})
        if status.get("phase") == phase:
            return
        status["phase"] = phase
        status["lastPhaseTransitionTime"] = moments.written(now)
        self._hand.set_status(PERSISTENT_VOLUMES, item, volume, status)


def _is_for(wanted: Obj, claim: Obj) -> bool:
    """Whether a volume's claimRef means this claim."""
    metadata = claim["metadata"]
    if (wanted.get("namespace"), wanted.get("name")) != (metadata["namespace"], metadata["name"]):
        return False
    return wanted.get("uid") in (None, "", metadata["uid"])
