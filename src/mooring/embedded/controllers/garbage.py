"""Deletes what nobody owns any more, and works off what a deletion leaves to do.

Objects whose owners are all gone are deleted. An owner deleted in the foreground stays until its
dependents are gone; one deleted as an orphaning owner lets them go first.

parity v1.36.4: pkg/controller/garbagecollector
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final

import msgspec

from mooring.embedded.controllers.hand import Hand
from mooring.embedded.controllers.pod_index import Key, Meta, Owner, PodIndex, SeenPod
from mooring.embedded.controllers.work import Controller, Heard
from mooring.embedded.deleting import FOREGROUND, ORPHAN
from mooring.embedded.resources import (
    BINDINGS,
    BY_KIND,
    CORE_EVENTS,
    EVENTS,
    PODS,
    RESOURCES,
    Resource,
)
from mooring.embedded.store import Entry

#: What owns nothing and changes all the time is not looked at.
_IGNORED: Final = frozenset({BINDINGS, CORE_EVENTS, EVENTS})
_BATCH: Final = 50


class _Head(msgspec.Struct):
    metadata: Meta


class _Thing(msgspec.Struct, frozen=True):
    """One object, as far as its life is concerned."""

    resource: Resource
    namespace: str
    name: str
    uid: str
    owners: tuple[Owner, ...]
    deleting: bool
    finalizers: tuple[str, ...]

    @property
    def key(self) -> Key:
        return _key(self.resource, self.namespace, self.name)

    @property
    def waits(self) -> bool:
        """Whether it goes when its dependents are gone."""
        return self.deleting and FOREGROUND in self.finalizers


_decode: Final = msgspec.json.Decoder(_Head).decode


def _key(resource: Resource, namespace: str, name: str) -> Key:
    return f"{resource.full_name}:{namespace}", name


class Garbage(Controller):
    """Collects garbage.

    Args:
        hand: writes.
        pods: all pods.
    """

    def __init__(self, hand: Hand, pods: PodIndex) -> None:
        self._hand = hand
        self._pods = pods
        self._things: dict[str, _Thing] = {}
        self._uids: dict[Key, str] = {}
        self._dependents: dict[str, dict[str, None]] = {}

    @property
    def name(self) -> str:
        """For the log."""
        return self._hand.component

    @property
    def listens(self) -> Mapping[Resource, Heard]:
        """To everything."""
        return {
            one: partial(self._changed, one)
            for one in RESOURCES
            if one not in _IGNORED and one is not PODS
        }

    def _changed(self, resource: Resource, entry: Entry) -> Iterable[Key]:
        item = entry.item
        if entry.type == "DELETED":
            return self._gone(_key(resource, item.namespace, item.name))
        meta = _decode(item.body).metadata
        thing = _Thing(
            resource,
            item.namespace,
            item.name,
            item.uid,
            tuple(meta.owner_references or ()),
            meta.deletion_timestamp is not None,
            tuple(meta.finalizers or ()),
        )
        return self._there(thing)

    def pod_changed(self, old: SeenPod | None, new: SeenPod | None) -> Iterable[Key]:
        """The pod, what depended on it, and who waits for it to be gone."""
        if new is None:
            return self._gone(_key(PODS, *old.key)) if old is not None else ()
        if (
            old is not None
            and (old.uid, old.owners, old.deleting) == (new.uid, new.owners, new.deleting)
            and old.finalizers == new.finalizers
        ):
            return ()
        return self._there(
            _Thing(PODS, *new.key, new.uid, new.owners, new.deleting, new.finalizers)
        )

    def _there(self, thing: _Thing) -> Iterable[Key]:
        key = thing.key
        known = self._uids.get(key)
        noted = list(self._gone(key)) if known is not None and known != thing.uid else []
        before = self._things.get(thing.uid)
        for owner in before.owners if before is not None else ():
            self._unlink(owner.uid, thing.uid)
        self._things[thing.uid] = thing
        self._uids[key] = thing.uid
        for owner in thing.owners:
            self._dependents.setdefault(owner.uid, {})[thing.uid] = None
        if thing.deleting and (FOREGROUND in thing.finalizers or ORPHAN in thing.finalizers):
            noted.append(key)
            noted.extend(one.key for one in self._dependents_of(thing.uid))
        elif any(self._is_weak(owner) for owner in thing.owners):
            noted.append(key)
        # An owner that waits wants to know that its dependent does not hold it any more.
        for owner in {*thing.owners, *(before.owners if before is not None else ())}:
            noted.extend(self._if_waiting(owner.uid))
        return noted

    def _gone(self, key: Key) -> Iterable[Key]:
        uid = self._uids.pop(key, "")
        thing = self._things.pop(uid, None)
        if thing is None:
            return ()
        for owner in thing.owners:
            self._unlink(owner.uid, uid)
        noted = [one.key for one in self._dependents_of(uid)]
        for owner in thing.owners:
            noted.extend(self._if_waiting(owner.uid))
        return noted

    def _if_waiting(self, uid: str) -> Iterable[Key]:
        owner = self._things.get(uid)
        return (owner.key,) if owner is not None and owner.waits else ()

    def _unlink(self, owner: str, uid: str) -> None:
        dependents = self._dependents.get(owner)
        if dependents is not None:
            dependents.pop(uid, None)
            if not dependents:
                del self._dependents[owner]

    def _dependents_of(self, uid: str) -> list[_Thing]:
        found = (self._things.get(one) for one in self._dependents.get(uid, ()))
        return [one for one in found if one is not None]

    def _is_weak(self, owner: Owner) -> bool:
        """Whether an owner is gone or about to go with its dependents."""
        if not self._knows(owner):
            return False
        there = self._things.get(owner.uid)
        return there is None or there.waits

    def _is_absent(self, owner: Owner) -> bool:
        return self._knows(owner) and owner.uid not in self._things

    @staticmethod
    def _knows(owner: Owner) -> bool:
        """Whether the owner's kind is one that is looked at; others are left in peace."""
        resource = BY_KIND.get((owner.api_version, owner.kind))
        return resource is not None and resource not in _IGNORED

    def reconcile(self, key: Key, now: float) -> float | None:  # noqa: ARG002
        """Delete an object if nobody owns it, or do what its deletion waits for."""
        thing = self._things.get(self._uids.get(key, ""))
        if thing is None:
            return None
        if thing.deleting:
            if ORPHAN in thing.finalizers:
                return self._orphan(thing)
            if FOREGROUND in thing.finalizers:
                return self._delete_dependents(thing)
            return None
        if not thing.owners:
            return None
        absent = [one for one in thing.owners if self._is_absent(one)]
        waiting = [one for one in thing.owners if one not in absent and self._is_weak(one)]
        if not absent and not waiting:
            return None
        if len(absent) + len(waiting) < len(thing.owners):
            self._release(thing, {one.uid for one in (*absent, *waiting)})
            return None
        # A dependent that has dependents itself goes after them, as its owner does.
        deep = bool(waiting) and bool(self._dependents_of(thing.uid))
        if FOREGROUND in thing.finalizers or deep:
            policy = "Foreground"
        else:
            policy = "Orphan" if ORPHAN in thing.finalizers else "Background"
        self._delete(thing, policy)
        return None

    def _orphan(self, thing: _Thing) -> float | None:
        for count, dependent in enumerate(self._dependents_of(thing.uid)):
            if count == _BATCH:
                return 0.0
            self._release(dependent, {thing.uid})
        self._drop_finalizer(thing, ORPHAN)
        return None

    def _delete_dependents(self, thing: _Thing) -> float | None:
        dependents = self._dependents_of(thing.uid)
        if not any(
            owner.uid == thing.uid and owner.block_owner_deletion
            for one in dependents
            for owner in one.owners
        ):
            self._drop_finalizer(thing, FOREGROUND)
        return None  # the dependents are looked at themselves, since their owner waits

    def _delete(self, thing: _Thing, policy: str) -> None:
        self._hand.delete(
            thing.resource, thing.namespace, thing.name, thing.uid, propagation=policy
        )

    def _release(self, thing: _Thing, uids: set[str]) -> None:
        item = self._hand.store.get(thing.resource, thing.namespace, thing.name)
        if item is None or item.uid != thing.uid:
            return
        obj = item.obj
        owners = obj["metadata"].get("ownerReferences") or []
        kept = [one for one in owners if one.get("uid") not in uids]
        if kept:
            obj["metadata"]["ownerReferences"] = kept
        else:
            obj["metadata"].pop("ownerReferences", None)
        self._hand.update(thing.resource, obj)

    def _drop_finalizer(self, thing: _Thing, finalizer: str) -> None:
        item = self._hand.store.get(thing.resource, thing.namespace, thing.name)
        if item is None or item.uid != thing.uid:
            return
        obj = item.obj
        kept = [one for one in obj["metadata"].get("finalizers") or () if one != finalizer]
        if kept:
            obj["metadata"]["finalizers"] = kept
        else:
            obj["metadata"].pop("finalizers", None)
        self._hand.update(thing.resource, obj)
