"""Changing the cluster as a what-if and asking all plugins again.

A `Trial` carries out a combination of remedies, lets the caller ask, and takes everything back,
also when a plugin fails. Suggestions are found and proved with it; nothing is claimed that was not
asked.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import numpy as np

from mooring.explaining.suggestion import Combination
from mooring.framework.hook import SKIP, Hook
from mooring.framework.remedy import Remedy
from mooring.framework.runtime import Runtime
from mooring.framework.verdict import Verdict, reject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster

#: Stands where a plugin's name would, if no profile is there for the pod's scheduler name.
NO_PROFILE = "(no profile)"


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
        runtime: gives the plugins that decide for a scheduler name.
    """

    def __init__(
        self, cluster: Cluster, pod: Pod, runtime: Callable[[str], Runtime | None]
    ) -> None:
        self.cluster = cluster
        self.pod = pod
        self._runtime = runtime

    @contextmanager
    def carry_out(self, combination: Combination) -> Iterator[Pod]:
        """Carry out a combination's remedies for a while; gives the changed pod."""
        pod = self.pod
        with ExitStack() as undo:
            for remedy in combination.remedies:
                if remedy.pod is not None:
                    pod = remedy.pod
                else:
                    self._change_cluster(remedy, undo)
            yield pod

    def _change_cluster(self, remedy: Remedy, undo: ExitStack) -> None:
        cluster = self.cluster
        if remedy.node is not None:
            node = cluster.nodes[remedy.node.name]
            cluster.put_node(remedy.node)
            undo.callback(cluster.put_node, node)
        elif remedy.added is not None:
            cluster.put_node(remedy.added)
            undo.callback(cluster.remove_node, remedy.added.name)
        elif remedy.created:
            for thing in remedy.created:
                before = cluster.catalog.get(type(thing), thing.key)
                cluster.put(thing)
                if before is None:
                    undo.callback(cluster.remove, thing)
                else:
                    undo.callback(cluster.put, before)
        else:
            namespace, _, name = remedy.moved.partition("/")
            pod = cluster.pod(namespace, name)
            if pod is not None:
                cluster.remove_pod(pod.key)
                undo.callback(cluster.put_pod, pod)

    def node(self, name: str) -> Node:
        """A node as it is now."""
        return self.cluster.nodes[name]

    def plugin(self, pod: Pod, name: str) -> Hook | None:
        """A plugin that decides about a pod, by its name; None if there is none."""
        runtime = self._runtime(pod.scheduler_name)
        points = runtime.points.values() if runtime is not None else ()
        plugins = (one.plugin for at_point in points for one in at_point if one.name == name)
        return next(plugins, None)

    def objections(self, pod: Pod, name: str) -> list[Objection]:
        """Every plugin that keeps a pod from a node, in the order they are asked."""
        runtime = self._runtime(pod.scheduler_name)
        if runtime is None:
            return [Objection(NO_PROFILE, reject("no profile for its scheduler name"))]
        gates = runtime.pre_enqueue(pod).items()
        found = [Objection(plugin, verdict) for plugin, verdict in gates if not verdict.accepted]
        cycle = runtime.begin(pod)
        answers = list(runtime.pre_filter(cycle))
        for plugin, answer in answers:
            if isinstance(answer, Verdict):
                if not answer.accepted:
                    found.append(Objection(plugin, answer))
            elif answer is not None and answer is not SKIP and name not in answer:
                found.append(Objection(plugin, reject("it looks at other nodes only")))
        rejected = {one.plugin for one in found}
        row = self.cluster.columns.row_of[name]
        nodes = cycle.nodes.subset(np.array([row]))
        for asker in runtime.filters:
            if asker.name in cycle.skipped or asker.name in rejected:
                continue
            verdicts = asker.ask(pod, nodes)
            if verdicts is not None and not verdicts[0].accepted:
                found.append(Objection(asker.name, verdicts[0]))
        if not found:
            whole, _ = runtime.narrow(cycle, answers)
            rejection = whole if whole is not None else runtime.rejection(cycle, row)
            if rejection is not None:
                found.append(
                    Objection(rejection.plugin, rejection.verdict, nominated=whole is None)
                )
        return found

    def fitting(self, pod: Pod) -> list[str]:
        """The names of the nodes on which a pod fits, sorted."""
        runtime = self._runtime(pod.scheduler_name)
        if runtime is None or any(not one.accepted for one in runtime.pre_enqueue(pod).values()):
            return []
        filtering = runtime.filter(runtime.begin(pod))
        if filtering.error:
            return []
        nodes = self.cluster.columns.nodes
        return sorted(nodes[row].name for row in filtering.feasible.tolist())
