"""Asking the pre-filter plugins of one profile, before any node is looked at.

They reject the pod as such, or say which nodes alone are possible, or have nothing to say. Called
by `filter_walk` at the start of every decision.
"""

# parity v1.36.4: framework/runtime/framework.go RunPreFilterPlugins

from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

import numpy as np

from mooring.framework import hook
from mooring.framework.binding_hooks import blame, blamed
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.observer import Observer
from mooring.framework.filtering import PreFilterResult, Rejection
from mooring.framework.verdict import Verdict, fail, reject
from mooring.state.cluster import Cluster

#: A pre-filter plugin's name and the way to ask it.
AskPreFilter = tuple[str, Callable[[Cycle], hook.PreFilterAnswer]]

_NO_GROUPS: Final = Rejection(
    "",
    reject("pod groups (spec.schedulingGroup) are not supported by mooring yet", unresolvable=True),
)


class PreFiltering(NamedTuple):
    """What the pre-filter plugins said together.

    Attributes:
        whole: the rejection of the pod as such.
        result: which nodes alone are possible; None if all are.
        rejecting: the plugins that rejected the pod.
        beside: another cycle, if plugins were asked in it that a scheduler would not ask.
    """

    whole: Rejection | None = None
    result: PreFilterResult | None = None
    rejecting: frozenset[str] = frozenset()
    beside: Cycle | None = None


_ALL_NODES: Final = PreFiltering()


class PreFilterWalk:
    """One profile's pre-filter plugins.

    Args:
        cluster: the state.
        plugins: the plugins, in order.
    """

    def __init__(self, cluster: Cluster, plugins: Sequence[AskPreFilter]) -> None:
        self._cluster = cluster
        self._plugins = plugins

    def run(self, cycle: Cycle, observer: Observer) -> PreFiltering:
        """Ask each plugin, until one says what ends the decision.

        Raises:
            PluginError: a plugin failed.
        """
        told = observer.each_plugin
        answers: _Answers | None = None
        if cycle.pod.spec.scheduling_group is not None:
            answers = _Answers(_NO_GROUPS)
        for place, (name, ask) in enumerate(self._plugins):
            if answers is not None and answers.whole is not None:
                if observer.thorough:
                    self._ask_others(cycle, observer, place, answers)
                break
            if told:
                observer.asking(name)
            try:
                answer = ask(cycle)
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything
                blame(error, name, "pre_filter", cycle.pod)
            if told:
                observer.pre_filter_answered(name, answer)
            if answer is hook.SKIP:
                cycle.skipped.add(name)
            elif answer is not None:
                answers = answers or _Answers()
                answers.take(name, answer)
        return answers.together(self._cluster) if answers is not None else _ALL_NODES

    def leave_all(self, cycle: Cycle, observer: Observer) -> bool:
        """Ask each plugin; whether none rejects the pod or names nodes.

        Raises:
            PluginError: a plugin failed.
        """
        whole, result, rejecting, _ = self.run(cycle, observer)
        return whole is None and result is None and not rejecting

    def _ask_others(
        self, cycle: Cycle, observer: Observer, first: int, answers: "_Answers"
    ) -> None:
        """Ask the plugins that a scheduler does not ask any more; the decision sees nothing of it.

        What they keep is kept in a cycle of its own, in which their filters can be asked, too.
        """
        beside = Cycle(cycle.pod, cycle.cluster, thorough=True)
        beside.data.update(cycle.data)
        beside.skipped |= cycle.skipped
        for name, ask in self._plugins[first:]:
            observer.asking(name)
            try:
                answer = ask(beside)
            except Exception as error:  # noqa: BLE001 - as above, and nothing depends on it
                answer = fail(str(blamed(error, name, "pre_filter", cycle.pod)))
            observer.pre_filter_answered(name, answer)
            if answer is hook.SKIP:
                beside.skipped.add(name)
            elif isinstance(answer, Verdict):
                answers.take(name, answer)
        answers.beside = beside


class _Answers:
    """What plugins said who said something.

    Attributes:
        whole: a rejection after which no answer counts.
        beside: the cycle in which plugins were asked all the same.
    """

    __slots__ = ("_names", "_plugins", "_rejected", "_rejecting", "beside", "whole")

    def __init__(self, whole: Rejection | None = None) -> None:
        self.whole = whole
        self.beside: Cycle | None = None
        self._rejected: Rejection | None = None
        self._rejecting: set[str] = set()
        self._names: set[str] | None = None
        self._plugins: list[str] = []

    def take(self, plugin: str, answer: Verdict | Collection[str]) -> None:
        """A plugin rejected the pod, or named nodes."""
        over = self.whole is not None
        if isinstance(answer, Verdict):
            if answer.accepted:
                return
            self._rejecting.add(plugin)
            if not over:
                self._rejected = Rejection(plugin, answer)
                if answer.unresolvable or answer.error:
                    self.whole = self._rejected
                    self._plugins.clear()
        elif not over:
            self._plugins.append(plugin)
            self._names = set(answer) if self._names is None else self._names & set(answer)
            if not self._names:
                self.whole = _nothing_left(sorted(self._plugins))

    def together(self, cluster: Cluster) -> PreFiltering:
        """The sum of it."""
        result: PreFilterResult | None = None
        if self._plugins:
            mask = np.zeros(len(cluster.columns), np.bool_)
            row_of = cluster.columns.row_of
            mask[[row_of[name] for name in self._names or () if name in row_of]] = True
            result = PreFilterResult(mask, tuple(self._plugins))
        whole = self.whole if self.whole is not None else self._rejected
        return PreFiltering(whole, result, frozenset(self._rejecting), self.beside)


def _nothing_left(plugins: Sequence[str]) -> Rejection:
    if len(plugins) == 1:
        what = f"plugin {plugins[0]}"
    else:
        what = f"plugin(s) [{' '.join(plugins)}] simultaneously"
    return Rejection("", reject(f"node(s) didn't satisfy {what}", unresolvable=True))
