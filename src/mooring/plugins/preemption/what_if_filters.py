"""Asking the filters about nodes off which pods are taken as a what-if, as often as needed.

A search for victims asks the same filters thousands of times. What most of them say depends on
nothing that such a search changes, so they are asked once for all nodes; some look at the pods of
their own node only, so many nodes can be changed and asked at a time. The answers are those of
`Handle.rejection`, which is asked wherever this is not known to be so.
"""

from collections.abc import Sequence
from typing import Final, Protocol, runtime_checkable

import numpy as np

from mooring.framework.cycle import Cycle
from mooring.framework.filtering import Rejection
from mooring.framework.handle import Handle
from mooring.framework.plugin_calls import AskFilter

#: Default plugins whose filter does not look at pods on nodes.
_FIXED: Final = frozenset(
    {
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
        "VolumeBinding",
        "VolumeZone",
        "NodeDeclaredFeatures",
        "DynamicResources",
    }
)
#: Default plugins whose filter looks at the pods on the node it is asked about, and no others.
_ALONE: Final = frozenset({"NodePorts", "NodeResourcesFit", "NodeVolumeLimits"})


@runtime_checkable
class HasFilters(Protocol):
    """A handle that shows its filters, as the runtime does."""

    filters: list[AskFilter]


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
        self._moving: list[tuple[int, AskFilter]] = []
        self._fixed: dict[int, tuple[int, Rejection]] = {}
        #: Whether what happens on one node may change the answer for another.
        self.one_by_one = True
        self._quick = False
        if isinstance(handle, HasFilters):
            self._quick = True
            active = [one for one in handle.filters if one.name not in cycle.skipped]
            self._moving = [
                (place, one) for place, one in enumerate(active) if one.name not in _FIXED
            ]
            self._ask_fixed(active, rows)
            self.one_by_one = not all(one.name in _ALONE for _, one in self._moving)

    def _ask_fixed(self, active: Sequence[AskFilter], rows: Sequence[int]) -> None:
        left = np.array(sorted(rows), np.intp)
        for place, asker in enumerate(active):
            if asker.name in _FIXED and len(left):
                verdicts = asker.ask(self._cycle.pod, self._cycle.nodes.subset(left))
                if verdicts is None:
                    continue
                for index in np.flatnonzero(verdicts.choice).tolist():
                    rejection = Rejection(asker.name, verdicts[index])
                    self._fixed[int(left[index])] = (place, rejection)
                left = left[verdicts.choice == 0]

    def rejections(self, rows: Sequence[int]) -> dict[int, Rejection]:
        """The first rejection of each node as it is now; where the pod fits, there is none."""
        if self.one_by_one or len(rows) == 1:
            found = ((row, self._rejection(row)) for row in rows)
            return {row: rejection for row, rejection in found if rejection is not None}
        rejected: dict[int, Rejection] = {}
        left = np.array(sorted(row for row in rows if not self._has_nominated_pods(row)), np.intp)
        if len(left) < len(rows):
            for row in set(rows).difference(left.tolist()):
                rejection = self._handle.rejection(self._cycle, row)
                if rejection is not None:
                    rejected[row] = rejection
        fixed = self._fixed
        for place, asker in self._moving:
            verdicts = (
                asker.ask(self._cycle.pod, self._cycle.nodes.subset(left)) if len(left) else None
            )
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

    def _rejection(self, row: int) -> Rejection | None:
        if not self._quick or self._has_nominated_pods(row):
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
