"""What the API server keeps: objects as bytes, one version number, and the history of late.

Owns every object and the order of changes. `api` is the only one that writes; controllers listen,
watches read the history. It checks nothing and does no I/O.

An object is kept as the JSON that clients get, so that lists and watches copy bytes; whoever needs
the content decodes it.
"""

from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final, Literal

import msgspec

from mooring.embedded.resources import CORE_EVENTS, EVENTS, Obj, Resource
from mooring.embedded.selecting import selectable_values

EntryType = Literal["ADDED", "MODIFIED", "DELETED"]
Listener = Callable[["Entry"], None]

#: So many changes of a resource are remembered; a watch that is further behind has to begin anew.
HISTORY: Final = 16_384

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode
_NO_LABELS: Final[dict[str, str]] = {}


class Item:
    """One object in one version.

    Attributes:
        namespace: empty for objects that are in none.
        name: its name.
        version: the store's version when it was written.
        uid: its unique id.
        body: the whole object as JSON.
        labels: its labels.
        fields: the values of the resource's selectable fields, in their order.
        creator: the field manager that created it.
    """

    __slots__ = ("body", "creator", "fields", "labels", "name", "namespace", "uid", "version")

    def __init__(self, resource: Resource, obj: Obj, version: int, creator: str) -> None:
        metadata = obj["metadata"]
        metadata["resourceVersion"] = str(version)
        self.namespace: str = metadata.get("namespace", "")
        self.name: str = metadata["name"]
        self.version = version
        self.uid: str = metadata.get("uid", "")
        self.labels: dict[str, str] = metadata.get("labels") or _NO_LABELS
        self.fields = selectable_values(resource, obj) if resource.selectable else ()
        self.body = _encode(obj)
        self.creator = creator

    @classmethod
    def unstored(cls, resource: Resource, obj: Obj) -> "Item":
        """An object that is only shown: it has no version."""
        item = cls(resource, obj, 0, "")
        del obj["metadata"]["resourceVersion"]
        item.body = _encode(obj)
        return item

    @property
    def obj(self) -> Obj:
        """The object, decoded afresh: the caller may change it."""
        return _decode(self.body)


class Entry:
    """One change.

    Attributes:
        type: as watches call it.
        item: the object as it is now; of a deleted one, as it last was, with a version of its own.
        old: the object as it was before; None if it is new.
    """

    __slots__ = ("item", "old", "type")

    def __init__(self, kind: EntryType, item: Item, old: Item | None) -> None:
        self.type = kind
        self.item = item
        self.old = old

    @property
    def version(self) -> int:
        """The store's version after this change."""
        return self.item.version


class History:
    """The changes of one resource, oldest first; old ones are forgotten.

    Attributes:
        start: the number of the oldest change that is remembered; changes are numbered from 0.
        forgotten: the version up to which changes are forgotten.
    """

    def __init__(self, size: int, version: int) -> None:
        self._entries: deque[Entry] = deque()
        self._size = size
        self.start = 0
        self.forgotten = version

    @property
    def end(self) -> int:
        """The number that the next change will get."""
        return self.start + len(self._entries)

    def add(self, entry: Entry) -> None:
        """Remember a change."""
        self._entries.append(entry)
        if len(self._entries) > self._size:
            self.forget(1)

    def forget(self, count: int | None = None) -> None:
        """Forget the oldest changes; all of them if no number is given."""
        for _ in range(len(self._entries) if count is None else count):
            self.forgotten = self._entries.popleft().version
            self.start += 1

    def since(self, number: int) -> Iterator[Entry]:
        """The changes from a number on; it must not be forgotten."""
        # From the near end: a watch is seldom far behind.
        count = self.end - number
        newest = islice(reversed(self._entries), count)
        return reversed(list(newest))

    def number_after(self, version: int) -> int | None:
        """The number of the first change after a version; None if it is forgotten."""
        if version < self.forgotten:
            return None
        later = 0
        for entry in reversed(self._entries):
            if entry.version <= version:
                break
            later += 1
        return self.end - later


class _Table:
    """The objects of one resource, by namespace and name."""

    def __init__(self, history: History) -> None:
        self.spaces: dict[str, dict[str, Item]] = {}
        self.history = history
        self.listeners: list[Listener] = []
        self._ordered: dict[str, list[Item]] = {}

    def get(self, namespace: str, name: str) -> Item | None:
        space = self.spaces.get(namespace)
        return space.get(name) if space is not None else None

    def set(self, item: Item) -> None:
        self.spaces.setdefault(item.namespace, {})[item.name] = item
        self._ordered.pop(item.namespace, None)

    def pop(self, namespace: str, name: str) -> Item:
        space = self.spaces[namespace]
        item = space.pop(name)
        if not space:
            del self.spaces[namespace]
        self._ordered.pop(namespace, None)
        return item

    def ordered(self, namespace: str) -> list[Item]:
        """The objects of one namespace by name."""
        found = self._ordered.get(namespace)
        if found is None:
            space = self.spaces.get(namespace, {})
            found = self._ordered[namespace] = [space[name] for name in sorted(space)]
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
        self._forgotten = version
        self._tables: dict[Resource, _Table] = {}

    def get(self, resource: Resource, namespace: str, name: str) -> Item | None:
        """One object; None if there is none. The namespace is empty for kinds that are in none."""
        return self._table(resource).get(namespace, name)

    def all(self, resource: Resource, namespace: str = "") -> list[Item]:
        """The objects of a resource, those of one namespace if it is given, in their order."""
        table = self._table(resource)
        if namespace or not resource.namespaced:
            return list(table.ordered(namespace))
        return [item for space in sorted(table.spaces) for item in table.ordered(space)]

    def count(self, resource: Resource) -> int:
        """How many objects of a resource there are."""
        return sum(map(len, self._table(resource).spaces.values()))

    def put(self, resource: Resource, obj: Obj, *, creator: str = "") -> Item:
        """Create or replace an object; its resourceVersion is set in place."""
        metadata = obj["metadata"]
        table = self._table(resource)
        old = table.get(metadata.get("namespace", ""), metadata["name"])
        self.version += 1
        if old is not None:
            creator = old.creator
        item = Item(_stored(resource), obj, self.version, creator)
        table.set(item)
        self._tell(table, Entry("MODIFIED" if old is not None else "ADDED", item, old))
        return item

    def remove(self, resource: Resource, namespace: str, name: str, obj: Obj | None = None) -> Item:
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
        last = Item(_stored(resource), old.obj if obj is None else obj, self.version, old.creator)
        self._tell(table, Entry("DELETED", last, old))
        return last

    def listen(self, resource: Resource, listener: Listener) -> None:
        """Have a function called after each change of a resource; it must not write here."""
        self._table(resource).listeners.append(listener)

    def history(self, resource: Resource) -> History:
        """The changes of a resource that are remembered."""
        return self._table(resource).history

    def compact(self) -> None:
        """Forget all history, as a real store does after some minutes."""
        self._forgotten = self.version
        for table in self._tables.values():
            table.history.forget()
            table.history.forgotten = self.version

    def as_of(self, resource: Resource, namespace: str, version: int) -> list[Item] | None:
        """The objects as they were at an earlier version; None if that is forgotten."""
        history = self.history(resource)
        number = history.number_after(version)
        if number is None:
            return None
        if number == history.end:
            return self.all(resource, namespace)
        found = {(item.namespace, item.name): item for item in self.all(resource, namespace)}
        for entry in reversed(list(history.since(number))):
            item = entry.item
            if namespace and item.namespace != namespace:
                continue
            key = (item.namespace, item.name)
            if entry.old is None:
                found.pop(key, None)
            else:
                found[key] = entry.old
        return [found[key] for key in sorted(found)]

    def _table(self, resource: Resource) -> _Table:
        table = self._tables.get(resource)
        if table is None:
            stored = _stored(resource)
            table = self._tables.get(stored)
            if table is None:
                table = self._tables[stored] = _Table(History(self._size, self._forgotten))
        return table

    @staticmethod
    def _tell(table: _Table, entry: Entry) -> None:
        table.history.add(entry)
        for listener in table.listeners:
            listener(entry)


def _stored(resource: Resource) -> Resource:
    """The resource under which objects are kept: both forms of events are one."""
    return CORE_EVENTS if resource is EVENTS else resource
