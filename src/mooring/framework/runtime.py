"""The runtime: one profile's plugins on one cluster, put in order for decisions.

It knows which plugins there are at which extension point and is what plugins have as their handle.
In which order a decision asks them is written in `decision_cycle`; how, in `filter_walk`,
`score_walk` and `post_filter_walk`. Built by `config.runtimes`; never decides by itself.
"""

import functools
from collections.abc import Callable, Mapping, Set

from mooring.framework import foreign, hook
from mooring.framework.binding_hooks import BindingHooks, blame
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.decision import Decision
from mooring.framework.decisions.filter_walk import FilterWalk
from mooring.framework.decisions.kept_answers import (
    Askers,
    asks_foreign_code,
    equivalence_classes,
)
from mooring.framework.decisions.observer import Observer
from mooring.framework.decisions.post_filter_answers import legal_post_filter
from mooring.framework.decisions.post_filter_walk import PostFilterWalk
from mooring.framework.decisions.pre_filter_walk import PreFilterWalk
from mooring.framework.decisions.score_walk import ScoreWalk
from mooring.framework.decisions.unschedulable_templates import UnschedulableTemplates
from mooring.framework.extension_points import Points
from mooring.framework.filtering import Filtering, Preemption, Rejection
from mooring.framework.handle import NOTHING_ONGOING, AskFilter, Ongoing, Waiting
from mooring.framework.hook_answers import legal_pre_filter, legal_sort_key, one_verdict
from mooring.framework.plugin_calls import filter_asker, score_asker
from mooring.framework.policy_plugin import PolicyPreempt
from mooring.framework.rules import PreemptRule
from mooring.framework.verdict import ACCEPT, Verdict
from mooring.framework.what_ifs import guarded
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster


class Runtime:
    """One profile's plugins on one cluster.

    Args:
        cluster: the state.
        now_ns: the clock, nanoseconds since 1970.
        choose: picks one of so many equals.
        ongoing: the scheduler's pods that wait and preemptions in progress.

    Attributes:
        cluster: the same.
        name: the profile's scheduler name.
        points: the plugins at each extension point.
        plugins: all of them by name.
        sort_key: a pod's place in the queue, as its QueueSort plugin says; None if the profile has
            none.
        filters: the filters, ready to be asked.
        filter_walk: asks on which nodes a pod fits.
        score_walk: asks which of them is the best.
        post_filter_walk: asks whether room can be made.
        binding_hooks: the hooks after a node was chosen.
    """

    def __init__(
        self,
        cluster: Cluster,
        now_ns: Callable[[], int] = lambda: 0,
        choose: Callable[[int], int] = lambda _: 0,
        ongoing: Ongoing = NOTHING_ONGOING,
    ) -> None:
        self.cluster = cluster
        self._now_ns = now_ns
        self._choose = choose
        self._ongoing = ongoing
        self.install("", {})

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
        self.plugins = plugins
        sorts = (one.plugin for one in points.get("queueSort", ()))
        sort = next((one for one in sorts if isinstance(one, hook.QueueSort)), None)
        self.sort_key = _sort_key(sort) if sort is not None else None
        self._pre_enqueues = [
            (one.name, foreign.entry(one.plugin.pre_enqueue))
            for one in points.get("preEnqueue", ())
            if isinstance(one.plugin, hook.PreEnqueue)
        ]
        self.binding_hooks = BindingHooks(points, functools.partial(guarded, self))
        self.filters: list[AskFilter] = [
            filter_asker(one.plugin, one.name)
            for one in points.get("filter", ())
            if isinstance(one.plugin, (hook.Filter, hook.FilterNodes))
        ]
        askers = Askers(
            [
                (one.name, self._pre_filter(one.plugin))
                for one in points.get("preFilter", ())
                if isinstance(one.plugin, hook.PreFilter)
            ],
            self.filters,
            [
                (one.name, guarded(self, one.plugin.pre_score))
                for one in points.get("preScore", ())
                if isinstance(one.plugin, hook.PreScore)
            ],
            [
                (score_asker(one.plugin, one.name), one.weight)
                for one in points.get("score", ())
                if isinstance(one.plugin, (hook.Score, hook.ScoreNodes))
            ],
        )
        what_ifs = [
            (one.name, one.plugin)
            for one in points.get("preFilter", ())
            if isinstance(one.plugin, hook.WhatIf)
        ]
        pre_filters = PreFilterWalk(self.cluster, askers.pre_filters)
        self.filter_walk = FilterWalk(self.cluster, pre_filters, self.filters, what_ifs)
        self.score_walk = ScoreWalk(askers.pre_scores, askers.scores)
        self._classes = equivalence_classes(self.cluster, points, askers)
        preempts = _preempt_rules(plugins)
        foreign_say = preempts or any(
            map(asks_foreign_code, (one.plugin for at_point in points.values() for one in at_point))
        )
        signs = [one.sign for one in plugins.values() if isinstance(one, hook.Sign)]
        self._unschedulable = None if foreign_say else UnschedulableTemplates(self.cluster, signs)
        post_filters = [
            (one.name, self._post_filter(one.plugin))
            for one in points.get("postFilter", ())
            if isinstance(one.plugin, hook.PostFilter)
        ]
        self.post_filter_walk = PostFilterWalk(
            self.cluster, post_filters, preempts, self._ongoing.preemptions
        )

    def decide_from_kept(self, cycle: Cycle, observer: Observer) -> Decision | None:
        """The decision, if it follows from what is kept of earlier ones; else None.

        Raises:
            PluginError: a plugin failed.
        """
        unschedulable = self._unschedulable
        if unschedulable is not None and unschedulable.known:
            found = unschedulable.find(cycle, observer)
            if found is not None:
                return found
        return self._classes.decide(cycle, observer) if self._classes is not None else None

    def note_unschedulable(self, decision: Decision) -> None:
        """Remember that a pod fits nowhere, and that no room can be made for it."""
        if self._unschedulable is not None:
            self._unschedulable.note(decision)

    def _pre_filter(self, plugin: hook.PreFilter) -> Callable[[Cycle], hook.PreFilterAnswer]:
        if not foreign.is_foreign(plugin.pre_filter):
            return plugin.pre_filter
        ask = guarded(self, plugin.pre_filter)
        return lambda cycle: foreign.call(legal_pre_filter, ask(cycle))

    def _post_filter(
        self, plugin: hook.PostFilter
    ) -> Callable[[Cycle, Filtering], Preemption | Verdict]:
        if not foreign.is_foreign(plugin.post_filter):
            return plugin.post_filter
        search, cluster = guarded(self, plugin.post_filter), self.cluster

        def ask(cycle: Cycle, filtering: Filtering) -> Preemption | Verdict:
            pod = cycle.pod  # it is asked for before the plugin could change it
            answer = search(cycle, filtering)
            return foreign.call(legal_post_filter, answer, pod, cluster)

        return ask

    # -- what plugins may ask (see `Handle`)

    @property
    def now_ns(self) -> Callable[[], int]:
        """The clock."""
        return self._now_ns

    @property
    def choose(self) -> Callable[[int], int]:
        """Picks one of so many equals."""
        return self._choose

    @property
    def waiting(self) -> Waiting:
        """The pods that wait for permission."""
        return self._ongoing.waiting

    @property
    def preempting(self) -> Set[str]:
        """The pods for which victims are being preempted now."""
        return self._ongoing.preemptions.preemptors

    def rejection(self, cycle: Cycle, row: int) -> Rejection | None:
        """Run all filters for one node as it is now, with nominated pods; None if the pod fits."""
        return self.filter_walk.rejection(cycle, row)

    def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Put a pod on a node in thought."""
        self.filter_walk.add_pod(cycle, pod, row)

    def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Take a pod off its node in thought."""
        self.filter_walk.remove_pod(cycle, pod, row)

    # -- before a decision

    def pre_enqueue(self, pod: Pod) -> dict[str, Verdict]:
        """What each plugin says to letting the pod into the queue.

        Raises:
            PluginError: a plugin failed.
        """
        verdicts = {}
        for name, ask in self._pre_enqueues:
            try:
                verdicts[name] = one_verdict(ask(pod), name)
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything
                blame(error, name, "pre_enqueue", pod)
        return verdicts

    def gate(self, pod: Pod) -> str | None:
        """The first plugin that holds a pod back; None if none does.

        Raises:
            PluginError: a plugin failed.
        """
        # One event may wake thousands of pods, and each is asked about here.
        for name, ask in self._pre_enqueues:
            try:
                answer = ask(pod)
                if answer is None or answer is ACCEPT:
                    continue
                verdict = one_verdict(answer, name)
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything
                blame(error, name, "pre_enqueue", pod)
            if not verdict.accepted:
                return name
        return None


def _sort_key(sort: hook.QueueSort) -> Callable[[Pod, float], tuple[float, ...]]:
    """Asks for a pod's place in the queue; of a foreign plugin, it must be a legal one."""
    if not foreign.is_foreign(sort.sort_key):
        return sort.sort_key

    def ask(pod: Pod, since: float) -> tuple[float, ...]:
        return foreign.call(legal_sort_key, foreign.call(sort.sort_key, pod, since))

    return ask


def _preempt_rules(plugins: Mapping[str, hook.Hook]) -> list[PreemptRule]:
    """The `Preempt` hooks; those that a policy asks itself are asked through it."""
    preempts = {name: one for name, one in plugins.items() if isinstance(one, hook.Preempt)}
    policies = [one for one in preempts.values() if isinstance(one, PolicyPreempt)]
    asked = {id(plugin) for policy in policies for plugin in policy.asks}
    return [
        PreemptRule(kind="preempt", name=name, function=plugin.preempt)
        for name, plugin in preempts.items()
        if id(plugin) not in asked
    ]
