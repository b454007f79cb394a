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
    """Whether a node is accepted, and if not, why.

    Attributes:
        accepted: whether the pod may go to the node.
        reason: why not; shown to users in the pod's events.
        unresolvable: preempting other pods would not help, so preemption does not try this node.
        also: more reasons, where one plugin has several.
        error: the node could not be evaluated, so the pod is not scheduled in this attempt.
        note: what `moor explain` adds to the reasons; not part of events and conditions.
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
        """kube-scheduler's name for this kind of result."""
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
        choice: (n_nodes,) the index into `table` for each node; 0 accepts.
        table: the different verdicts; the first accepts.
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
        """One verdict for each node."""
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
        """The size of the verdicts in bytes; the few reasons hardly count."""
        return self.choice.nbytes

    def __getitem__(self, index: int) -> Verdict:  # type: ignore[override]
        return self.table[int(self.choice[index])]

    def __len__(self) -> int:
        return len(self.choice)

    def __iter__(self) -> Iterator[Verdict]:
        table = self.table
        return (table[place] for place in self.choice.tolist())


def accept() -> Verdict:
    """Accept the node."""
    return ACCEPT


def reject(reason: str, *, unresolvable: bool = False, note: str = "") -> Verdict:
    """Reject the node.

    Args:
        reason: why, in a few words; kube-scheduler counts nodes by reason, so omit numbers.
        unresolvable: preempting other pods would not help.
        note: what `moor explain` adds in parentheses; may contain numbers.
    """
    return Verdict(accepted=False, reason=reason, unresolvable=unresolvable, note=note)


def fail(reason: str) -> Verdict:
    """The question cannot be answered, so the pod is not scheduled now."""
    return Verdict(accepted=False, reason=reason, error=True)


def accept_if(condition: object, reason: str, *, unresolvable: bool = False) -> Verdict:
    """Accept the node if the condition holds; otherwise reject it with the reason."""
    return ACCEPT if condition else reject(reason, unresolvable=unresolvable)
