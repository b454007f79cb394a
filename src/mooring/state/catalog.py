"""Objects that scheduling only looks up: namespaces, services, claims, volumes, budgets and so on.

Nodes and pods live in `Cluster`; everything else is kept here by kind and key. A kind's version
changes with every change of that kind, so that what was derived from it can be remembered.
"""

from collections.abc import Mapping
from typing import TypeVar

from mooring.model.meta import KubeObject

T = TypeVar("T", bound=KubeObject)


class Catalog:
    """Kubernetes objects by kind, then by key (``namespace/name``, or the name alone)."""

    def __init__(self) -> None:
        self._kinds: dict[type[KubeObject], dict[str, KubeObject]] = {}
        self._versions: dict[type[KubeObject], int] = {}

    def put(self, thing: KubeObject) -> None:
        """Add an object, or replace the one of the same kind and key."""
        kind = type(thing)
        self._kinds.setdefault(kind, {})[thing.key] = thing
        self._versions[kind] = self._versions.get(kind, 0) + 1

    def remove(self, thing: KubeObject) -> None:
        """Forget an object."""
        kind = type(thing)
        if self._kinds.get(kind, {}).pop(thing.key, None) is not None:
            self._versions[kind] += 1

    def get(self, kind: type[T], key: str) -> T | None:
        """An object by its key."""
        return self.all(kind).get(key)

    def all(self, kind: type[T]) -> Mapping[str, T]:
        """All objects of a kind by key, in the order they came; valid until the next change."""
        found: Mapping[str, T] = self._kinds.get(kind, {})  # type: ignore[assignment]
        return found

    def version(self, kind: type[KubeObject]) -> int:
        """Another number after every change of this kind."""
        return self._versions.get(kind, 0)
