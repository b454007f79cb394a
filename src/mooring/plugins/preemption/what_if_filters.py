"""Asking the filters about nodes off which pods are taken as a what-if, as often as needed.

A search for victims asks the same filters thousands of times. Filters that declare to depend on
nodes only (`Scope.NODES`) are asked once for all nodes; if all others depend on the node's own pods
only (`Scope.ROW`), many nodes can be changed and asked at a time. The answers are those of
`Handle.rejection`, which is asked itself about nodes with nominated pods, and when a filter fails:
it says who did.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from mooring.framework.arrays import Rows
from mooring.framework.cycle import Cycle
from mooring.framework.filtering import Rejection
from mooring.framework.handle import AskFilter, Handle
from mooring.framework.scope import Scope
from mooring.framework.verdict import Verdicts


class WhatIfFilters:
    """The filters of one decision.

    Args:
        handle: the scheduler.
        cycle: the decision.
        rows: the nodes that will be asked about.
    """

    def __init__(self, handle: Handle, cycle: Cycle, rows: Sequence[int]) -> None:
        self._handle = handle
        self._cycle = cycle
        self._nominations = handle.cluster.nominations
        #: What the filters said that such a search cannot change, by row, with their place.
        self._fixed: dict[int, tuple[int, Rejection]] = {}
        active = [one for one in handle.filters if one.name not in cycle.skipped]
        self._moving = list(enumerate(active))
        self._ask_fixed(active, rows)
        #: Whether what happens on one node may change the answer for another.
        self.one_by_one = any(one.scope is not Scope.ROW for _, one in self._moving)

    def _ask_fixed(self, active: Sequence[AskFilter], rows: Sequence[int]) -> None:
        left = np.array(sorted(rows), np.intp)
        for place, asker in enumerate(active):
            if asker.scope is not Scope.NODES:
                continue
            try:
                verdicts = self._ask(asker, left)
            except Exception:  # noqa: BLE001, S112 - asked again, the runtime says who failed
                continue
            self._moving.remove((place, asker))
            if verdicts is None:
                continue
            for index in np.flatnonzero(verdicts.choice).tolist():
                rejection = Rejection(asker.name, verdicts[index])
                self._fixed[int(left[index])] = (place, rejection)
            left = left[verdicts.choice == 0]

    def _ask(self, asker: AskFilter, rows: Rows) -> Verdicts | None:
        if not len(rows):
            return None
        return asker.ask(self._cycle.pod, self._cycle.nodes.subset(rows))

    def rejections(self, rows: Sequence[int]) -> dict[int, Rejection]:
        """The first rejection of each node as it is now; where the pod fits, there is none."""
        if self.one_by_one or len(rows) == 1:
            found = ((row, self._rejection(row)) for row in rows)
            return {row: rejection for row, rejection in found if rejection is not None}
        rejected: dict[int, Rejection] = {}
        left = np.array(sorted(row for row in rows if not self._has_nominated_pods(row)), np.intp)
        if len(left) < len(rows):
            rejected |= self._thoroughly(set(rows).difference(left.tolist()))
        fixed = self._fixed
        for place, asker in self._moving:
            try:
                verdicts = self._ask(asker, left)
            except Exception:  # noqa: BLE001 - the runtime asks again and says who failed
                return rejected | self._thoroughly(left.tolist())
            if verdicts is None:
                continue
            for row, choice in zip(left.tolist(), verdicts.choice.tolist(), strict=True):
                if choice:
                    earlier = row in fixed and fixed[row][0] < place
                    said = Rejection(asker.name, verdicts.table[choice])
                    rejected[row] = fixed[row][1] if earlier else said
            left = left[verdicts.choice == 0]
        rejected |= {row: fixed[row][1] for row in left.tolist() if row in fixed}
        return rejected

    def _thoroughly(self, rows: Iterable[int]) -> dict[int, Rejection]:
        found = ((row, self._handle.rejection(self._cycle, row)) for row in rows)
        return {row: rejection for row, rejection in found if rejection is not None}

    def _rejection(self, row: int) -> Rejection | None:
        if self._has_nominated_pods(row):
            return self._handle.rejection(self._cycle, row)
        fixed = self._fixed.get(row)
        nodes = self._cycle.nodes.subset(np.array([row]))
        for place, asker in self._moving:
            if fixed is not None and fixed[0] < place:
                break
            try:
                verdicts = asker.ask(self._cycle.pod, nodes)
            except Exception:  # noqa: BLE001 - the runtime asks again and says who failed
                return self._handle.rejection(self._cycle, row)
            if verdicts is not None and verdicts.choice[0]:
                return Rejection(asker.name, verdicts[0])
        return fixed[1] if fixed is not None else None

    def _has_nominated_pods(self, row: int) -> bool:
        nominations = self._nominations
        if not nominations:
            return False
        name = self._handle.cluster.columns.nodes[row].name
        return bool(nominations.counting(name, self._cycle.pod))
