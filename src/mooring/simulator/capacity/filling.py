"""How many more pods fit: they are placed one after the other until the next one does not.

Pods that are pending already come first, as for a scheduler. What stops the next pod is explained
on the full fork, for each node group.
"""

from collections import Counter
from typing import Final

import msgspec

from mooring.explaining.explainer import Explainer, Explanation
from mooring.model.pod import Pod
from mooring.simulator.capacity.pod_sets import WantedPod, copies
from mooring.simulator.forked_scheduler import Deciders, ForkedScheduler
from mooring.simulator.node_groups import NodeGrouping
from mooring.state.cluster import Cluster

#: So many pods are placed before it is looked whether all of them fit.
_BATCH: Final = 256


class GroupCapacity(msgspec.Struct, frozen=True, rename="camel"):
    """What a node group takes.

    Attributes:
        group: its name.
        nodes: how many nodes it has.
        pods: how many of the pods it takes, by kind.
        reasons: why its nodes do not take the next one, with the number of nodes.
    """

    group: str
    nodes: int
    pods: tuple[int, ...]
    reasons: dict[str, int]


class CapacityReport(msgspec.Struct, frozen=True, rename="camel"):
    """How many more pods fit.

    Attributes:
        pods: how many of each kind, in the order asked.
        sets: how many complete sets that is.
        stopped: the kind of the pod that does not fit any more; -1 if so many were not asked for.
        text: why it does not fit, as a clause about the pod.
        groups: the node groups.
        assumed: scheduler names without a profile, for which the first profile decided.
    """

    pods: tuple[int, ...]
    sets: int
    stopped: int
    text: str
    groups: tuple[GroupCapacity, ...]
    assumed: tuple[str, ...]


def capacity(
    explainer: Explainer,
    wanted: tuple[WantedPod, ...],
    deciders: Deciders,
    groups: NodeGrouping,
    most: int,
) -> CapacityReport:
    """Place pods on a fork until the next one does not fit.

    Args:
        explainer: the cluster.
        wanted: the pods of a set.
        deciders: what decides.
        groups: tells node groups.
        most: so many sets are tried at most.

    Raises:
        InputError: a plugin failed.
    """
    scheduler = ForkedScheduler(explainer.cluster.fork(), deciders)
    scheduler.settle()
    filled = _Filled(wanted)
    stream = copies(wanted, most)
    stopped: tuple[int, Pod] | None = None
    batch = [one for one, _ in zip(stream, range(_BATCH), strict=False)]
    while batch and stopped is None:
        before = scheduler.cluster.fork()
        if filled.place(scheduler, batch):
            batch = [one for one, _ in zip(stream, range(_BATCH), strict=False)]
            continue
        # One of them did not fit: again, one at a time, to see which comes first.
        scheduler = ForkedScheduler(before, deciders)
        scheduler.settle()
        for one in batch:
            if not filled.place(scheduler, [one]):
                kind, pod = one
                # The claims that were made for it stay, so that they are explained.
                stopped = kind, scheduler.cluster.pod(pod.namespace, pod.name) or pod
                scheduler.cluster.remove_pod(pod.key)
                break
    explained = None
    if stopped is not None:
        explained = explainer.on(scheduler.cluster).explain(
            stopped[1], profile=deciders.name_for(stopped[1])
        )
    return CapacityReport(
        pods=tuple(filled.counts),
        sets=min(count // one.number for count, one in zip(filled.counts, wanted, strict=True)),
        stopped=stopped[0] if stopped is not None else -1,
        text=_why(explained),
        groups=tuple(_by_group(scheduler.cluster, filled, groups, explained)),
        assumed=tuple(deciders.assumed),
    )


class _Filled:
    """The pods that were placed."""

    def __init__(self, wanted: tuple[WantedPod, ...]) -> None:
        self.counts = [0] * len(wanted)
        self.on: Counter[tuple[str, int]] = Counter()

    def place(self, scheduler: ForkedScheduler, pods: list[tuple[int, Pod]]) -> bool:
        """Create pods and note where they go; False, and nothing noted, if one has no node."""
        for _, pod in pods:
            scheduler.create(pod)
        scheduler.settle()
        found = [(kind, scheduler.cluster.pod(pod.namespace, pod.name)) for kind, pod in pods]
        if any(pod is None or not pod.node_name for _, pod in found):
            return False
        for kind, placed in found:
            assert placed is not None  # noqa: S101 - looked at above
            self.counts[kind] += 1
            self.on[placed.node_name, kind] += 1
        return True


def _why(explained: Explanation | None) -> str:
    if explained is None:
        return ""
    if explained.causes:
        return explained.causes[0].text
    return f"cannot be scheduled: {explained.record.message}"


def _by_group(
    cluster: Cluster, filled: _Filled, groups: NodeGrouping, explained: Explanation | None
) -> list[GroupCapacity]:
    named = {node.name: groups.of(node) for node in cluster.nodes.values()}
    reasons: dict[str, Counter[str]] = {}
    if explained is not None:
        record = explained.record
        for alike in explained.groups:
            text = "; ".join(
                dict.fromkeys(why for one in alike.rejections for why in one.verdict.reasons)
            )
            for row in alike.rows.tolist():
                own = reasons.setdefault(named[record.nodes[row]], Counter())
                own[text or explained.record.message] += 1
    pods: Counter[tuple[str, int]] = Counter()
    for (node, kind), count in filled.on.items():
        pods[named[node], kind] += count
    return [
        GroupCapacity(
            group,
            nodes,
            tuple(pods[group, kind] for kind in range(len(filled.counts))),
            dict(reasons.get(group, Counter()).most_common()),
        )
        for group, nodes in sorted(groups.counted(cluster.nodes.values()).items())
    ]
