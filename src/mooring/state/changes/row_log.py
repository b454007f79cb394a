"""Which rows changed, in the order in which they did.

`Columns` writes it whenever anything in a row changes. Whoever keeps an answer for each row
remembers how far it has read, and looks again only at the rows that changed since. Bounded: who has
not looked for very long has to look at all rows.
"""

from array import array
from typing import Final

import numpy as np
import numpy.typing as npt

#: So many changes are kept at least: two hundred kinds of pods that take turns at random find all
#: changes since their last turn with certainty.
_LEAST: Final = 1 << 14


class RowLog:
    """The rows that changed.

    Attributes:
        end: how many changes there have been.
    """

    __slots__ = ("_first", "_rows", "end")

    def __init__(self) -> None:
        self._first = 0
        self._rows = array("q")
        self.end = 0

    def append(self, row: int) -> None:
        """A row changed."""
        self.end += 1
        self._rows.append(row)
        if len(self._rows) > 2 * _LEAST:
            del self._rows[:_LEAST]
            self._first += _LEAST

    def since(self, position: int) -> list[int] | None:
        """The rows that changed after so many changes, some repeatedly; None if that is not known.

        Args:
            position: what `end` was then.
        """
        start = position - self._first
        return self._rows[start:].tolist() if start >= 0 else None

    def array_since(self, position: int) -> npt.NDArray[np.intp] | None:
        """The same as an array, for many rows; there is at least one."""
        start = position - self._first
        return np.frombuffer(self._rows[start:], np.intp) if start >= 0 else None
