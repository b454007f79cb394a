"""Answers about single rows: what a plugin whose scope is a row says of nodes that changed.

The decision cycle keeps what such a plugin said of all nodes and asks again only about rows that
changed since (`equivalence_class`), mostly one. A plugin that can tell about one row
faster than with arrays offers that by one of the base classes here; any other one is asked with its
ordinary hooks. Both ways give the same answers.
"""

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mooring.framework.arrays import Amounts, Mask, Rows
from mooring.framework.binding_hooks import blame
from mooring.framework.cycle import Cycle
from mooring.framework.handle import AskFilter
from mooring.framework.plugin_calls import AskScore


class CannotTellError(Exception):
    """A plugin has no legal answer for a row: the decision is made in full, and says why."""


class RowAnswers(Protocol):
    """What a plugin says of rows as they are now, for pods that it signs alike.

    A filter's answer is 0 where the pod does not fit; a score's is the raw score.
    """

    def one(self, row: int) -> int:
        """The answer for one row."""

    def some(self, rows: Rows) -> npt.NDArray[np.integer] | Mask:
        """(n_rows,) the answers for some rows."""


class RowFilter(ABC):
    """A filter that can tell about one row quickly."""

    @abstractmethod
    def row_filter(self, cycle: Cycle) -> RowAnswers:
        """The filter's answers for this pod and all that it signs alike."""


class RowScore(ABC):
    """A score that can tell about one row quickly."""

    @abstractmethod
    def row_score(self, cycle: Cycle) -> RowAnswers:
        """The score's answers for this pod and all that it signs alike."""


class SkipsSigned:
    """A plugin that skips each pod that it signs, whatever the cluster is like."""


class NormalizesByExtremes:
    """A score whose `normalize` goes by the lowest and the highest raw score alone."""


class _AskedRows(ABC):
    """The answers of any plugin, through its hooks.

    Args:
        cycle: a decision in which it was prepared.
    """

    __slots__ = ("_cycle",)

    def __init__(self, cycle: Cycle) -> None:
        self._cycle = cycle

    def one(self, row: int) -> int:
        """The answer for one row."""
        return int(self.some(np.array([row], np.intp))[0])

    @abstractmethod
    def some(self, rows: Rows) -> npt.NDArray[np.integer] | Mask:
        """(n_rows,) the answers for some rows."""


class AskedRowFilter(_AskedRows):
    """The answers of any filter."""

    __slots__ = ("_asker",)

    def __init__(self, asker: AskFilter, cycle: Cycle) -> None:
        super().__init__(cycle)
        self._asker = asker

    def some(self, rows: Rows) -> Mask:
        """(n_rows,) where the pod fits."""
        cycle = self._cycle
        try:
            verdicts = self._asker.ask(cycle.pod, cycle.nodes.subset(rows))
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            blame(error, self._asker.name, "filter", cycle.pod)
        if verdicts is None:
            return np.ones(len(rows), np.bool_)
        if any(one.error for one in verdicts.table):
            raise CannotTellError
        fits: Mask = verdicts.choice == 0
        return fits


class AskedRowScore(_AskedRows):
    """The answers of any score."""

    __slots__ = ("_asker",)

    def __init__(self, asker: AskScore, cycle: Cycle) -> None:
        super().__init__(cycle)
        self._asker = asker

    def some(self, rows: Rows) -> Amounts:
        """(n_rows,) the scores."""
        cycle, asker = self._cycle, self._asker
        nodes = cycle.nodes.subset(rows)
        try:
            return asker.normalized(cycle, nodes, asker.raw(cycle, nodes))
        except Exception as error:  # noqa: BLE001
            blame(error, asker.name, "score", cycle.pod)
