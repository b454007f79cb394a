"""Answers of a filter: `Verdict` for one node, `Verdicts` for many.

A "no" is a value, never an exception. `Verdicts` keeps one small number for each node and a table
of the few different answers, so that thousands of nodes cost a few array operations.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import numpy as np

from mooring.framework.arrays import Choice, Mask

SUCCESS: Final = "Success"
SKIPPED: Final = "Skip"
UNSCHEDULABLE: Final = "Unschedulable"
UNRESOLVABLE: Final = "UnschedulableAndUnresolvable"
ERROR: Final = "Error"


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """Whether a node is acceptable, and if not, why.

    Attributes:
        accepted: whether the pod may go to the node.
        reason: why not; shown to users in the pod's events.
        unresolvable: preempting other pods would not help, so preemption need not try this node.
        also: more reasons, where one plugin has several.
        error: the question could not be answered, so the pod is not scheduled now.
        note: what `moor explain` adds to the reasons; in no event and no condition.
    """

    accepted: bool
    reason: str = ""
    unresolvable: bool = False
    also: tuple[str, ...] = ()
    error: bool = False
    note: str = ""

    @property
    def reasons(self) -> tuple[str, ...]:
        """All reasons."""
        return (self.reason, *self.also) if self.reason else self.also

    @property
    def code(self) -> str:
        """kube-scheduler's name for this kind of answer."""
        if self.accepted:
            return SUCCESS
        if self.error:
            return ERROR
        return UNRESOLVABLE if self.unresolvable else UNSCHEDULABLE

    def and_also(self, other: "Verdict") -> "Verdict":
        """Both of two rejections, with their reasons joined by a comma."""
        return Verdict(
            accepted=False,
            reason=f"{self.reason},{other.reason}",
            unresolvable=self.unresolvable or other.unresolvable,
            note=self.note or other.note,
        )

    def __bool__(self) -> bool:
        return self.accepted


ACCEPT: Final = Verdict(accepted=True)


class Verdicts(Sequence[Verdict]):
    """The answers of a filter for many nodes.

    Attributes:
        choice: (n_nodes,) for each node its place in `table`; 0 accepts.
        table: the different answers; the first accepts.
    """

    __slots__ = ("choice", "table")

    def __init__(self, choice: Choice, table: Sequence[Verdict]) -> None:
        self.choice = choice
        self.table = table

    @classmethod
    def where(cls, rejected: Mask, verdict: Verdict) -> "Verdicts":
        """One rejection for the nodes in a mask, acceptance for the others."""
        return cls(rejected.view(np.uint8), (ACCEPT, verdict))

    @classmethod
    def each(cls, verdicts: Sequence[Verdict]) -> "Verdicts":
        """One answer for each node, given one by one."""
        table: list[Verdict] = [ACCEPT]
        places = {ACCEPT: 0}
        choice = np.zeros(len(verdicts), np.int32)
        for index, verdict in enumerate(verdicts):
            if not verdict.accepted:
                place = places.get(verdict)
                if place is None:
                    place = places[verdict] = len(table)
                    table.append(verdict)
                choice[index] = place
        return cls(choice, table)

    @property
    def nbytes(self) -> int:
        """How many bytes the answers take; the few reasons hardly count."""
        return self.choice.nbytes

    def __getitem__(self, index: int) -> Verdict:  # type: ignore[override]
        return self.table[int(self.choice[index])]

    def __len__(self) -> int:
        return len(self.choice)

    def __iter__(self) -> Iterator[Verdict]:
        table = self.table
        return (table[place] for place in self.choice.tolist())


def accept() -> Verdict:
    """The node is acceptable."""
    return ACCEPT


def reject(reason: str, *, unresolvable: bool = False, note: str = "") -> Verdict:
    """The node is not acceptable.

    Args:
        reason: why, in a few words; kube-scheduler counts nodes by reason, so leave numbers out.
        unresolvable: preempting other pods would not help.
        note: what `moor explain` adds in parentheses; numbers may be in it.
    """
    return Verdict(accepted=False, reason=reason, unresolvable=unresolvable, note=note)


def fail(reason: str) -> Verdict:
    """The question cannot be answered, so the pod is not scheduled now."""
    return Verdict(accepted=False, reason=reason, error=True)


def accept_if(condition: object, reason: str, *, unresolvable: bool = False) -> Verdict:
    """The node is acceptable if the condition holds, else rejected for the reason."""
    return ACCEPT if condition else reject(reason, unresolvable=unresolvable)
