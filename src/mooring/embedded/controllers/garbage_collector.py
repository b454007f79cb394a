"""Deletes objects whose owners are gone, and deletes or orphans dependents.

Objects whose owners are all gone are deleted. An owner deleted in the foreground stays until its
dependents are gone; one that orphans its dependents releases them first.

parity v1.36.4: pkg/controller/garbagecollector
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final

import msgspec

from mooring.embedded.controllers.controller import Controller, EventHandler
from mooring.embedded.controllers.controller_client import ControllerClient
from mooring.embedded.controllers.pod_index import (
    Key,
    OwnerRef,
    PartialMetadata,
    PodIndex,
    PodSummary,
)
from mooring.embedded.graceful_deletion import FOREGROUND, ORPHAN, remove_finalizer
from mooring.embedded.resources import (
    BINDINGS,
    BY_KIND,
    CORE_EVENTS,
    EVENTS,
    PODS,
    RESOURCES,
    Resource,
)
from mooring.embedded.watch_history import WatchEvent

#: What owns nothing and changes all the time is not in the graph.
_IGNORED: Final = frozenset({BINDINGS, CORE_EVENTS, EVENTS})
_BATCH: Final = 50


class _PartialObject(msgspec.Struct):
    metadata: PartialMetadata


class _GraphNode(msgspec.Struct, frozen=True):
    """One object in the graph of owners and dependents."""

    resource: Resource
    namespace: str
    name: str
    uid: str
    owners: tuple[OwnerRef, ...]
    deleting: bool
    finalizers: tuple[str, ...]

    @property
    def key(self) -> Key:
        return _key(self.resource, self.namespace, self.name)

    @property
    def waits(self) -> bool:
        """Whether it goes when its dependents are gone."""
        return self.deleting and FOREGROUND in self.finalizers


_decode: Final = msgspec.json.Decoder(_PartialObject).decode


def _key(resource: Resource, namespace: str, name: str) -> Key:
    return f"{resource.full_name}:{namespace}", name


class GarbageCollector(Controller):
    """Deletes objects whose owners are gone."""

    def __init__(self, client: ControllerClient, pods: PodIndex) -> None:
        super().__init__(client, pods)
        self._graph: dict[str, _GraphNode] = {}
        self._uids: dict[Key, str] = {}
        self._dependents: dict[str, dict[str, None]] = {}

    @property
    def event_handlers(self) -> Mapping[Resource, EventHandler]:
        """Of everything."""
        return {
            one: partial(self._changed, one)
            for one in RESOURCES
            if one not in _IGNORED and one is not PODS
        }

    def _changed(self, resource: Resource, event: WatchEvent) -> Iterable[Key]:
        item = event.item
        if event.type == "DELETED":
            return self._remove(_key(resource, item.namespace, item.name))
        meta = _decode(item.body).metadata
        node = _GraphNode(
            resource,
            item.namespace,
            item.name,
            item.uid,
            tuple(meta.owner_references or ()),
            meta.deletion_timestamp is not None,
            tuple(meta.finalizers or ()),
        )
        return self._put(node)

    def pod_changed(self, old: PodSummary | None, new: PodSummary | None) -> Iterable[Key]:
        """The pod, what depended on it, and who waits for it to be gone."""
        if new is None:
            return self._remove(_key(PODS, *old.key)) if old is not None else ()
        if (
            old is not None
            and (old.uid, old.owners, old.deleting) == (new.uid, new.owners, new.deleting)
            and old.finalizers == new.finalizers
        ):
            return ()
        return self._put(
            _GraphNode(PODS, *new.key, new.uid, new.owners, new.deleting, new.finalizers)
        )

    def _put(self, node: _GraphNode) -> Iterable[Key]:
        key = node.key
        known = self._uids.get(key)
        noted = list(self._remove(key)) if known is not None and known != node.uid else []
        before = self._graph.get(node.uid)
        for owner in before.owners if before is not None else ():
            self._unlink(owner.uid, node.uid)
        self._graph[node.uid] = node
        self._uids[key] = node.uid
        for owner in node.owners:
            self._dependents.setdefault(owner.uid, {})[node.uid] = None
        if node.deleting and (FOREGROUND in node.finalizers or ORPHAN in node.finalizers):
            noted.append(key)
            noted.extend(one.key for one in self._dependents_of(node.uid))
        elif any(self._is_absent_or_waiting(owner) for owner in node.owners):
            noted.append(key)
        # An owner that waits wants to know that its dependent does not hold it any more.
        for owner in {*node.owners, *(before.owners if before is not None else ())}:
            noted.extend(self._if_waiting(owner.uid))
        return noted

    def _remove(self, key: Key) -> Iterable[Key]:
        uid = self._uids.pop(key, "")
        node = self._graph.pop(uid, None)
        if node is None:
            return ()
        for owner in node.owners:
            self._unlink(owner.uid, uid)
        noted = [one.key for one in self._dependents_of(uid)]
        for owner in node.owners:
            noted.extend(self._if_waiting(owner.uid))
        return noted

    def _if_waiting(self, uid: str) -> Iterable[Key]:
        owner = self._graph.get(uid)
        return (owner.key,) if owner is not None and owner.waits else ()

    def _unlink(self, owner: str, uid: str) -> None:
        dependents = self._dependents.get(owner)
        if dependents is not None:
            dependents.pop(uid, None)
            if not dependents:
                del self._dependents[owner]

    def _dependents_of(self, uid: str) -> list[_GraphNode]:
        found = (self._graph.get(one) for one in self._dependents.get(uid, ()))
        return [one for one in found if one is not None]

    def _is_absent_or_waiting(self, owner: OwnerRef) -> bool:
        """Whether an owner is gone or about to go with its dependents."""
        if not self._knows(owner):
            return False
        there = self._graph.get(owner.uid)
        return there is None or there.waits

    def _is_absent(self, owner: OwnerRef) -> bool:
        return self._knows(owner) and owner.uid not in self._graph

    @staticmethod
    def _knows(owner: OwnerRef) -> bool:
        """Whether the owner's kind is one that is in the graph; others are left alone."""
        resource = BY_KIND.get((owner.api_version, owner.kind))
        return resource is not None and resource not in _IGNORED

    def reconcile(self, key: Key, now: float) -> float | None:  # noqa: ARG002
        """Delete an object if nobody owns it, or do what its deletion waits for."""
        node = self._graph.get(self._uids.get(key, ""))
        if node is None:
            return None
        if node.deleting:
            if ORPHAN in node.finalizers:
                return self._orphan(node)
            if FOREGROUND in node.finalizers:
                return self._delete_dependents(node)
            return None
        if not node.owners:
            return None
        absent = [one for one in node.owners if self._is_absent(one)]
        waiting = [
            one for one in node.owners if one not in absent and self._is_absent_or_waiting(one)
        ]
        if not absent and not waiting:
            return None
        if len(absent) + len(waiting) < len(node.owners):
            self._release(node, {one.uid for one in (*absent, *waiting)})
            return None
        # A dependent that has dependents itself goes after them, as its owner does.
        deep = bool(waiting) and bool(self._dependents_of(node.uid))
        if FOREGROUND in node.finalizers or deep:
            policy = "Foreground"
        else:
            policy = "Orphan" if ORPHAN in node.finalizers else "Background"
        self._delete(node, policy)
        return None

    def _orphan(self, node: _GraphNode) -> float | None:
        for count, dependent in enumerate(self._dependents_of(node.uid)):
            if count == _BATCH:
                return 0.0
            self._release(dependent, {node.uid})
        self._drop_finalizer(node, ORPHAN)
        return None

    def _delete_dependents(self, node: _GraphNode) -> float | None:
        dependents = self._dependents_of(node.uid)
        if not any(
            owner.uid == node.uid and owner.block_owner_deletion
            for one in dependents
            for owner in one.owners
        ):
            self._drop_finalizer(node, FOREGROUND)
        return None  # the dependents are reconciled themselves, since their owner waits

    def _delete(self, node: _GraphNode, policy: str) -> None:
        self._client.delete(node.resource, node.namespace, node.name, node.uid, propagation=policy)

    def _release(self, node: _GraphNode, uids: set[str]) -> None:
        item = self._client.store.get(node.resource, node.namespace, node.name)
        if item is None or item.uid != node.uid:
            return
        obj = item.obj
        owners = obj["metadata"].get("ownerReferences") or []
        kept = [one for one in owners if one.get("uid") not in uids]
        if kept:
            obj["metadata"]["ownerReferences"] = kept
        else:
            obj["metadata"].pop("ownerReferences", None)
        self._client.update(node.resource, obj)

    def _drop_finalizer(self, node: _GraphNode, finalizer: str) -> None:
        item = self._client.store.get(node.resource, node.namespace, node.name)
        if item is None or item.uid != node.uid:
            return
        obj = item.obj
        remove_finalizer(obj, finalizer)
        self._client.update(node.resource, obj)
