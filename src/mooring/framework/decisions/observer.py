"""Who watches a decision: an observer is told of each step and changes nothing.

The decision cycle calls it, and the scheduler for what follows a decision. Whoever wants to know
more than the result passes one in: `recording` for a record in full, `live` for durations,
benchmarks for the share of each plugin.

    begun ─> started PreFilter ─> pre_filtered ─> started Filter ─> filtered
               ─> started Score ─> scored  or  started PostFilter ─> post_filtered  ─> decided
    then, of a pod that has a node:  started Reserve ─> reserved ─> started Permit ─> permitted
    failed: a plugin raised, at the extension point that was started last
"""

from collections.abc import Mapping
from typing import Final

from mooring.framework.arrays import Mask
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.decision import Decision, PostFilterResult, Scoring
from mooring.framework.filtering import Filtering, Preemption, PreFilterResult, Rejection
from mooring.framework.hook import PreFilterAnswer
from mooring.framework.verdict import Verdict, Verdicts

# The extension points, as kube-scheduler's metrics call them.
PRE_FILTER: Final = "PreFilter"
FILTER: Final = "Filter"
SCORE: Final = "Score"
POST_FILTER: Final = "PostFilter"
RESERVE: Final = "Reserve"
PERMIT: Final = "Permit"


class Observer:
    """Told of each step of a decision; by itself it does nothing.

    Attributes:
        thorough: every plugin is to be asked about every node, also where nothing can change any
            more. What comes of the decision is the same, but for preemption on many nodes: without
            it, some of the candidates are enough.
        each_plugin: it is to be told of each plugin as well, which costs a little time.
        each_score: it wants to know what each plugin gave to each node.
        each_step: it wants to be told of each step of a decision that follows from what is kept,
            and of Reserve and Permit where no plugin has anything to say; asked after `begun`.
            Without it, it is told of the decision alone.
    """

    thorough: bool = False
    each_plugin: bool = False
    each_score: bool = False
    each_step: bool = True

    def begun(self, cycle: Cycle) -> None:
        """A decision begins."""

    def started(self, point: str) -> None:
        """The plugins of an extension point will be asked."""

    def failed(self) -> None:
        """A plugin failed, and the decision with it."""

    def pre_filtered(self, whole: Rejection | None, result: PreFilterResult | None) -> None:
        """The pre-filter plugins rejected the pod as such, or said which nodes are possible."""

    def filtered(self, filtering: Filtering) -> None:
        """All filters were asked, pods nominated to nodes counted; extenders were not yet."""

    def scored(self, scoring: Scoring | None) -> None:
        """All possible nodes have scores; those of extenders are not among them yet.

        None if the scores of each plugin are not known, because some of them were kept.
        """

    def post_filtered(self, result: PostFilterResult) -> None:
        """The post-filter plugins looked for room; nobody has reviewed what they found yet."""

    def decided(self, decision: Decision) -> None:
        """This is the decision."""

    def reserved(self, rejection: Rejection | None) -> None:
        """The plugins know of the pod's node; one may have rejected it."""

    def permitted(self, answer: Rejection | Mapping[str, float]) -> None:
        """The plugins let the pod go, rejected it, or make it wait, by plugin for so long."""

    def waited(self, code: str, seconds: float) -> None:
        """A pod waited so long for a permission; the code says what came of it."""

    # -- each plugin, if `each_plugin` is true

    def asking(self, plugin: str) -> None:
        """A plugin is asked next."""

    def pre_filter_answered(self, plugin: str, answer: PreFilterAnswer) -> None:
        """A pre-filter plugin answered."""

    def filter_answered(self, plugin: str, verdicts: Verdicts | None) -> None:
        """A filter answered for the nodes that are asked about; None if it accepts them all."""

    def filters_answered(self, mask: Mask) -> None:
        """All filters answered; these nodes are possible if nominated pods do not count."""

    def score_answered(self, plugin: str) -> None:
        """A plugin prepared its scores, or gave them."""

    def post_filter_answered(self, plugin: str, answer: Preemption | Verdict) -> None:
        """A post-filter plugin answered; nobody has reviewed it yet."""


class _Nobody(Observer):
    """Wants to be told of nothing."""

    each_step = False


#: Nobody watches.
NOBODY: Final = _Nobody()
