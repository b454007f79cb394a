"""Objects that scheduling only looks up: namespaces, services, claims, volumes, budgets and so on.

Nodes and pods live in `Cluster`; everything else is kept here by kind and key. A kind's version
changes with every change of that kind, so that what was derived from it can be remembered. Forks
number their changes together: two catalogs of one family with the same version of a kind have the
same objects of that kind.
"""

import itertools
from collections.abc import Iterator, Mapping
from typing import TypeVar

from mooring.model.meta import KubeObject
from mooring.state.changes.change_log import ChangeLog
from mooring.state.copy_on_write import SharedDict

T = TypeVar("T", bound=KubeObject)
_Objects = SharedDict[str, KubeObject]


class Catalog:
    """Kubernetes objects by kind, then by key (``namespace/name``, or the name alone).

    Attributes:
        changes: another number after every change of any kind.
    """

    def __init__(
        self,
        kinds: dict[type[KubeObject], _Objects] | None = None,
        versions: dict[type[KubeObject], int] | None = None,
        numbers: Iterator[int] | None = None,
    ) -> None:
        self._kinds = kinds or {}
        self._versions = versions or {}
        self._numbers = itertools.count(1) if numbers is None else numbers
        self.changes = max(self._versions.values(), default=0)
        # Those of the kinds that somebody follows; a fork is followed anew.
        self._logs: dict[type[KubeObject], ChangeLog[str]] = {}

    def fork(self) -> "Catalog":
        """The same objects, independent of these."""
        kinds = {kind: objects.fork() for kind, objects in self._kinds.items()}
        return Catalog(kinds, self._versions.copy(), self._numbers)

    def put(self, thing: KubeObject) -> None:
        """Add an object, or replace the one of the same kind and key."""
        kind = type(thing)
        objects = self._kinds.get(kind)
        if objects is None:
            objects = self._kinds[kind] = SharedDict()
        key = thing.key
        objects.writable()[key] = thing
        self._changed(kind, key)

    def remove(self, thing: KubeObject) -> None:
        """Forget an object."""
        kind = type(thing)
        objects = self._kinds.get(kind)
        key = thing.key
        if objects is not None and key in objects.entries:
            del objects.writable()[key]
            self._changed(kind, key)

    def _changed(self, kind: type[KubeObject], key: str) -> None:
        self._versions[kind] = self.changes = next(self._numbers)
        log = self._logs.get(kind)
        if log is not None:
            log.append(key)

    def log(self, kind: type[KubeObject]) -> ChangeLog[str]:
        """The keys of the objects of a kind that change from the first call on."""
        log = self._logs.get(kind)
        if log is None:
            log = self._logs[kind] = ChangeLog()
        return log

    def get(self, kind: type[T], key: str) -> T | None:
        """An object by its key."""
        return self.all(kind).get(key)

    def all(self, kind: type[T]) -> Mapping[str, T]:
        """All objects of a kind by key, in the order they came; valid until the next change."""
        objects = self._kinds.get(kind)
        found: Mapping[str, T] = {} if objects is None else objects.entries  # type: ignore[assignment]
        return found

    def version(self, kind: type[KubeObject]) -> int:
        """Another number after every change of this kind."""
        return self._versions.get(kind, 0)
