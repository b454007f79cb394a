"""Sharing between a state and its forks until one of them writes.

What a fork shares with its parent is one of:

- a `SharedDict`: both sides read the same dict; who writes first copies it;
- an entry with an owner (the pods of a node, the counts of a group, a list of an index): each side
  has an `Owner` of its own since the last fork, and copies an entry of another owner before it
  writes to it. So a fork costs nothing for each entry, and a write copies the one it is about.

Neither knows how many forks there are, nor whether they are still there: who writes after a fork
may copy something that nobody else reads any more. Used by all of `mooring.state`.
"""

from collections.abc import Iterator
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Owner:
    """A state from one fork to the next; whoever has it may write to an entry."""

    __slots__ = ()


class SharedDict(Generic[K, V]):
    """A dict that a state shares with its forks until one of them writes.

    Attributes:
        entries: for reading only; another dict after a write.
    """

    __slots__ = ("_shared", "entries")

    def __init__(self, shared: dict[K, V] | None = None) -> None:
        self.entries: dict[K, V] = {} if shared is None else shared
        self._shared = shared is not None

    def writable(self) -> dict[K, V]:
        """The dict, for writing now; nobody else has it."""
        if self._shared:
            self.entries = self.entries.copy()
            self._shared = False
        return self.entries

    def fork(self) -> "SharedDict[K, V]":
        """Another one with the same entries."""
        self._shared = True
        return SharedDict(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


class OwnedList(Generic[V]):
    """A list with an owner, who alone may add to it.

    Attributes:
        items: for reading only.
    """

    __slots__ = ("_owner", "items")

    def __init__(self, owner: Owner, items: list[V] | None = None) -> None:
        self._owner = owner
        self.items: list[V] = [] if items is None else items

    def with_item(self, item: V, owner: Owner) -> "OwnedList[V]":
        """The list with one more item: this one if it is the owner's, else a copy."""
        owned = self if self._owner is owner else OwnedList(owner, self.items.copy())
        owned.items.append(item)
        return owned

    def __iter__(self) -> Iterator[V]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)
