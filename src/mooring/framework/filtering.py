"""What came out of the filters of one decision, and what preemption makes of it.

Made by the runtime; read by `PostFilter` plugins and by the decision's `Record`. Who rejected a
node first is worked out when somebody asks: most decisions find a node and nobody does.
"""

import functools
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import Final

import msgspec
import numpy as np

from mooring.framework.arrays import Choice, Mask, Rows
from mooring.framework.fit_error import NO_NODES, fit_error, nodes_available
from mooring.framework.verdict import Verdict, Verdicts, reject
from mooring.model.pod import Pod

#: Stands where a plugin's name would, for nodes outside of what pre-filter plugins left.
PRE_FILTER_RESULT: Final = "PreFilterResult"
#: Stands where a plugin's name would, for pods that no plugin rejects but the framework itself.
FRAMEWORK: Final = "Framework"


_NOTHING: Final[Mask] = np.zeros(0, np.bool_)


class Rejection(msgspec.Struct, frozen=True):
    """The first plugin that rejected a node, and why."""

    plugin: str
    verdict: Verdict


class PreFilterResult(msgspec.Struct, frozen=True):
    """Plugins that restricted the feasible nodes before the filters."""

    mask: Mask
    plugins: tuple[str, ...]

    @property
    def rejection(self) -> Rejection:
        """The rejection of every other node."""
        names = " ".join(sorted(self.plugins))
        return Rejection(
            PRE_FILTER_RESULT,
            reject(f"node(s) didn't satisfy plugin(s) [{names}]", unresolvable=True),
        )


class Filtering:
    """The nodes on which a pod fits, and the first rejection of each other node.

    Attributes:
        size: how many nodes there are.
        whole: the rejection of the pod on every node, before any node was evaluated.
    """

    def __init__(
        self,
        mask: Mask,
        answers: Sequence[tuple[str, Verdicts]] = (),
        *,
        pre_filter_result: PreFilterResult | None = None,
        special: Mapping[int, Rejection] | None = None,
        whole: Rejection | None = None,
    ) -> None:
        self.size = len(mask)
        self._mask = mask
        self.whole = whole
        self._answers = answers
        self._pre_filter_result = pre_filter_result
        self._special = special or {}

    @functools.cached_property
    def feasible(self) -> Rows:
        """The rows of the nodes that passed, in ascending order."""
        rows: Rows = self._mask.nonzero()[0]
        return rows

    @functools.cached_property
    def _first(self) -> Choice:
        """(n,) for each node the number of the plugin that rejected it first, counted from 1."""
        first = np.zeros(self.size, np.int16)
        for number, (_, verdicts) in reversed(list(enumerate(self._answers, 1))):
            first[verdicts.choice != 0] = number
        return first

    def rejection(self, row: int) -> Rejection | None:
        """The first rejection of a node; None if the pod fits there."""
        if self.whole is not None:
            return self.whole
        if self._pre_filter_result is not None and not self._pre_filter_result.mask[row]:
            return self._pre_filter_result.rejection
        special = self._special.get(row)
        if special is not None:
            return special
        number = int(self._first[row])
        if not number:
            return None
        name, verdicts = self._answers[number - 1]
        return Rejection(name, verdicts[row])

    def without(self, rejected: Mapping[int, Verdict], who: str) -> "Filtering":
        """The same with more rejections, of nodes that passed the filters."""
        mask = np.zeros(self.size, np.bool_)
        mask[self.feasible] = True
        mask[list(rejected)] = False
        more = {row: Rejection(who, verdict) for row, verdict in rejected.items()}
        return Filtering(
            mask,
            self._answers,
            pre_filter_result=self._pre_filter_result,
            special={**self._special, **more},
            whole=self.whole,
        )

    @property
    def resolvable(self) -> list[int]:
        """The rows whose rejection preemption might resolve."""
        if self.whole is not None:
            verdict = self.whole.verdict
            return [] if verdict.unresolvable or verdict.error else list(range(self.size))
        mask = np.zeros(self.size, np.bool_)
        for number, (_, verdicts) in enumerate(self._answers, 1):
            yes = np.array([not (v.accepted or v.unresolvable or v.error) for v in verdicts.table])
            mask |= (self._first == number) & yes[verdicts.choice]
        for row, rejection in self._special.items():
            mask[row] = not (rejection.verdict.unresolvable or rejection.verdict.error)
        if self._pre_filter_result is not None:
            mask &= self._pre_filter_result.mask
        rows: list[int] = np.flatnonzero(mask).tolist()
        return rows

    @functools.cached_property
    def plugins(self) -> Set[str]:
        """The plugins that rejected a node first."""
        if self.whole is not None:
            # parity v1.36.4: schedule_one.go findNodesThatFitPod: so did those that named nodes
            named = self._pre_filter_result.plugins if self._pre_filter_result is not None else ()
            return frozenset(filter(None, (self.whole.plugin, *named))) or frozenset((FRAMEWORK,))
        found = {rejection.plugin for rejection in self._special.values()}
        if self._pre_filter_result is not None and not self._pre_filter_result.mask.all():
            found.update(self._pre_filter_result.plugins)
        numbers = np.unique(self._first).tolist()
        found.update(self._answers[number - 1][0] for number in numbers if number)
        return frozenset(found)

    @property
    def reasons(self) -> Counter[str]:
        """On how many nodes each reason was given by the plugin that rejected first."""
        counts: Counter[str] = Counter()
        asked = np.ones(self.size, np.bool_)
        if self._pre_filter_result is not None:
            asked = self._pre_filter_result.mask.copy()
            outside = self.size - int(asked.sum())
            if outside:
                counts[self._pre_filter_result.rejection.verdict.reason] += outside
        for row, rejection in self._special.items():
            if asked[row]:
                asked[row] = False
                counts.update(rejection.verdict.reasons)
        for number, (_, verdicts) in enumerate(self._answers, 1):
            places = verdicts.choice[(self._first == number) & asked]
            for place, count in zip(*np.unique(places, return_counts=True), strict=True):
                for reason in verdicts.table[int(place)].reasons:
                    counts[reason] += int(count)
        return counts

    @functools.cached_property
    def error(self) -> str | None:
        """Why the pod or some node could not be evaluated, if so."""
        if self.whole is not None:
            plugin, verdict = self.whole.plugin, self.whole.verdict
            reasons = ", ".join(verdict.reasons)
            return f'running PreFilter plugin "{plugin}": {reasons}' if verdict.error else None
        found = [
            f'running "{rejection.plugin}" filter plugin: {rejection.verdict.reason}'
            for rejection in self._special.values()
            if rejection.verdict.error
        ]
        if not any(verdict.error for _, answers in self._answers for verdict in answers.table):
            return min(found, default=None)
        found += [
            f'running "{name}" filter plugin: {verdict.reason}'
            for number, (name, verdicts) in enumerate(self._answers, 1)
            for place, verdict in enumerate(verdicts.table)
            if verdict.error and np.any((self._first == number) & (verdicts.choice == place))
        ]
        return min(found, default=None)

    @functools.cached_property
    def message(self) -> str:
        """Why the pod is pending, in kube-scheduler's format."""
        if not self.size:
            return NO_NODES
        if self.whole is not None:
            return nodes_available(self.size, ", ".join(self.whole.verdict.reasons))
        return fit_error(self.size, self.reasons)


def passed(rows: Rows, size: int) -> Filtering:
    """The nodes on which a pod fits, if nobody asks why not on the others.

    Args:
        rows: these nodes, in ascending order.
        size: how many nodes there are.
    """
    filtering = Filtering(_NOTHING)
    filtering.size, filtering.feasible = size, rows
    return filtering


def rejected(filtering: Filtering) -> Filtering:
    """What counts of a filtering that no node passed, without the answers about each node."""
    small = passed(filtering.feasible, filtering.size)
    small.message, small.plugins, small.error = (
        filtering.message,
        filtering.plugins,
        filtering.error,
    )
    return small


class Candidate(msgspec.Struct, frozen=True):
    """A node where preempting pods makes room.

    Attributes:
        node: the node's name.
        victims: the pods to preempt, most important first.
        pdb_violations: how many of them are protected by a disruption budget.
    """

    node: str
    victims: tuple[Pod, ...]
    pdb_violations: int = 0


class Preemption(msgspec.Struct, frozen=True):
    """The complete result of a search for victims.

    Attributes:
        verdict: accepts if a node was found; otherwise has the reason.
        eligible: whether the pod may preempt at all.
        potential: the nodes on which preemption could help.
        candidates: the nodes on which it does.
        rejected: for the other potential nodes, why it does not.
        best: the candidates that are equally good.
    """

    verdict: Verdict
    eligible: bool = False
    potential: Sequence[str] = ()
    candidates: Mapping[str, Candidate] = {}
    rejected: Mapping[str, Verdict] = {}
    best: Sequence[str] = ()

    @property
    def error(self) -> str:
        """Why some node could not be evaluated; empty if all could."""
        # parity v1.36.4: apimachinery/pkg/util/errors: an aggregate of errors
        # In the order of nodes, wherever the search began.
        nodes = dict.fromkeys((*self.potential, *self.rejected))
        found = (self.rejected[node] for node in nodes if node in self.rejected)
        errors = list(dict.fromkeys(one.reason for one in found if one.error))
        return f"[{', '.join(errors)}]" if len(errors) > 1 else "".join(errors)
