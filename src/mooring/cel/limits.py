"""Bounds on the size of values, beside the cost that Kubernetes counts.

Called where a value can become large for little cost. Kubernetes builds such values lazily, or
not at all in practice; here they count as too costly, so that no expression takes all memory.
"""

from typing import Final, NamedTuple

from mooring.cel.errors import CelCostError

MAX_ELEMENTS: Final = 1_000_000
MAX_CHARACTERS: Final = 10_000_000
#: So many comparisons one call may make of what is in lists and maps.
MAX_COMPARISONS: Final = 1_000_000
COST_EXCEEDED: Final = "operation cancelled: actual cost limit exceeded"


class Bounds(NamedTuple):
    """Whole numbers from `low` up to, but not including, `high`.

    Unlike a range, it tells at once whether it has an instance of a subclass of int.
    """

    low: int
    high: int

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and self.low <= number < self.high


class Effort:
    """Counts steps of work of one call, where a small expression can make much of it.

    Attributes:
        spent: the steps so far.
    """

    __slots__ = ("_most", "spent")

    def __init__(self, most: int = MAX_COMPARISONS) -> None:
        self.spent = 0
        self._most = most

    def spend(self, steps: int) -> None:
        """Count steps.

        Raises:
            CelCostError: these are too many.
        """
        self.spent += steps
        if self.spent > self._most:
            raise CelCostError(COST_EXCEEDED)


def check_size(elements: int) -> None:
    """Refuse a list of so many elements.

    Raises:
        CelCostError: it is too long.
    """
    if elements > MAX_ELEMENTS:
        raise CelCostError(COST_EXCEEDED)


def check_length(characters: int) -> None:
    """Refuse a string of so many characters.

    Raises:
        CelCostError: it is too long.
    """
    if characters > MAX_CHARACTERS:
        raise CelCostError(COST_EXCEEDED)
