"""A namespace that ends is emptied first; one that lives has its default service account.

parity v1.36.4: pkg/controller/namespace/deletion, pkg/controller/serviceaccount
"""

from collections.abc import Iterable, Mapping
from typing import Final

from mooring.embedded.controllers.controller import Controller, EventHandler, own_key
from mooring.embedded.controllers.controller_client import ControllerClient
from mooring.embedded.controllers.pod_index import Key, PodIndex, PodSummary
from mooring.embedded.resources import (
    BINDINGS,
    EVENTS,
    NAMESPACES,
    PODS,
    RESOURCES,
    SERVICE_ACCOUNTS,
    Resource,
)
from mooring.embedded.stored_object import StoredObject
from mooring.embedded.watch_history import WatchEvent

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


class NamespaceController(Controller):
    """Empties namespaces that end, and gives the others a service account."""

    resource = NAMESPACES

    def __init__(self, client: ControllerClient, pods: PodIndex) -> None:
        super().__init__(client, pods)
        self._ending: set[str] = set()

    @property
    def event_handlers(self) -> Mapping[Resource, EventHandler]:
        """Of namespaces and service accounts."""
        return {NAMESPACES: own_key, SERVICE_ACCOUNTS: self._account_changed}

    def _account_changed(self, event: WatchEvent) -> Iterable[Key]:
        if event.type == "DELETED" and event.item.name == _DEFAULT:
            return (("", event.item.namespace),)
        return ()

    def pod_changed(self, old: PodSummary | None, new: PodSummary | None) -> Iterable[Key]:
        """The namespace that waits for its last pod."""
        if new is None and old is not None and old.key[0] in self._ending:
            return (("", old.key[0]),)
        return ()

    def sync_deleted(self, key: Key, now: float) -> float | None:  # noqa: ARG002
        """Forget a namespace that is gone."""
        self._ending.discard(key[1])
        return None

    def sync(self, key: Key, item: StoredObject, now: float) -> float | None:  # noqa: ARG002
        """Bring one namespace to its end, or to what it needs."""
        name = key[1]
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
            self._client.update(NAMESPACES, obj, "finalize")
        return None

    def _ensure_account(self, namespace: str) -> None:
        if self._client.store.get(SERVICE_ACCOUNTS, namespace, _DEFAULT) is not None:
            return
        account = {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": {"name": _DEFAULT}}
        self._client.create(SERVICE_ACCOUNTS, account, namespace)

    def _empty(self, namespace: str) -> float | None:
        """Delete what is in a namespace; in how many seconds to go on, None if it is empty."""
        deleted, held = 0, False
        for resource in _CONTENT:
            for item in self._client.store.all(resource, namespace):
                if b'"deletionTimestamp"' in item.body and _is_ending(item.obj):
                    held = True
                    continue
                if deleted == _BATCH:
                    return 0.0
                deleted += 1
                self._client.delete(resource, namespace, item.name, propagation="Background")
        if deleted:
            return 0.0
        return _AGAIN if held else None


def _is_ending(obj: dict[str, object]) -> bool:
    metadata = obj["metadata"]
    return isinstance(metadata, dict) and "deletionTimestamp" in metadata
