"""A cache that forgets: what was asked for longest ago makes room for what is new.

Whatever is worked out because somebody asked, and could be worked out again, is kept in one of
these. Used by the state and the plugins. It may hold nothing that is needed: an entry can be gone
the next time it is looked for.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

#: What Python itself takes for an object, roughly.
_OBJECT_BYTES: Final = 64


class LruCache(Generic[K, V]):
    """Entries by key, the least recently used forgotten first.

    Invariant: there are at most `most` entries, and their sizes together are at most `most_size`,
    after every call. An entry that alone is larger is not kept.

    Args:
        most: how many entries are kept.
        most_size: how large they may be in all, in the unit of `put`.
        forgotten: called with the value of every entry that is forgotten, was replaced or is too
            large to be kept; not of those that `clear` drops.
    """

    __slots__ = ("__weakref__", "_age", "_entries", "_forgotten", "_most", "_most_size", "_size")

    def __init__(
        self,
        most: int,
        most_size: int | None = None,
        forgotten: Callable[[V], object] | None = None,
    ) -> None:
        self._most = most
        self._most_size = most_size
        self._forgotten = forgotten
        self._size = 0
        self._age = 0
        self._entries: OrderedDict[K, _CachedValue[V]] = OrderedDict()

    def get(self, key: K) -> V | None:
        """The value of a key, which is the most recently used one now; None if there is none."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        entry.age = self._age
        return entry.value

    def put(self, key: K, value: V, size: int = 0) -> None:
        """Keep a value, and forget others if there are too many or too large ones."""
        entries, most_size = self._entries, self._most_size
        if key in entries:
            self._drop(key)
        if most_size is not None and size > most_size:
            if self._forgotten is not None:
                self._forgotten(value)
            return
        entries[key] = _CachedValue(value, size, self._age)
        self._size += size
        while len(entries) > self._most or (most_size is not None and self._size > most_size):
            self._drop(next(iter(entries)))

    def forget_unused(self) -> None:
        """Forget what nobody has asked for since the last call."""
        entries = self._entries
        while entries:
            key, entry = next(iter(entries.items()))
            if entry.age == self._age:
                break
            self._drop(key)
        self._age += 1

    def values(self) -> Iterator[V]:
        """All values, the least recently used first."""
        return (entry.value for entry in self._entries.values())

    def clear(self, most_size: int | None = None) -> None:
        """Forget everything; from now on entries may be so large in all, if that is given."""
        self._entries.clear()
        self._size = 0
        if most_size is not None:
            self._most_size = most_size

    @property
    def size(self) -> int:
        """How large all entries are together."""
        return self._size

    def __len__(self) -> int:
        return len(self._entries)

    def _drop(self, key: K) -> None:
        entry = self._entries.pop(key)
        self._size -= entry.size
        if self._forgotten is not None:
            self._forgotten(entry.value)


class _CachedValue(Generic[V]):
    __slots__ = ("age", "size", "value")

    def __init__(self, value: V, size: int, age: int) -> None:
        self.value = value
        self.size = size
        #: How often the cache had been asked to forget when the entry was last used.
        self.age = age


def size_of(thing: object, unknown: int = _OBJECT_BYTES) -> int:
    """About how many bytes something takes up.

    Args:
        thing: texts, numbers, containers of such; anything else may say it in `nbytes`, as arrays
            do.
        unknown: what an object counts that does not say.
    """
    if isinstance(thing, str | bytes):
        return _OBJECT_BYTES + len(thing)
    if thing is None or isinstance(thing, bool | int | float):
        return _OBJECT_BYTES
    if isinstance(thing, dict):
        return _OBJECT_BYTES + sum(
            size_of(key, unknown) + size_of(value, unknown) for key, value in thing.items()
        )
    if isinstance(thing, tuple | list | frozenset | set):
        return _OBJECT_BYTES + sum(size_of(one, unknown) for one in thing)
    nbytes: int | None = getattr(thing, "nbytes", None)
    return _OBJECT_BYTES + (unknown if nbytes is None else nbytes)
