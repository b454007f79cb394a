"""What comes out of one decision, and the question it may stop for, as values.

`decision_cycle` makes them. The scheduler acts on a `Decision`, `recording` makes a `Record` of it.
Nothing here decides anything.
"""

from collections.abc import Generator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from mooring.framework.arrays import Amounts, Rows
from mooring.framework.cycle import Cycle
from mooring.framework.filtering import Candidate, Filtering, Preemption
from mooring.model.pod import Pod

#: The rows of equally good nodes, in ascending order.
Best = Rows | list[int]
#: Stands where a plugin's name would, for what extenders said.
# parity v1.36.4: framework/interface.go ExtenderName
EXTENDER: Final = "Extender"


class AskExtenders(msgspec.Struct, frozen=True):
    """A question to the configuration's extenders in the middle of a decision.

    The cycle stops until the answer is there; no change is applied meanwhile.

    Attributes:
        verb: ``filter``, answered by the names that remain and the verdicts on the others;
            ``prioritize``, answered by what to add to the totals, by name; or ``preempt``, answered
            by the candidates that remain.
        pod: the pod.
        nodes: the names of the nodes it is about.
        victims: for ``preempt``, the candidates by node.
    """

    verb: str
    pod: Pod
    nodes: tuple[str, ...]
    victims: Mapping[str, Candidate] = {}


class PluginScore(NamedTuple):
    """What one plugin said about the possible nodes."""

    name: str
    weight: int
    raw: Amounts | None = None
    normalized: Amounts | None = None


class Scoring(NamedTuple):
    """All scores of one decision.

    Attributes:
        rows: the possible nodes; what follows is in their order.
        scores: what each plugin said, and then the extenders, if there are any.
        total: the sums that count.
    """

    rows: Rows
    scores: list[PluginScore]
    total: Amounts

    @property
    def best(self) -> Rows:
        """The rows with the highest total."""
        best: Rows = self.rows[self.total == self.total.max()]
        return best


class PostFilterResult(NamedTuple):
    """What the post-filter plugins found, and why they found nothing.

    Attributes:
        preemption: the search for victims in full. Its candidates are those that `Preempt` hooks
            and extenders left, and its verdict says so if they left none.
        reasons: why no room can be made; empty if it can.
        plugin: who found it, or whose word ended the search.
        deferred: there are candidates, but it has to be seen first what becomes of victims of
            others.
        keep_nomination: whether the node the pod was nominated to before stays its nominated node.
    """

    preemption: Preemption | None = None
    reasons: tuple[str, ...] = ()
    plugin: str = ""
    deferred: bool = False
    keep_nomination: bool = False


class Decision(NamedTuple):
    """Where a pod may go, or why it may not.

    Attributes:
        cycle: the decision's working state, for the hooks that follow.
        filtering: the possible nodes and why the others are not, extenders included.
        best: the rows of the nodes among which the choice is free; empty if there is none. Valid
            until the next decision.
        scoring: the scores; None if nothing had to be scored.
        nominated: whether the pod takes its nominated node, whatever the scores.
        post_filter_result: if no node was possible, what was found to make room.
        known_message: the message, if it is that of an earlier decision.
    """

    cycle: Cycle
    filtering: Filtering
    best: Best
    scoring: Scoring | None = None
    nominated: bool = False
    post_filter_result: PostFilterResult = PostFilterResult()
    known_message: str = ""

    @property
    def error(self) -> str:
        """Why the decision was given up: a plugin could not answer; empty if none was."""
        return self.filtering.error or ""

    @property
    def candidates(self) -> Mapping[str, Candidate]:
        """The nodes on which room can be made now, by name."""
        found, _, _, deferred, _ = self.post_filter_result
        if found is None or deferred or not found.verdict.accepted:
            return {}
        return found.candidates

    @property
    def message(self) -> str:
        """Why the pod is pending, in kube-scheduler's words; empty if it is not."""
        if self.known_message:
            return self.known_message
        if self.error:
            return self.error
        if len(self.filtering.feasible):
            return ""
        message, reasons = self.filtering.message, ", ".join(self.post_filter_result.reasons)
        return f"{message} {reasons}" if message and reasons else message or reasons


#: One decision: questions to extenders come out, answers go in.
DecisionCycle = Generator[AskExtenders, Any, Decision]
