"""The runtime: one profile's plugins, run at every extension point of a decision.

`decide` is the fast way, for a scheduler: it stops where nothing can change any more. `Record`s,
which want every plugin's word about every node, are made by `examine` from the same parts. Called
by the scheduler and `explain`; never waits and never reads a clock of its own.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mooring.errors import MooringError, PluginError
from mooring.framework import foreign, hook
from mooring.framework.arrays import Amounts, Mask, Rows
from mooring.framework.binding_hooks import BindingHooks, blame
from mooring.framework.cycle import Cycle
from mooring.framework.extension_points import Points
from mooring.framework.filtering import Filtering, Preemption, PreFilterResult, Rejection
from mooring.framework.handle import AskFilter, NobodyWaits, Waiting
from mooring.framework.hook_answers import legal_pre_filter, one_verdict
from mooring.framework.nodes import Nodes
from mooring.framework.plugin_calls import AskScore, filter_asker, score_asker
from mooring.framework.policy_plugin import PolicyPreempt
from mooring.framework.post_filter_answers import legal_post_filter
from mooring.framework.rules import PreemptRule
from mooring.framework.verdict import Verdict, Verdicts, reject
from mooring.framework.what_ifs import guarded
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster

_NO_GROUPS = "pod groups (spec.schedulingGroup) are not supported by mooring yet"


class PluginScore(NamedTuple):
    """What one plugin said about the possible nodes."""

    name: str
    weight: int
    raw: Amounts | None = None
    normalized: Amounts | None = None


class Scoring(NamedTuple):
    """All scores of one decision, for the possible nodes in order."""

    scores: list[PluginScore]
    total: Amounts


class PostFilterResult(NamedTuple):
    """What the post-filter plugins found, and why they found nothing."""

    preemption: Preemption | None = None
    reasons: tuple[str, ...] = ()


class Decision(NamedTuple):
    """Where a pod may go.

    Attributes:
        cycle: the decision's working state, for the hooks that follow.
        filtering: the possible nodes, and why the others are not.
        best: the rows of the nodes among which the choice is free; empty if there is none.
        post_filter_result: if no node was possible, what preemption found.
    """

    cycle: Cycle
    filtering: Filtering
    best: Rows
    post_filter_result: PostFilterResult = PostFilterResult()

    @property
    def message(self) -> str:
        """Why the pod is pending, as kube-scheduler would say it; empty if it is not."""
        return pending_message(self.filtering, self.post_filter_result)


def pending_message(filtering: Filtering, result: PostFilterResult) -> str:
    """Why a pod is pending, as kube-scheduler would say it; empty if a node is possible."""
    if len(filtering.feasible):
        return ""
    return " ".join(part for part in (filtering.message, ", ".join(result.reasons)) if part)


class Runtime:
    """One profile's plugins on one cluster.

    Args:
        cluster: the state.
        now_ns: the clock, nanoseconds since 1970.
        choose: picks one of so many equals.
    """

    def __init__(
        self,
        cluster: Cluster,
        now_ns: Callable[[], int] = lambda: 0,
        choose: Callable[[int], int] = lambda _: 0,
    ) -> None:
        self._cluster = cluster
        self._now_ns = now_ns
        self._choose = choose
        self._asking = False
        self.name = ""
        #: The pods that wait for permission; set by whoever lets pods wait.
        self.waiting: Waiting = NobodyWaits()
        self.points: Points = {}
        self.binding_hooks = BindingHooks({})
        self._pre_filters: list[tuple[str, Callable[[Cycle], hook.PreFilterAnswer]]] = []
        self.filters: list[AskFilter] = []
        self.post_filters: list[tuple[str, hook.PostFilter]] = []
        self._pre_scores: list[tuple[str, Callable[[Cycle, Nodes], object]]] = []
        self.scores: list[tuple[AskScore, int]] = []
        self.preempts: list[PreemptRule] = []
        self._what_ifs: list[tuple[str, hook.WhatIf]] = []

    def install(
        self, name: str, points: Points, plugins: Mapping[str, hook.Hook] | None = None
    ) -> None:
        """Take a profile's plugins; they may have been made with this runtime as their handle.

        Args:
            name: the profile's scheduler name.
            points: the plugins at each extension point.
            plugins: all of them by name, if there are some at no point, as a mere `hook.Preempt`.
        """
        if plugins is None:
            plugins = {one.name: one.plugin for at_point in points.values() for one in at_point}
        self.name = name
        self.points = points
        self.binding_hooks = BindingHooks(points, functools.partial(guarded, self))
        pre_filters = [
            (one.name, one.plugin)
            for one in points.get("preFilter", ())
            if isinstance(one.plugin, hook.PreFilter)
        ]
        self._pre_filters = [(name, self._pre_filter(plugin)) for name, plugin in pre_filters]
        self._what_ifs = [(name, one) for name, one in pre_filters if isinstance(one, hook.WhatIf)]
        self.filters = [
            filter_asker(one.plugin, one.name)
            for one in points.get("filter", ())
            if isinstance(one.plugin, (hook.Filter, hook.FilterNodes))
        ]
        self.post_filters = [
            (one.name, one.plugin)
            for one in points.get("postFilter", ())
            if isinstance(one.plugin, hook.PostFilter)
        ]
        self._pre_scores = [
            (one.name, guarded(self, one.plugin.pre_score))
            for one in points.get("preScore", ())
            if isinstance(one.plugin, hook.PreScore)
        ]
        self.scores = [
            (score_asker(one.plugin, one.name), one.weight)
            for one in points.get("score", ())
            if isinstance(one.plugin, (hook.Score, hook.ScoreNodes))
        ]
        preempts = {k: one for k, one in plugins.items() if isinstance(one, hook.Preempt)}
        policies = [one for one in preempts.values() if isinstance(one, PolicyPreempt)]
        asked = {id(plugin) for policy in policies for plugin in policy.asks}
        self.preempts = [
            PreemptRule(kind="preempt", name=name, function=plugin.preempt)
            for name, plugin in preempts.items()
            if id(plugin) not in asked
        ]

    # -- what plugins may ask (see `Handle`)

    @property
    def cluster(self) -> Cluster:
        """The cluster's state."""
        return self._cluster

    @property
    def now_ns(self) -> Callable[[], int]:
        """The clock."""
        return self._now_ns

    @property
    def choose(self) -> Callable[[int], int]:
        """Picks one of so many equals."""
        return self._choose

    def rejection(self, cycle: Cycle, row: int) -> Rejection | None:
        """Ask all filters about one node as it is now, nominated pods counted; None if it fits."""
        self._check_not_asking()
        nominated = self._cluster.nominations.counting(
            self._cluster.columns.nodes[row].name, cycle.pod
        )
        if nominated:
            # parity v1.36.4: runtime/framework.go RunFilterPluginsWithNominatedPods
            added: list[Pod] = []
            try:
                for pod in nominated:
                    added.append(pod)
                    self.add_pod(cycle, pod, row)
                rejected = self._first_rejection(cycle, row)
                while added:
                    self.remove_pod(cycle, added.pop(), row)
            except BaseException:
                # The decision ends with the error; the state must not remember the thought.
                for pod in reversed(added):
                    self._cluster.remove_what_if(pod, row)
                raise
            if rejected is not None:
                return rejected
        return self._first_rejection(cycle, row)

    def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Put a pod on a node in thought."""
        self._check_not_asking()
        self._cluster.add_what_if(pod, row)
        for name, plugin in self._what_ifs:
            if name not in cycle.skipped:
                try:
                    foreign.call(plugin.add_pod, cycle, pod, row)
                except Exception as error:  # noqa: BLE001 - a plugin may raise anything
                    blame(error, name, "add_pod", cycle.pod)

    def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Take a pod off its node in thought."""
        self._check_not_asking()
        self._cluster.remove_what_if(pod, row)
        for name, plugin in self._what_ifs:
            if name not in cycle.skipped:
                try:
                    foreign.call(plugin.remove_pod, cycle, pod, row)
                except Exception as error:  # noqa: BLE001
                    blame(error, name, "remove_pod", cycle.pod)

    def _pre_filter(self, plugin: hook.PreFilter) -> Callable[[Cycle], hook.PreFilterAnswer]:
        if not foreign.is_foreign(plugin.pre_filter):
            return plugin.pre_filter
        ask = guarded(self, plugin.pre_filter)
        return lambda cycle: foreign.call(legal_pre_filter, ask(cycle))

    def _check_not_asking(self) -> None:
        """A filter that asks all filters would ask itself for ever."""
        if self._asking:
            raise MooringError("a filter may not ask the handle about a node")

    def _first_rejection(self, cycle: Cycle, row: int) -> Rejection | None:
        nodes = cycle.nodes.subset(np.array([row]))
        self._asking = True
        try:
            for asker in self.filters:
                if asker.name not in cycle.skipped:
                    try:
                        verdicts = asker.ask(cycle.pod, nodes)
                    except Exception as error:  # noqa: BLE001
                        blame(error, asker.name, "filter", cycle.pod)
                    if verdicts is not None and verdicts.choice[0]:
                        return Rejection(asker.name, verdicts[0])
        finally:
            self._asking = False
        return None

    # -- the points of a decision

    def begin(self, pod: Pod, *, thorough: bool = False) -> Cycle:
        """Start a decision; a thorough one looks at every possibility, for a record."""
        return Cycle(pod, self._cluster, thorough=thorough)

    def pre_enqueue(self, pod: Pod) -> dict[str, Verdict]:
        """What each plugin says to letting the pod into the queue."""
        answers = {}
        for name, plugin, _ in self.points.get("preEnqueue", ()):
            if isinstance(plugin, hook.PreEnqueue):
                try:
                    answers[name] = one_verdict(foreign.call(plugin.pre_enqueue, pod), name)
                except Exception as error:  # noqa: BLE001
                    blame(error, name, "pre_enqueue", pod)
        return answers

    def pre_filter(self, cycle: Cycle) -> Iterator[tuple[str, hook.PreFilterAnswer]]:
        """Ask each plugin; the caller decides how far to go."""
        for name, ask in self._pre_filters:
            try:
                answer = ask(cycle)
            except Exception as error:  # noqa: BLE001
                blame(error, name, "pre_filter", cycle.pod)
            if answer is hook.SKIP:
                cycle.skipped.add(name)
            yield name, answer

    def filter(self, cycle: Cycle) -> Filtering:
        """Find the nodes on which the pod fits; stops where nothing can change any more."""
        whole, pre_filter_result = self.narrow(cycle, self.pre_filter(cycle))
        size = len(self._cluster.columns)
        if whole is not None:
            return Filtering(np.zeros(size, np.bool_), whole=whole)
        mask = (
            pre_filter_result.mask.copy()
            if pre_filter_result is not None
            else np.ones(size, np.bool_)
        )
        answers = []
        skipped = cycle.skipped
        for asker in self.filters:
            if asker.name in skipped:
                continue
            verdicts = self.ask(asker, cycle, mask)
            if verdicts is not None:
                answers.append((asker.name, verdicts))
                mask &= verdicts.choice == 0
                if not mask.any():
                    break
        special = self.ask_again(cycle, mask, pre_filter_result)
        return Filtering(mask, answers, pre_filter_result=pre_filter_result, special=special)

    def ask(self, asker: AskFilter, cycle: Cycle, mask: Mask | None = None) -> Verdicts | None:
        """What one filter says of all nodes; of those in a mask, if asking costs for each node."""
        every = mask is None or not asker.by_node or mask.all()
        rows = np.flatnonzero(mask) if mask is not None and not every else None
        try:
            verdicts = asker.ask(
                cycle.pod, cycle.nodes if rows is None else cycle.nodes.subset(rows)
            )
        except Exception as error:  # noqa: BLE001
            blame(error, asker.name, "filter", cycle.pod)
        if verdicts is None or rows is None or mask is None:
            return verdicts
        choice = np.zeros(len(mask), np.int32)
        choice[rows] = verdicts.choice
        return Verdicts(choice, verdicts.table)

    def narrow(
        self, cycle: Cycle, answers: Iterable[tuple[str, hook.PreFilterAnswer]]
    ) -> tuple[Rejection | None, PreFilterResult | None]:
        """The rejection of the pod as such, or the only nodes that are possible."""
        # parity v1.36.4: runtime/framework.go RunPreFilterPlugins
        if cycle.pod.spec.scheduling_group is not None:
            return Rejection("GangScheduling", reject(_NO_GROUPS, unresolvable=True)), None
        rejected: Rejection | None = None
        names: set[str] | None = None
        plugins: list[str] = []
        for plugin, answer in answers:
            if isinstance(answer, Verdict):
                if answer.accepted:
                    continue
                rejected = Rejection(plugin, answer)
                if answer.unresolvable or answer.error:
                    return rejected, None
            elif answer is not None and answer is not hook.SKIP:
                plugins.append(plugin)
                names = set(answer) if names is None else names & set(answer)
                if not names:
                    return _nothing_left(sorted(plugins)), None
        if rejected is not None or names is None:
            return rejected, None
        mask = np.zeros(len(self._cluster.columns), np.bool_)
        row_of = self._cluster.columns.row_of
        mask[[row_of[name] for name in names if name in row_of]] = True
        return None, PreFilterResult(mask, tuple(plugins))

    def ask_again(
        self, cycle: Cycle, mask: Mask, pre_filter_result: PreFilterResult | None
    ) -> dict[int, Rejection]:
        """Ask anew about nodes with nominated pods; takes those that reject out of the mask."""
        special: dict[int, Rejection] = {}
        nominations = self._cluster.nominations
        if not nominations:
            return special
        for name in nominations.nodes:
            row = self._cluster.columns.row_of.get(name)
            possible = row is not None and (
                pre_filter_result is None or pre_filter_result.mask[row]
            )
            if row is None or not possible or not nominations.counting(name, cycle.pod):
                continue
            rejected = self.rejection(cycle, row)
            if rejected is not None:
                special[row] = rejected
                mask[row] = False
        return special

    def score(self, cycle: Cycle, rows: Rows) -> Scoring:
        """Score the possible nodes."""
        nodes = cycle.nodes
        if len(rows) < len(nodes):
            nodes = nodes.subset(rows)
        skipped = set()
        for name, ask in self._pre_scores:
            try:
                if ask(cycle, nodes) is hook.SKIP:
                    skipped.add(name)
            except Exception as error:  # noqa: BLE001
                blame(error, name, "pre_score", cycle.pod)
        total = np.zeros(len(rows), np.int64)
        scores = []
        for asker, weight in self.scores:
            if asker.name in skipped:
                scores.append(PluginScore(asker.name, weight))
                continue
            try:
                raw, normalized = asker.ask(cycle, nodes)
            except Exception as error:  # noqa: BLE001
                blame(error, asker.name, "score", cycle.pod)
            scores.append(PluginScore(asker.name, weight, raw, normalized))
            total += normalized if weight == 1 else normalized * weight
        if not self.scores:
            total += 1  # parity v1.36.4: schedule_one.go prioritizeNodes
        return Scoring(scores, total)

    def post_filter(self, cycle: Cycle, filtering: Filtering) -> PostFilterResult:
        """Run the post-filter plugins; the first one that finds a candidate ends the search."""
        # parity v1.36.4: runtime/framework.go RunPostFilterPlugins
        found: Preemption | None = None
        reasons: list[str] = []
        for name, plugin in self.post_filters:
            try:
                answer = self._look_for_room(plugin, cycle, filtering)
            except Exception as error:  # noqa: BLE001
                blame(error, name, "post_filter", cycle.pod)
            verdict = answer if isinstance(answer, Verdict) else answer.verdict
            if isinstance(answer, Preemption):
                found = answer
            if verdict.accepted:
                return PostFilterResult(found)
            if verdict.unresolvable or verdict.error:
                return PostFilterResult(found, verdict.reasons)
            reasons += verdict.reasons
        return PostFilterResult(found, tuple(reasons))

    def _look_for_room(
        self, plugin: hook.PostFilter, cycle: Cycle, filtering: Filtering
    ) -> Preemption | Verdict:
        search, pod = plugin.post_filter, cycle.pod
        answer = guarded(self, search)(cycle, filtering)
        if not foreign.is_foreign(search):
            return answer
        return foreign.call(legal_post_filter, answer, pod, self._cluster)

    def check(self, cycle: Cycle, filtering: Filtering) -> None:
        """Give up if a plugin could not answer for some node.

        Raises:
            PluginError: so it is.
        """
        if filtering.error is not None:
            key = cycle.pod.key
            raise PluginError(f"{filtering.error}", plugin="", hook="filter", pod=key)

    def decide(self, pod: Pod) -> Decision:
        """Find the best nodes for a pod.

        Raises:
            PluginError: a plugin failed, or could not answer for some node.
        """
        cycle = self.begin(pod)
        filtering = self.filter(cycle)
        feasible = filtering.feasible
        self.check(cycle, filtering)
        if not len(feasible):
            return Decision(cycle, filtering, feasible, self.post_filter(cycle, filtering))
        nominated = self._cluster.columns.row_of.get(pod.status.nominated_node_name or "")
        if nominated is not None and nominated in feasible:
            return Decision(cycle, filtering, np.array([nominated]))
        if len(feasible) == 1:
            return Decision(cycle, filtering, feasible)
        total = self.score(cycle, feasible).total
        return Decision(cycle, filtering, feasible[total == total.max()])


def _nothing_left(plugins: Sequence[str]) -> Rejection:
    if len(plugins) == 1:
        what = f"plugin {plugins[0]}"
    else:
        what = f"plugin(s) [{' '.join(plugins)}] simultaneously"
    return Rejection("", reject(f"node(s) didn't satisfy {what}", unresolvable=True))
