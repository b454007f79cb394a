"""The changes of one count: in which row, and by how much.

A count writes it from the moment that somebody keeps something that follows from the count, so who
does adds what came and need not look at all rows. Bounded: who has not looked for long counts anew.
"""

from typing import Final

#: So many changes are kept at least.
_LEAST: Final = 128


class CountChanges:
    """The changes of one count.

    Attributes:
        end: how many changes there have been.
    """

    __slots__ = ("_changes", "_first", "end")

    def __init__(self) -> None:
        self._first = 0
        self._changes: list[tuple[int, int]] = []
        self.end = 0

    def append(self, row: int, change: int) -> None:
        """The count of a row is so much higher, or lower."""
        self.end += 1
        self._changes.append((row, change))
        if len(self._changes) > 2 * _LEAST:
            del self._changes[:_LEAST]
            self._first += _LEAST

    def since(self, position: int) -> list[tuple[int, int]] | None:
        """Rows and changes after so many of them, in order; None if that is not known any more.

        Args:
            position: what `end` was then.
        """
        start = position - self._first
        return self._changes[start:] if start >= 0 else None
