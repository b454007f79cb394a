"""Values of metric labels that others make up: reasons of policies and kubelets, scheduler names.

Every value is a series that Prometheus keeps for good, so their number is bounded: the first so
many values count for themselves, all further ones together as ``other``. Called by the metrics of
the scheduler and of the extender.
"""

from typing import Final

#: Stands for all values beyond the limit.
OTHER: Final = "other"
#: So many values a label has at most, besides `OTHER`.
MOST_VALUES: Final = 50
_MOST_CHARACTERS: Final = 200


class LabelValues:
    """The values of one label.

    Args:
        most: how many there may be, besides `OTHER`.
    """

    __slots__ = ("_known", "_most")

    def __init__(self, most: int = MOST_VALUES) -> None:
        self._most = most
        self._known: set[str] = set()

    def of(self, text: str) -> str:
        """The value for a text: the text itself, cut, or `OTHER`."""
        # A text that is no UTF-8 would make all metrics unreadable.
        value = text[:_MOST_CHARACTERS].encode(errors="replace").decode()
        if value in self._known:
            return value
        if len(self._known) >= self._most:
            return OTHER
        self._known.add(value)
        return value
