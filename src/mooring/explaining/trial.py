"""Changing the cluster as a what-if and asking all plugins again.

A `Trial` carries out a combination of remedies, lets the caller ask, and takes everything back,
also when a plugin fails. Suggestions are found and proved with it; nothing is claimed that was not
asked. The questions are those of a decision (`filter_walk`), watched by an observer.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final, NamedTuple

import numpy as np

from mooring.explaining.suggestion import Combination
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.observer import Observer
from mooring.framework.hook import SKIP, Hook, PreFilterAnswer
from mooring.framework.remedies.remedy import Remedy
from mooring.framework.runtime import Runtime
from mooring.framework.verdict import Verdict, Verdicts, reject
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster

_OTHER_NODES: Final = reject("it considers other nodes only")


@contextmanager
def taken_off(cluster: Cluster, pod: Pod) -> Iterator[None]:
    """Take a pod off its node for a while; then it is there again, among the others as before.

    The claim that was made for its extended resources when it was placed goes with it.
    """
    usage = cluster.usage(pod.node_name)
    pods = usage.pods if usage is not None else (pod,)
    claims = _claims_made_for(pod, cluster)
    cluster.remove_pod(pod.key)
    for claim in claims:
        cluster.remove(claim)
    try:
        yield
    finally:
        for claim in claims:
            cluster.put(claim)
        cluster.put_pod(pod)
        # What is put comes last: those that came after the pod are put again, too.
        for other in pods[[one.key for one in pods].index(pod.key) + 1 :]:
            cluster.put_pod(other)


def _claims_made_for(pod: Pod, cluster: Cluster) -> list[ResourceClaim]:
    """The claims for a pod's extended resources: a scheduler makes them anew for each place."""
    if not any("/" in name for name in pod.requests):
        return []
    claims = cluster.catalog.all(ResourceClaim).values()
    made = (one for one in claims if one.for_extended_resources)
    return [one for one in made if one.controller is not None and one.controller.uid == pod.uid]


class Objection(NamedTuple):
    """A plugin that rejects the node in question.

    Attributes:
        plugin: its name.
        verdict: its answer.
        nominated: it accepts the node as it is, but not with the pods nominated to it.
    """

    plugin: str
    verdict: Verdict
    nominated: bool = False


class Trial:
    """Questions about one pod on a cluster that may be changed as a what-if.

    Args:
        cluster: the state; the pod is not on any node.
        pod: the pod.
        runtime: gives the plugins that decide; asked before each decision.
    """

    def __init__(self, cluster: Cluster, pod: Pod, runtime: Callable[[], Runtime]) -> None:
        self.cluster = cluster
        self.pod = pod
        self._runtime = runtime

    @contextmanager
    def carry_out(self, combination: Combination) -> Iterator[Pod]:
        """Carry out a combination's remedies for a while; gives the changed pod."""
        pod = self.pod
        with ExitStack() as undo:
            for remedy in combination.remedies:
                pod = remedy.pod or pod
                self._change_cluster(remedy, undo)
            yield pod

    def _change_cluster(self, remedy: Remedy, undo: ExitStack) -> None:
        cluster = self.cluster
        if remedy.node is not None:
            node = cluster.nodes[remedy.node.name]
            cluster.put_node(remedy.node)
            undo.callback(cluster.put_node, node)
        if remedy.added is not None:
            cluster.put_node(remedy.added)
            undo.callback(cluster.remove_node, remedy.added.name)
        for thing in remedy.created:
            before = cluster.catalog.get(type(thing), thing.key)
            cluster.put(thing)
            if before is None:
                undo.callback(cluster.remove, thing)
            else:
                undo.callback(cluster.put, before)
        if remedy.moved:
            namespace, _, name = remedy.moved.partition("/")
            pod = cluster.pod(namespace, name)
            if pod is not None:
                undo.enter_context(taken_off(cluster, pod))

    def node(self, name: str) -> Node:
        """A node as it is now."""
        return self.cluster.nodes[name]

    def plugin(self, name: str) -> Hook | None:
        """A plugin that decides, by its name; None if there is none."""
        points = self._runtime().points.values()
        plugins = (one.plugin for at_point in points for one in at_point if one.name == name)
        return next(plugins, None)

    def objections(self, pod: Pod, name: str) -> list[Objection]:
        """Every plugin that keeps a pod from a node, in the order they are asked."""
        runtime = self._runtime()
        row = self.cluster.columns.row_of[name]
        observer = _ObjectionObserver(name)
        for plugin, verdict in runtime.pre_enqueue(pod).items():
            observer.note(plugin, verdict)
        cycle = Cycle(pod, self.cluster)
        filtering = runtime.filter_walk.run(cycle, observer, np.array([row]))
        rejection = filtering.rejection(row)
        if not observer.found and rejection is not None:
            nominated = filtering.whole is None
            return [Objection(rejection.plugin, rejection.verdict, nominated=nominated)]
        return list(observer.found.values())

    def fitting(self, pod: Pod) -> list[str]:
        """The names of the nodes on which a pod fits, sorted."""
        runtime = self._runtime()
        if any(not one.accepted for one in runtime.pre_enqueue(pod).values()):
            return []
        filtering = runtime.filter_walk.run(Cycle(pod, self.cluster))
        if filtering.error:
            return []
        nodes = self.cluster.columns.nodes
        return sorted(nodes[row].name for row in filtering.feasible.tolist())


class _ObjectionObserver(Observer):
    """Collects the first objection of each plugin to one node.

    Args:
        name: the node's name; it is the only one that is asked about.

    Attributes:
        found: the objections by plugin, in order.
    """

    thorough = True
    each_plugin = True

    def __init__(self, name: str) -> None:
        self._name = name
        self.found: dict[str, Objection] = {}

    def note(self, plugin: str, verdict: Verdict) -> None:
        """A plugin said its word."""
        if not verdict.accepted:
            self.found.setdefault(plugin, Objection(plugin, verdict))

    def pre_filter_answered(self, plugin: str, answer: PreFilterAnswer) -> None:
        """A pre-filter plugin rejected the pod, or named nodes."""
        if isinstance(answer, Verdict):
            self.note(plugin, answer)
        elif answer is not None and answer is not SKIP and self._name not in answer:
            self.note(plugin, _OTHER_NODES)

    def filter_answered(self, plugin: str, verdicts: Verdicts | None) -> None:
        """A filter answered for the node alone."""
        if verdicts is not None:
            self.note(plugin, verdicts[0])
