"""Asking one plugin about the nodes of a small cluster."""

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np

from mooring.config.plugin_entry import describe_plugin
from mooring.config.strict_decoding import FieldProblem
from mooring.framework import hook
from mooring.framework.cycle import Cycle
from mooring.framework.nodes import Nodes
from mooring.framework.verdict import ACCEPT, Verdict, Verdicts
from mooring.model.meta import KubeObject
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster

P = TypeVar("P", bound=hook.Hook)


def made(kind: type[P], **args: Any) -> P:
    """A plugin with arguments as a configuration file would give them."""
    plugin = describe_plugin(kind).make(args, None, "args")
    assert isinstance(plugin, kind)
    return plugin


def problems(kind: type[hook.Hook], **args: Any) -> list[str]:
    """What is wrong with arguments."""
    found: list[FieldProblem] = []
    describe_plugin(kind).read_args(args, "args", found)
    return [str(one) for one in found]


def cluster_of(*things: KubeObject) -> Cluster:
    cluster = Cluster()
    for thing in things:
        cluster.put(thing)
    return cluster


def begin(cluster: Cluster, pod: Pod) -> Cycle:
    return Cycle(pod, cluster)


def some(cycle: Cycle, names: Sequence[str] | None) -> Nodes:
    """Some nodes by name, in the order of rows; all if no names are given."""
    if names is None:
        return cycle.nodes
    rows = sorted(cycle.cluster.columns.row_of[name] for name in names)
    return cycle.nodes.subset(np.array(rows, np.intp))


def pre_filtered(plugin: hook.PreFilter, cluster: Cluster, pod: Pod) -> hook.PreFilterAnswer:
    return plugin.pre_filter(begin(cluster, pod))


def filtered(
    plugin: hook.FilterNodes, cluster: Cluster, pod: Pod, only: Sequence[str] | None = None
) -> dict[str, Verdict]:
    """The verdicts by node; asked again after `pre_filter`, as the runtime does."""
    cycle = begin(cluster, pod)
    if isinstance(plugin, hook.PreFilter):
        plugin.pre_filter(cycle)
    nodes = some(cycle, only)
    answer = plugin.filter_nodes(pod, nodes)
    assert answer is None or isinstance(answer, Verdicts)
    if answer is None:
        return dict.fromkeys(nodes.names, ACCEPT)
    assert len(answer) == len(nodes)
    return dict(zip(nodes.names, answer, strict=True))


def accepted(
    plugin: hook.FilterNodes, cluster: Cluster, pod: Pod, only: Sequence[str] | None = None
) -> list[str]:
    """The names of the nodes that were not rejected."""
    return [name for name, one in filtered(plugin, cluster, pod, only).items() if one.accepted]


def scored(
    plugin: hook.ScoreNodes, cluster: Cluster, pod: Pod, only: Sequence[str] | None = None
) -> dict[str, int]:
    """The raw scores by node."""
    cycle = begin(cluster, pod)
    nodes = some(cycle, only)
    if isinstance(plugin, hook.PreScore):
        assert plugin.pre_score(cycle, nodes) is None
    found = np.asarray(plugin.score_nodes(pod, nodes))
    assert found.dtype == np.int64
    return dict(zip(nodes.names, found.tolist(), strict=True))


def pre_scored(plugin: hook.PreScore, cluster: Cluster, pod: Pod) -> hook.PreScoreAnswer:
    cycle = begin(cluster, pod)
    return plugin.pre_score(cycle, cycle.nodes)


def normalized(
    plugin: hook.Normalize, cluster: Cluster, pod: Pod, scores: Sequence[int]
) -> list[int]:
    """What a plugin makes of raw scores, for the nodes in order."""
    cycle = begin(cluster, pod)
    found = plugin.normalize(cycle, cycle.nodes, np.array(scores, np.int64))
    assert found.dtype == np.int64
    result: list[int] = found.tolist()
    return result


def with_status(pod: Pod, **status: Any) -> Pod:
    """The same pod with another status, in Kubernetes' spelling."""
    raw: dict[str, Any] = msgspec.to_builtins(pod.raw)
    return Pod.from_dict({**raw, "status": {**raw.get("status", {}), **status}})
