"""A namespace that ends is emptied first; one that lives has its default service account.

parity v1.36.4: pkg/controller/namespace/deletion, pkg/controller/serviceaccount
"""

from collections.abc import Iterable, Mapping
from typing import Final

from mooring.embedded.controllers.hand import Hand
from mooring.embedded.controllers.pod_index import Key, PodIndex, SeenPod
from mooring.embedded.controllers.work import Controller, Heard, own_key
from mooring.embedded.resources import (
    BINDINGS,
    EVENTS,
    NAMESPACES,
    PODS,
    RESOURCES,
    SERVICE_ACCOUNTS,
    Resource,
)
from mooring.embedded.store import Entry

_FINALIZER: Final = "kubernetes"
_DEFAULT: Final = "default"
#: So many objects are deleted at once.
_BATCH: Final = 50
#: How often to look whether what others hold is gone.
_AGAIN: Final = 1.0
# Owners before pods, so that nobody makes pods anew; both forms of events are one resource.
_CONTENT: Final = (
    *(one for one in RESOURCES if one.namespaced and one not in (BINDINGS, EVENTS, PODS)),
    PODS,
)


class Namespaces(Controller):
    """Empties namespaces that end, and gives the others a service account.

    Args:
        hand: writes.
        pods: all pods.
    """

    def __init__(self, hand: Hand, pods: PodIndex) -> None:
        self._hand = hand
        self._pods = pods
        self._ending: set[str] = set()

    @property
    def name(self) -> str:
        """For the log."""
        return self._hand.component

    @property
    def listens(self) -> Mapping[Resource, Heard]:
        """To namespaces and service accounts."""
        return {NAMESPACES: own_key, SERVICE_ACCOUNTS: self._account_changed}

    def _account_changed(self, entry: Entry) -> Iterable[Key]:
        if entry.type == "DELETED" and entry.item.name == _DEFAULT:
            return (("", entry.item.namespace),)
        return ()

    def pod_changed(self, old: SeenPod | None, new: SeenPod | None) -> Iterable[Key]:
        """The namespace that waits for its last pod."""
        if new is None and old is not None and old.key[0] in self._ending:
            return (("", old.key[0]),)
        return ()

    def reconcile(self, key: Key, now: float) -> float | None:  # noqa: ARG002
        """Bring one namespace to its end, or to what it needs."""
        name = key[1]
        item = self._hand.store.get(NAMESPACES, "", name)
        if item is None:
            self._ending.discard(name)
            return None
        obj = item.obj
        if not obj["metadata"].get("deletionTimestamp"):
            self._ending.discard(name)
            self._ensure_account(name)
            return None
        self._ending.add(name)
        left = self._empty(name)
        if left is not None:
            return left
        finalizers = obj["spec"].get("finalizers") or []
        if _FINALIZER in finalizers:
            obj["spec"]["finalizers"] = [one for one in finalizers if one != _FINALIZER]
            self._hand.update(NAMESPACES, obj, "finalize")
        return None

    def _ensure_account(self, namespace: str) -> None:
        if self._hand.store.get(SERVICE_ACCOUNTS, namespace, _DEFAULT) is not None:
            return
        account = {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": {"name": _DEFAULT}}
        self._hand.create(SERVICE_ACCOUNTS, account, namespace)

    def _empty(self, namespace: str) -> float | None:
        """Delete what is in a namespace; in how many seconds to go on, None if it is empty."""
        deleted, held = 0, False
        for resource in _CONTENT:
            for item in self._hand.store.all(resource, namespace):
                if b'"deletionTimestamp"' in item.body and _is_ending(item.obj):
                    held = True
                    continue
                if deleted == _BATCH:
                    return 0.0
                deleted += 1
                self._hand.delete(resource, namespace, item.name, propagation="Background")
        if deleted:
            return 0.0
        return _AGAIN if held else None


def _is_ending(obj: dict[str, object]) -> bool:
    metadata = obj["metadata"]
    return isinstance(metadata, dict) and "deletionTimestamp" in metadata
