"""Finding who may match by a label that a selector cannot do without.

Most selectors name a label with its value. To ask only those who have that label makes the cost of
a question independent of how many different labels and selectors there are. `LabelIndex` finds
things with labels for a selector, `SelectorIndex` finds things with selectors for labels; both are
used by `counts`. Both answer who *may* match: the selector itself decides. A fork shares an index
until it adds to it, so things that change are in there by their keys.
"""

import copy
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Generic, TypeVar

from mooring.model.selectors import LabelSelector
from mooring.state.copy_on_write import OwnedList, Owner, SharedDict
from mooring.state.table import Table

T = TypeVar("T")
Label = tuple[str, str]


class LabelIndex(Generic[T]):
    """Things that have labels, found by a selector.

    Args:
        table: says who adds things now.
        by_label: the things there are.
    """

    __slots__ = ("_by_label", "_table")

    def __init__(
        self, table: Table, by_label: SharedDict[Label, OwnedList[T]] | None = None
    ) -> None:
        self._table = table
        self._by_label = SharedDict() if by_label is None else by_label

    def fork(self, table: Table) -> "LabelIndex[T]":
        """The same things in a forked table."""
        return LabelIndex(table, self._by_label.fork())

    def add(self, labels: Iterable[Label], thing: T) -> None:
        """Note a thing with its labels."""
        by_label, owner = self._by_label.writable(), self._table.owner
        for label in labels:
            _add(by_label, label, thing, owner)

    def candidates(self, selectors: Iterable[LabelSelector]) -> list[T] | None:
        """The things that all selectors may select; None if it may be any."""
        by_label = self._by_label.entries
        fewest: list[OwnedList[T]] | None = None
        for selector in selectors:
            for need in _needs(selector):
                found = [by_label[one] for one in need if one in by_label]
                if fewest is None or sum(map(len, found)) < sum(map(len, fewest)):
                    fewest = found
        return None if fewest is None else list(chain.from_iterable(fewest))


class SelectorIndex(Generic[T]):
    """Things that have selectors, found by labels, in the order they came.

    Args:
        table: says who adds things now.
    """

    __slots__ = ("_anything", "_by_label", "_size", "_table")

    def __init__(self, table: Table) -> None:
        self._table = table
        self._size = 0
        self._by_label: SharedDict[Label, OwnedList[tuple[int, T]]] = SharedDict()
        #: Those whose selector names no label that must be there.
        self._anything: OwnedList[tuple[int, T]] = OwnedList(table.owner)

    def fork(self, table: Table) -> "SelectorIndex[T]":
        """The same things in a forked table."""
        forked = copy.copy(self)
        forked.separate(table)
        return forked

    def separate(self, table: Table) -> None:
        """Become independent of the index that this one is a copy of."""
        self._table = table
        self._by_label = self._by_label.fork()

    def add(self, selectors: Iterable[LabelSelector], thing: T) -> None:
        """Note a thing; it is found by labels that all its selectors select."""
        entry, owner = (self._size, thing), self._table.owner
        self._size += 1
        needs = [need for selector in selectors for need in _needs(selector)]
        if not needs:
            self._anything = self._anything.with_item(entry, owner)
            return
        by_label = self._by_label.writable()
        for label in min(needs, key=self._cost):
            _add(by_label, label, entry, owner)

    def _cost(self, need: tuple[Label, ...]) -> int:
        return len(need) + sum(len(self._by_label.entries.get(one, ())) for one in need)

    def candidates(self, labels: Iterable[Label], since: int = 0) -> list[T]:
        """The things that may select labels, without the first few that came.

        Args:
            labels: keys with values, each key once.
            since: how many had come when somebody last asked.
        """
        by_label = self._by_label.entries
        found = []
        for entries in (self._anything, *[by_label[one] for one in labels if one in by_label]):
            for number, thing in reversed(entries.items):
                if number < since:
                    break
                found.append(thing)
        return found

    def __len__(self) -> int:
        return self._size


def _add(by_label: dict[Label, OwnedList[T]], label: Label, thing: T, owner: Owner) -> None:
    known = by_label.get(label)
    if known is None:
        by_label[label] = OwnedList(owner, [thing])
    else:
        owned = known.with_item(thing, owner)
        if owned is not known:
            by_label[label] = owned


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
