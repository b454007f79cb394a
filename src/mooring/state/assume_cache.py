"""Objects as the next decision sees them: with what was decided and is not in the API server yet.

What a plan will write is known when a node is chosen; the API server shows it later. Meanwhile an
assumed object stands for the stored one (`Cluster` does the same for pods):

    stored ──assume──> assumed ──restore──> stored
                          │
                          └──a newer object arrives, or it is gone──> stored

Part of `Cluster`, for objects of every kind but nodes and pods; called by plugins that reserve
something. It must never be asked by those who want to know what the API server has.
"""

from collections.abc import Iterator
from typing import Any, Final, TypeVar, cast

import msgspec

from mooring.model.meta import KubeObject
from mooring.state.catalog import Catalog

T = TypeVar("T", bound=KubeObject)

#: With so many assumed objects it is looked for the first time which are in the API server by now.
_FIRST_SWEEP: Final = 64


class InFlight(dict[tuple[type[KubeObject], str], msgspec.Struct]):
    """What is being written about objects, by kind and key.

    Attributes:
        changes: another number after every change.
    """

    __slots__ = ("changes",)

    def __init__(self, known: "InFlight | None" = None) -> None:
        super().__init__(known or {})
        self.changes = 1 if known else 0

    def __setitem__(self, place: tuple[type[KubeObject], str], what: msgspec.Struct) -> None:
        self.changes += 1
        super().__setitem__(place, what)

    def __delitem__(self, place: tuple[type[KubeObject], str]) -> None:
        self.changes += 1
        super().__delitem__(place)

    def pop(self, place: tuple[type[KubeObject], str], *default: Any) -> Any:
        """Take something out."""
        self.changes += 1
        return super().pop(place, *default)


class AssumeCache:
    """Objects by kind and key, with what was decided about them.

    Args:
        catalog: the stored objects.

    Attributes:
        in_flight: what is being written about objects, by kind and key. Unlike an assumed object it
            stays until whoever put it there takes it out: for those whose plans write an object in
            several steps, each of which makes a newer version. Forks have it, too.
        written_for: by the unique id of a pod, the objects that are written before it is bound,
            each with the version it had; what is in flight of them ends with the binding.
        created_for: of the objects in flight that do not exist yet, the unique ids of the pods that
            they are created for, by kind and key.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._assumed: dict[tuple[type[KubeObject], str], KubeObject] = {}
        self._sweep_at = _FIRST_SWEEP
        self.in_flight = InFlight()
        self.written_for: dict[str, list[tuple[type[KubeObject], str, str]]] = {}
        self.created_for: dict[tuple[type[KubeObject], str], str] = {}
        self._ended: list[tuple[type[KubeObject], str]] = []

    def get(self, kind: type[T], key: str) -> T | None:
        """An object by its class and key, as decisions see it."""
        stored = self._catalog.get(kind, key)
        assumed = self._assumed.get((kind, key))
        if assumed is None:
            return stored
        if stored is not None and _same_version(stored, assumed):
            return cast("T", assumed)
        del self._assumed[kind, key]
        return stored

    def assume(self, thing: KubeObject) -> str:
        """Let a changed object stand for the stored one until a newer one arrives.

        Returns:
            Why that is not possible; empty if it was done.
        """
        # parity v1.36.4: volumebinding/passive_assume_cache.go Assume
        kind, key = type(thing), thing.key
        stored = self._catalog.get(kind, key)
        if stored is None:
            return f'{kind.kind_name.lower()}s "{key}" not found'
        if not _same_version(stored, thing):
            return (
                f'"{key}" is out of sync '
                f"(stored: {stored.resource_version}, assume: {thing.resource_version})"
            )
        self._assumed[kind, key] = thing
        if len(self._assumed) >= self._sweep_at:
            self._sweep()
        return ""

    def restore(self, thing: KubeObject) -> None:
        """Let the stored object stand again; nothing happens if it does already."""
        place = (type(thing), thing.key)
        assumed = self._assumed.get(place)
        if assumed is not None and _same_version(assumed, thing):
            del self._assumed[place]

    def bound(self, uid: str) -> None:
        """A pod is bound, so what was to be written before is stored; it may have changed since.

        On a fork, nobody writes anything: there it stays in flight.
        """
        for kind, key, version in self.written_for.pop(uid, ()):
            stored = self._catalog.get(kind, key)
            if stored is not None and stored.resource_version != version:
                self.in_flight.pop((kind, key), None)
                self._ended.append((kind, key))

    def pop_ended(self) -> list[tuple[type[KubeObject], str]]:
        """What is no longer in flight since the last call because a pod was bound."""
        ended, self._ended = self._ended, []
        return ended

    def fork(self, catalog: Catalog) -> "AssumeCache":
        """The same assumptions about the objects of another catalog."""
        made = AssumeCache(catalog)
        made._assumed = dict(self._assumed)
        made._sweep_at = self._sweep_at
        made.in_flight = InFlight(self.in_flight)
        made.written_for = {uid: list(things) for uid, things in self.written_for.items()}
        made.created_for = dict(self.created_for)
        return made

    def _sweep(self) -> None:
        """Forget what is in the API server by now and what nobody has asked for since."""
        for kind, key in list(self._assumed):
            self.get(kind, key)
        self._sweep_at = max(_FIRST_SWEEP, 2 * len(self._assumed))

    def __iter__(self) -> Iterator[KubeObject]:
        return iter(list(self._assumed.values()))

    def __len__(self) -> int:
        return len(self._assumed)


def _same_version(one: KubeObject, other: KubeObject) -> bool:
    return one.resource_version == other.resource_version
