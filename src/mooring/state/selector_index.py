"""Finding who may match by a label that a selector cannot do without.

Most selectors name a label with its value. To ask only those who have that label makes the cost of
a question independent of how many different labels and selectors there are. `LabelIndex` finds
things with labels for a selector, `SelectorIndex` finds things with selectors for labels; both are
used by `counts`. Both answer who *may* match: the selector itself decides.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Generic, TypeVar

from mooring.model.selectors import LabelSelector

T = TypeVar("T")
Label = tuple[str, str]


class LabelIndex(Generic[T]):
    """Things that have labels, found by a selector."""

    __slots__ = ("_by_label",)

    def __init__(self) -> None:
        self._by_label: dict[Label, list[T]] = {}

    def add(self, labels: Iterable[Label], thing: T) -> None:
        """Note a thing with its labels."""
        for label in labels:
            self._by_label.setdefault(label, []).append(thing)

    def candidates(self, selectors: Iterable[LabelSelector]) -> list[T] | None:
        """The things that all selectors may select; None if it may be any."""
        fewest: list[list[T]] | None = None
        for selector in selectors:
            for need in _needs(selector):
                found = [self._by_label[one] for one in need if one in self._by_label]
                if fewest is None or sum(map(len, found)) < sum(map(len, fewest)):
                    fewest = found
        return None if fewest is None else list(chain.from_iterable(fewest))


class SelectorIndex(Generic[T]):
    """Things that have selectors, found by labels, in the order they came."""

    __slots__ = ("_anything", "_by_label", "_size")

    def __init__(self) -> None:
        self._size = 0
        self._by_label: dict[Label, list[tuple[int, T]]] = {}
        #: Those whose selector names no label that must be there.
        self._anything: list[tuple[int, T]] = []

    def add(self, selectors: Iterable[LabelSelector], thing: T) -> None:
        """Note a thing; it is found by labels that all its selectors select."""
        entry = (self._size, thing)
        self._size += 1
        needs = [need for selector in selectors for need in _needs(selector)]
        if not needs:
            self._anything.append(entry)
            return
        for label in min(needs, key=self._cost):
            self._by_label.setdefault(label, []).append(entry)

    def _cost(self, need: tuple[Label, ...]) -> int:
        return len(need) + sum(len(self._by_label.get(one, ())) for one in need)

    def candidates(self, labels: Iterable[Label], since: int = 0) -> Iterator[T]:
        """The things that may select labels, without the first few that came.

        Args:
            labels: keys with values, each key once.
            since: how many had come when somebody last asked.
        """
        for entries in (self._anything, *(self._by_label.get(one, ()) for one in labels)):
            for number, thing in reversed(entries):
                if number < since:
                    break
                yield thing

    def __len__(self) -> int:
        return self._size


def keys_read_by(selector: LabelSelector) -> Iterator[str]:
    """The keys of the labels that decide whether a selector selects something."""
    yield from selector.match_labels or ()
    for one in selector.match_expressions or ():
        yield one.key


def _needs(selector: LabelSelector) -> Iterator[tuple[Label, ...]]:
    """Labels of which all selected things have one, for each condition that names values."""
    for label in (selector.match_labels or {}).items():
        yield (label,)
    for one in selector.match_expressions or ():
        if one.operator == "In":
            yield tuple((one.key, value) for value in dict.fromkeys(one.values or ()))
