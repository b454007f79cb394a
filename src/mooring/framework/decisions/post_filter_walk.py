"""Asking the post-filter plugins of one profile to make room for a pod that fits nowhere.

Called by the decision cycle if no node is possible. What a plugin found is reviewed by `Preempt`
hooks; extenders have their say in the decision cycle. Nothing is preempted here.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from mooring.framework.binding_hooks import blame
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.decision import PostFilterResult
from mooring.framework.decisions.observer import POST_FILTER, Observer
from mooring.framework.filtering import Candidate, Filtering, Preemption
from mooring.framework.handle import Preemptions
from mooring.framework.pod_importance import equally_good
from mooring.framework.rules import PreemptRule
from mooring.framework.verdict import Verdict, reject
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster

#: A post-filter plugin's name and the way to ask it.
AskPostFilter = tuple[str, Callable[[Cycle, Filtering], Preemption | Verdict]]

# parity v1.36.4: framework/preemption/preemption.go Preempt
_NONE_LEFT: Final = reject("preemption: no candidate node for preemption")


class PostFilterWalk:
    """One profile's post-filter plugins and `Preempt` hooks.

    Args:
        cluster: the state.
        plugins: the post-filter plugins, in order.
        preempts: the `Preempt` hooks.
        preemptions: the preemptions in progress.
    """

    def __init__(
        self,
        cluster: Cluster,
        plugins: Sequence[AskPostFilter],
        preempts: Sequence[PreemptRule],
        preemptions: Preemptions,
    ) -> None:
        self._cluster = cluster
        self._plugins = plugins
        self._preempts = preempts
        self._preemptions = preemptions

    def run(self, cycle: Cycle, filtering: Filtering, observer: Observer) -> PostFilterResult:
        """Look for room, and let `Preempt` hooks review what was found.

        Raises:
            PluginError: a plugin failed, or returned what it may not.
            PolicyError: a `Preempt` hook did.
        """
        if not self._plugins:
            return PostFilterResult()
        observer.started(POST_FILTER)
        pod = cycle.pod
        result = self._search(cycle, filtering, observer)
        observer.post_filtered(result)
        found = result.preemption
        if found is None or not found.verdict.accepted:
            return result
        candidates = self._reviewed(pod, found.candidates)
        calm = self._undisturbed(pod, candidates)
        deferred = bool(candidates) and not calm
        result = result._replace(deferred=deferred)
        return with_candidates(result, candidates if deferred else calm)

    def _search(self, cycle: Cycle, filtering: Filtering, observer: Observer) -> PostFilterResult:
        """Ask the plugins; the first one that finds a candidate ends the search."""
        # parity v1.36.4: runtime/framework.go RunPostFilterPlugins
        found: Preemption | None = None
        who = ""
        reasons: list[str] = []
        for place, (name, ask) in enumerate(self._plugins, 1):
            if observer.each_plugin:
                observer.asking(name)
            try:
                answer = ask(cycle, filtering)
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything
                blame(error, name, "post_filter", cycle.pod)
            if observer.each_plugin:
                observer.post_filter_answered(name, answer)
            verdict = answer if isinstance(answer, Verdict) else answer.verdict
            if isinstance(answer, Preemption):
                found, who = answer, name
            reasons += verdict.reasons
            if verdict.accepted or verdict.unresolvable or verdict.error:
                reasons = [] if verdict.accepted else list(verdict.reasons)
                if observer.thorough:
                    self._ask_others(cycle, filtering, observer, place)
                break
        return PostFilterResult(found, tuple(reasons), who, keep_nomination=_keeps(found))

    def _ask_others(
        self, cycle: Cycle, filtering: Filtering, observer: Observer, first: int
    ) -> None:
        """Ask the plugins that a scheduler does not ask any more; nothing depends on it."""
        for name, ask in self._plugins[first:]:
            observer.asking(name)
            with suppress(Exception):
                observer.post_filter_answered(name, ask(cycle, filtering))

    def _reviewed(self, pod: Pod, candidates: Mapping[str, Candidate]) -> Mapping[str, Candidate]:
        """The candidates as the policies leave them."""
        left = dict(candidates)
        nodes = self._cluster.nodes
        for rule in self._preempts:
            for name, candidate in list(left.items()):
                kept = rule.remaining(pod, nodes[name], candidate.victims)
                if kept:
                    left[name] = Candidate(name, tuple(kept), candidate.pdb_violations)
                else:
                    del left[name]
        return left

    def _undisturbed(
        self, pod: Pod, candidates: Mapping[str, Candidate]
    ) -> Mapping[str, Candidate]:
        """The candidates that take nobody for others who are on their way out already.

        A pod whose nominated node is being emptied for others as well takes none: there will be
        room.
        """
        leaving = self._preemptions.leaving
        if leaving(pod.status.nominated_node_name or ""):
            return {}
        return {
            name: one
            for name, one in candidates.items()
            if not (going := leaving(name)) or going <= {victim.uid for victim in one.victims}
        }


def _keeps(found: Preemption | None) -> bool:
    # parity v1.36.4: schedule_one.go schedulingAlgorithm, framework/preemption Preempt: a search
    # that finds nothing clears the nominated node.
    return found is None or found.verdict.accepted or not found.eligible or found.verdict.error


def with_candidates(
    result: PostFilterResult, candidates: Mapping[str, Candidate]
) -> PostFilterResult:
    """A result that found room, with the candidates that somebody left."""
    found = result.preemption
    if found is None:
        return result
    if not candidates:
        return result._replace(
            preemption=replace(found, verdict=_NONE_LEFT, candidates={}, best=()),
            reasons=_NONE_LEFT.reasons,
        )
    best = [one.node for one in equally_good(candidates.values())]
    return result._replace(preemption=replace(found, candidates=candidates, best=best))
