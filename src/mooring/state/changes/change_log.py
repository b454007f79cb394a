"""What changed, in the order in which it did, for those who keep something up to date.

Whoever follows remembers how far it has read, and reads on from there. Bounded: who has not looked
for very long is told so, and looks at everything. `row_log` is the same for rows, as an array.
"""

from typing import Final, Generic, TypeVar

T = TypeVar("T")

#: So many changes are kept at least.
_LEAST: Final = 1 << 13


class ChangeLog(Generic[T]):
    """The names of what changed.

    Attributes:
        end: how many changes there have been.
    """

    __slots__ = ("_changed", "_first", "end")

    def __init__(self) -> None:
        self._first = 0
        self._changed: list[T] = []
        self.end = 0

    def append(self, changed: T) -> None:
        """Something changed."""
        self.end += 1
        self._changed.append(changed)
        if len(self._changed) > 2 * _LEAST:
            del self._changed[:_LEAST]
            self._first += _LEAST

    def since(self, position: int) -> list[T] | None:
        """What changed after so many changes, some repeatedly; None if that is not known.

        Args:
            position: what `end` was then.
        """
        start = position - self._first
        return self._changed[start:] if start >= 0 else None
