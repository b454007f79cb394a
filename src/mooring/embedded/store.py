"""What the API server keeps: objects as bytes, one version number, and the history of late.

Owns every object and the order of changes. `api` is the only one that writes; controllers listen,
watches read the history. It checks nothing and does no I/O.

An object is kept as the JSON that clients get, so that lists and watches copy bytes; whoever needs
the content decodes it.
"""

from collections.abc import Callable
from typing import Final

from mooring.embedded.resources import CORE_EVENTS, EVENTS, Obj, Resource
from mooring.embedded.stored_object import StoredObject
from mooring.embedded.watch_history import WatchEvent, WatchHistory

Listener = Callable[[WatchEvent], None]

#: So many changes of a resource are remembered; a watch that is further behind has to begin anew.
HISTORY: Final = 16_384


class _ResourceTable:
    """The objects of one resource, by namespace and name."""

    def __init__(self, history: WatchHistory) -> None:
        self.namespaces: dict[str, dict[str, StoredObject]] = {}
        self.history = history
        self.listeners: list[Listener] = []
        self._ordered: dict[str, list[StoredObject]] = {}

    def get(self, namespace: str, name: str) -> StoredObject | None:
        objects = self.namespaces.get(namespace)
        return objects.get(name) if objects is not None else None

    def set(self, item: StoredObject) -> None:
        self.namespaces.setdefault(item.namespace, {})[item.name] = item
        self._ordered.pop(item.namespace, None)

    def pop(self, namespace: str, name: str) -> StoredObject:
        objects = self.namespaces[namespace]
        item = objects.pop(name)
        if not objects:
            del self.namespaces[namespace]
        self._ordered.pop(namespace, None)
        return item

    def ordered(self, namespace: str) -> list[StoredObject]:
        """The objects of one namespace by name."""
        found = self._ordered.get(namespace)
        if found is None:
            objects = self.namespaces.get(namespace, {})
            found = self._ordered[namespace] = [objects[name] for name in sorted(objects)]
        return found


class Store:
    """All objects of a cluster.

    Args:
        history: how many changes of each resource are remembered.
        version: the version to begin with.

    Attributes:
        version: grows with every change; an object's version is that of its last change.
    """

    def __init__(self, *, history: int = HISTORY, version: int = 1) -> None:
        self.version = version
        self._size = history
        self._compacted = version
        self._tables: dict[Resource, _ResourceTable] = {}

    def get(self, resource: Resource, namespace: str, name: str) -> StoredObject | None:
        """One object; None if there is none. The namespace is empty for kinds that are in none."""
        return self._table(resource).get(namespace, name)

    def all(self, resource: Resource, namespace: str = "") -> list[StoredObject]:
        """The objects of a resource, those of one namespace if it is given, in their order."""
        table = self._table(resource)
        if namespace or not resource.namespaced:
            return list(table.ordered(namespace))
        return [item for objects in sorted(table.namespaces) for item in table.ordered(objects)]

    def count(self, resource: Resource) -> int:
        """How many objects of a resource there are."""
        return sum(map(len, self._table(resource).namespaces.values()))

    def put(self, resource: Resource, obj: Obj, *, creator: str = "") -> StoredObject:
        """Create or replace an object; its resourceVersion is set in place."""
        metadata = obj["metadata"]
        table = self._table(resource)
        old = table.get(metadata.get("namespace", ""), metadata["name"])
        self.version += 1
        if old is not None:
            creator = old.creator
        item = StoredObject(_storage_resource(resource), obj, self.version, creator)
        table.set(item)
        self._notify(table, WatchEvent("MODIFIED" if old is not None else "ADDED", item, old))
        return item

    def remove(
        self, resource: Resource, namespace: str, name: str, obj: Obj | None = None
    ) -> StoredObject:
        """Take an object away.

        Args:
            resource: what it is.
            namespace: where it is.
            name: its name.
            obj: what it looked like at the end, if not as it was stored.

        Returns:
            The object as it was at the end, with the version of its removal.
        """
        table = self._table(resource)
        old = table.pop(namespace, name)
        self.version += 1
        last = StoredObject(
            _storage_resource(resource), old.obj if obj is None else obj, self.version, old.creator
        )
        self._notify(table, WatchEvent("DELETED", last, old))
        return last

    def listen(self, resource: Resource, listener: Listener) -> None:
        """Have a function called after each change of a resource; it must not write here."""
        self._table(resource).listeners.append(listener)

    def history(self, resource: Resource) -> WatchHistory:
        """The changes of a resource that are remembered."""
        return self._table(resource).history

    def compact(self) -> None:
        """Forget all history, as a real store does after some minutes."""
        self._compacted = self.version
        for table in self._tables.values():
            table.history.compact()
            table.history.compacted = self.version

    def as_of(self, resource: Resource, namespace: str, version: int) -> list[StoredObject] | None:
        """The objects as they were at an earlier version; None if that is compacted."""
        history = self.history(resource)
        number = history.number_after(version)
        if number is None:
            return None
        if number == history.end:
            return self.all(resource, namespace)
        found = {(item.namespace, item.name): item for item in self.all(resource, namespace)}
        for event in reversed(list(history.since(number))):
            item = event.item
            if namespace and item.namespace != namespace:
                continue
            key = (item.namespace, item.name)
            if event.old is None:
                found.pop(key, None)
            else:
                found[key] = event.old
        return [found[key] for key in sorted(found)]

    def _table(self, resource: Resource) -> _ResourceTable:
        table = self._tables.get(resource)
        if table is None:
            stored = _storage_resource(resource)
            table = self._tables.get(stored)
            if table is None:
                table = self._tables[stored] = _ResourceTable(
                    WatchHistory(self._size, self._compacted)
                )
        return table

    @staticmethod
    def _notify(table: _ResourceTable, event: WatchEvent) -> None:
        table.history.add(event)
        for listener in table.listeners:
            listener(event)


def _storage_resource(resource: Resource) -> Resource:
    """The resource under which objects are kept: both forms of events are one."""
    return CORE_EVENTS if resource is EVENTS else resource
