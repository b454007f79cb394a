"""What became of every pod and node, as watches say: who was bound where, and never elsewhere.

Two threads watch as administrator, directly. The fake kubelets and the checks read it. A watch that
breaks is opened anew after a list, so that nothing that lasts is missed.
"""

import http.client
import threading
import time
from typing import Generic, TypeVar

import msgspec

from mooring.errors import KubeError
from tools.soak.api import Admin
from tools.soak.objects import Node, Pod

T = TypeVar("T", Pod, Node)


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str


class _List(msgspec.Struct):
    metadata: _ListMeta
    items: list[msgspec.Raw] = []


class WatchCache(Generic[T]):
    """The objects of one collection by name, kept up to date by a thread.

    Args:
        admin: asks.
        path: of the collection.
        kind: what its objects are.
    """

    def __init__(self, admin: Admin, path: str, kind: type[T]) -> None:
        self._admin = admin
        self._path = path
        self._kind: type[T] = kind
        self._lock = threading.Lock()
        self._objects: dict[str, T] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """End as soon as the API server says something, or is gone; nobody waits for it."""
        self._ended.set()

    def all(self) -> list[T]:
        """The objects as they are known now."""
        with self._lock:
            return list(self._objects.values())

    def seen(self, found: T) -> None:
        """An object was seen; called with every version of it that is seen."""

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                self._follow(self._list())
            except (OSError, http.client.HTTPException, KubeError, msgspec.MsgspecError):
                time.sleep(0.2)

    def _list(self) -> str:
        found = self._admin.plane.request("GET", self._path)
        items = msgspec.convert(found.get("items") or [], list[self._kind])  # type: ignore[name-defined]
        with self._lock:
            self._objects = {one.name: one for one in items}
            for one in items:
                self.seen(one)
        return str(found["metadata"]["resourceVersion"])

    def _follow(self, version: str) -> None:
        query = f"?watch=1&allowWatchBookmarks=true&resourceVersion={version}"
        for line in self._admin.watch(self._path + query):
            event = msgspec.json.decode(line, type=_Event)
            if event.type == "ERROR" or self._ended.is_set():
                return
            if event.type == "BOOKMARK":
                continue
            found = msgspec.json.decode(event.object, type=self._kind)
            with self._lock:
                if event.type == "DELETED":
                    self._objects.pop(found.name, None)
                else:
                    self._objects[found.name] = found
                self.seen(found)


class PodHistory(WatchCache[Pod]):
    """All pods, and where each was ever bound.

    Attributes:
        bound_to: the node by the pod's uid.
        moved: sentences about pods that changed their node, which must never be.
    """

    def __init__(self, admin: Admin) -> None:
        super().__init__(admin, "/api/v1/namespaces/default/pods", Pod)
        self.bound_to: dict[str, str] = {}
        self.moved: list[str] = []

    def seen(self, found: Pod) -> None:
        """Compare the node with the one seen first."""
        if not found.node:
            if found.metadata.uid in self.bound_to:
                self.moved.append(f"pod {found.name} was bound and is not any more")
            return
        first = self.bound_to.setdefault(found.metadata.uid, found.node)
        if first != found.node:
            self.moved.append(f"pod {found.name} was bound to {first}, then to {found.node}")


class History:
    """Pods and nodes."""

    def __init__(self, admin: Admin) -> None:
        self.pods = PodHistory(admin)
        self.nodes = WatchCache(admin, "/api/v1/nodes", Node)

    def start(self) -> None:
        """Begin to watch."""
        self.pods.start()
        self.nodes.start()

    def stop(self) -> None:
        """Stop watching."""
        self.pods.stop()
        self.nodes.stop()
