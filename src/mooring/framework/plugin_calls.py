"""Asking a plugin's filter or score, whatever its form, and checking what it answers.

Singular hooks are asked for one node after the other, plural ones for all at once; both answers
become `Verdicts` or whole numbers. Called by the runtime. An illegal answer is a `PolicyError` that
names the plugin.
"""

from collections.abc import Sequence
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from mooring.framework import foreign, hook
from mooring.framework.arrays import Amounts, Floats, Scores
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.quick_answers import QuickFilter, QuickScore
from mooring.framework.declarations import filter_scope
from mooring.framework.handle import AskFilter
from mooring.framework.hook_answers import legal_verdicts
from mooring.framework.nodes import Nodes
from mooring.framework.rules import FilterRule, ScoreRule
from mooring.framework.verdict import ACCEPT, Verdict, Verdicts
from mooring.model.pod import Pod

#: The best normalised score.
MAX_SCORE = 100


#: The hooks in whose place a quick answer is.
_OF_FILTER: Final = ("pre_filter", "filter_nodes")
_OF_SCORE: Final = ("pre_score", "score_nodes", "normalize")


class AskScore(Protocol):
    """A score plugin, ready to be asked.

    Attributes:
        name: the plugin's name.
        normalizes: whether raw scores are not yet those from 0 to 100.
        quick: gives the normalized scores at once; None if it cannot.
    """

    name: str
    normalizes: bool
    quick: QuickScore | None

    def raw(self, cycle: Cycle, nodes: Nodes) -> Amounts:
        """The raw scores for the nodes."""

    def normalized(self, cycle: Cycle, nodes: Nodes, raw: Amounts) -> Amounts:
        """What becomes of raw scores: numbers from 0 to 100."""


def filter_asker(plugin: hook.Filter | hook.FilterNodes, name: str) -> AskFilter:
    """The way to ask a filter plugin."""
    if isinstance(plugin, hook.FilterNodes):
        return _PluralFilter(plugin, name)
    return _SingularFilter(plugin, name)


def quick_filter(plugin: hook.Hook) -> QuickFilter | None:
    """The filter that tells the nodes it accepts at once; None if it cannot."""
    if isinstance(plugin, QuickFilter) and not _has_foreign(plugin, _OF_FILTER):
        return plugin
    return None


def score_asker(plugin: hook.Score | hook.ScoreNodes, name: str) -> AskScore:
    """The way to ask a score plugin."""
    if isinstance(plugin, hook.ScoreNodes) and (
        isinstance(plugin, hook.Normalize) or plugin.max_score == MAX_SCORE
    ):
        return _RawScore(plugin, name)
    return _ScaledScore(plugin, name)


class _PluralFilter:
    by_node = False

    def __init__(self, plugin: hook.FilterNodes, name: str) -> None:
        self.name = name
        self.scope = filter_scope(plugin)
        self._filter_nodes = foreign.entry(plugin.filter_nodes)
        self._is_foreign = foreign.is_foreign(plugin.filter_nodes)
        self._rule = FilterRule(
            kind="filter_nodes", name=name, function=plugin.filter_nodes, reason=plugin.reason
        )

    def ask(self, pod: Pod, nodes: Nodes) -> Verdicts | None:
        answers = self._filter_nodes(pod, nodes)
        if answers is None:
            return None
        if type(answers) is Verdicts:
            if self._is_foreign:
                answers = foreign.call(legal_verdicts, answers)
            if len(answers) != len(nodes):
                what = f"returned {len(answers)} answers for {len(nodes)} nodes"
                raise self._rule.wrong(what, "returned a wrong number")
            return answers
        return _verdicts(foreign.call(self._rule.checked, answers, nodes), len(nodes))


class _SingularFilter:
    by_node = True

    def __init__(self, plugin: hook.Filter, name: str) -> None:
        self.name = name
        self.scope = filter_scope(plugin)
        self._rule = FilterRule(kind="filter", name=name, function=plugin.filter)

    def ask(self, pod: Pod, nodes: Nodes) -> Verdicts | None:
        return _verdicts(self._rule.rejections(pod, nodes), len(nodes))


def _verdicts(rejections: Sequence[tuple[int, Verdict]], size: int) -> Verdicts | None:
    if not rejections:
        return None
    table: list[Verdict] = [ACCEPT]
    places: dict[Verdict, int] = {}
    choice = np.zeros(size, np.int32)
    for index, verdict in rejections:
        place = places.get(verdict)
        if place is None:
            place = places[verdict] = len(table)
            table.append(verdict)
        choice[index] = place
    return Verdicts(choice, table)


class _RawScore:
    """Raw scores in whole numbers, which the plugin may bring to 0..100 itself."""

    def __init__(self, plugin: hook.ScoreNodes, name: str) -> None:
        self.name = name
        self._score_nodes = foreign.entry(plugin.score_nodes)
        self._normalize = (
            foreign.entry(plugin.normalize) if isinstance(plugin, hook.Normalize) else None
        )
        self.normalizes = self._normalize is not None
        self.quick: QuickScore | None = (
            plugin
            if isinstance(plugin, QuickScore) and not _has_foreign(plugin, _OF_SCORE)
            else None
        )
        self._rule = ScoreRule(kind="score_nodes", name=name, function=plugin.score_nodes)

    def raw(self, cycle: Cycle, nodes: Nodes) -> Amounts:
        return self._whole(self._score_nodes(cycle.pod, nodes), nodes)

    def normalized(self, cycle: Cycle, nodes: Nodes, raw: Amounts) -> Amounts:
        if self._normalize is not None:
            raw = self._whole(self._normalize(cycle, nodes, raw), nodes)
        # As unsigned numbers, those below 0 are large ones: one look at all of them is enough.
        if np.maximum.reduce(raw.view(np.uint64), initial=0) > MAX_SCORE:
            self._rule.checked(raw, nodes)  # names the node
        return raw

    def _whole(self, scores: Scores, nodes: Nodes) -> Amounts:
        found: npt.NDArray[Any] = (
            scores if type(scores) is np.ndarray else foreign.call(np.asarray, scores)
        )
        if found.dtype == np.int64 and found.shape == (len(nodes),):
            return found
        if self._normalize is None:
            return whole(foreign.call(self._rule.checked, scores, nodes))
        if found.shape != (len(nodes),) or found.dtype.kind not in "iuf":
            what = f"must return one number for each of the {len(nodes)} nodes"
            raise self._rule.wrong(what, "returned a wrong number")
        return np.floor(found + 0.5).astype(np.int64)


def _has_foreign(plugin: hook.Hook, names: Sequence[str]) -> bool:
    """Whether somebody has put other code in the place of one of some hooks."""
    hooks = (getattr(plugin, one, None) for one in names)
    return any(foreign.is_foreign(one) for one in hooks if one is not None)


class _ScaledScore:
    """Scores from 0 to the plugin's `max_score`."""

    normalizes = False
    quick: QuickScore | None = None

    def __init__(self, plugin: hook.Score | hook.ScoreNodes, name: str) -> None:
        self.name = name
        plural = isinstance(plugin, hook.ScoreNodes)
        self._rule = ScoreRule(
            kind="score_nodes" if plural else "score",
            name=name,
            function=plugin.score_nodes if isinstance(plugin, hook.ScoreNodes) else plugin.score,
            max_score=plugin.max_score,
        )

    def raw(self, cycle: Cycle, nodes: Nodes) -> Amounts:
        return whole(self._rule.scores(cycle.pod, nodes))

    def normalized(self, cycle: Cycle, nodes: Nodes, raw: Amounts) -> Amounts:  # noqa: ARG002
        return raw


def whole(scores: Floats) -> Amounts:
    """Scores from 0 to 100 as whole numbers, halves rounded up."""
    return np.floor(scores + 0.5).astype(np.int64)
