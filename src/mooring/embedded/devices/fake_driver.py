"""A fake driver of devices: it publishes the slices that a file describes, and prepares nothing.

A `Controller` that `controller_manager` runs. A node gets its slices when it comes or gets the
labels for them, and loses them when it goes. A slice that is missing is published again; one that
somebody has changed stays changed, so that one can try out what a taint does.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from mooring.embedded.controllers.controller import Controller, EventHandler
from mooring.embedded.controllers.controller_client import ControllerClient
from mooring.embedded.controllers.pod_index import Key, PodIndex
from mooring.embedded.devices.device_pools import node_slices, shared_slices
from mooring.embedded.devices.forms import DriverForm
from mooring.embedded.resources import NODES, RESOURCE_SLICES, Obj, Resource
from mooring.embedded.watch_history import WatchEvent

#: The key of the pools that several nodes can reach; no node has such a name.
_SHARED: Final[Key] = ("", "/shared")


class FakeDriver(Controller):
    """Publishes the slices of all drivers.

    Args:
        client: reads and writes objects.
        pods: all pods; nobody needs them here.
        drivers: what to publish.
    """

    resource = NODES

    def __init__(
        self, client: ControllerClient, pods: PodIndex, drivers: Sequence[DriverForm]
    ) -> None:
        super().__init__(client, pods)
        self._drivers = tuple(drivers)
        self._names: Final = frozenset(driver.name for driver in drivers)
        self._published: dict[Key, set[str]] = {}
        self._shared_due = True

    @property
    def event_handlers(self) -> Mapping[Resource, EventHandler]:
        """Of nodes and slices."""
        return {NODES: self._node_changed, RESOURCE_SLICES: self._slice_changed}

    def _node_changed(self, event: WatchEvent) -> Iterable[Key]:
        item, old = event.item, event.old
        if event.type == "MODIFIED" and old is not None and old.labels == item.labels:
            return ()
        if self._shared_due:
            self._shared_due = False
            return _SHARED, ("", item.name)
        return (("", item.name),)

    def _slice_changed(self, event: WatchEvent) -> Iterable[Key]:
        item = event.item
        driver, node = item.fields
        if driver not in self._names:
            return ()
        key = ("", node) if node else _SHARED
        published = self._published.setdefault(key, set())
        if event.type != "DELETED":
            published.add(item.name)
            return ()
        published.discard(item.name)
        if not published:
            del self._published[key]
        return (key,)

    def reconcile(self, key: Key, now: float) -> float | None:  # noqa: ARG002
        """Publish what is missing of a node's slices, and remove what is there without reason."""
        wanted = {one["metadata"]["name"]: one for one in self._wanted(key)}
        published = self._published.get(key, set())
        for name in sorted(published - wanted.keys()):
            self._client.delete(RESOURCE_SLICES, "", name)
        for name, one in wanted.items():
            if name not in published:
                self._client.create(RESOURCE_SLICES, one)
        return None

    def _wanted(self, key: Key) -> list[Obj]:
        if key == _SHARED:
            return [one for driver in self._drivers for one in shared_slices(driver)]
        node = self._client.store.get(NODES, *key)
        if node is None:
            return []
        obj = node.obj
        return [one for driver in self._drivers for one in node_slices(driver, obj)]
