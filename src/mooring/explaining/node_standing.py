"""A pod that is on a node: how good its node is now, and what changed since it came there.

What was there when the pod was scheduled is not recorded anywhere. What can be known is what came
later and is still there: pods that started after it, and nodes that were created after it. Without
them the decision is made again, on a fork of the cluster. Called by the explainer; read by the
answer. Times are compared as the API server writes them; no clock is read.
"""

import re
from collections.abc import Callable
from typing import Final

import msgspec

from mooring.explaining.decision_text import compare, difference_text, joined_names, runner_up
from mooring.framework.decisions.record import Record
from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster
from mooring.wording import are, counted

#: A time as the API server writes it; such texts are sorted as times are.
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


class Since(msgspec.Struct, frozen=True):
    """What came after a pod was scheduled and is still there.

    Attributes:
        start: when the pod started.
        pods: how many pods started later.
        pods_here: how many of them are on its node.
        nodes: how many nodes were created later.
        place: the place of its node without them, 1 for the best; 0 if it does not fit even then.
        tied: how many nodes shared that place.
    """

    start: str
    pods: int
    pods_here: int
    nodes: int
    place: int = 0
    tied: int = 1


class NodeStanding(msgspec.Struct, frozen=True):
    """How good the node of a pod is now.

    Attributes:
        node: the node.
        place: its place among the nodes that fit, 1 for the best; 0 if it does not fit any more.
        tied: how many nodes have that place, this one included.
        since: what came later; None if that is not known or nothing did.
    """

    node: str
    place: int
    tied: int = 1
    since: Since | None = None


def standing_of(
    record: Record, pod: Pod, node: str, cluster: Cluster, decide: Callable[[Cluster], Record]
) -> NodeStanding:
    """How good a pod's node is.

    Args:
        record: the decision about the pod as if it were unscheduled.
        pod: the pod.
        node: its node.
        cluster: the cluster without it.
        decide: decides about the pod on another cluster.
    """
    place, tied = _place(record, node)
    since = None if place == 1 else _since(pod, node, cluster, decide)
    return NodeStanding(node, place, tied, since)


def _place(record: Record, node: str) -> tuple[int, int]:
    """The place of a node among those that fit, and how many share it."""
    if node not in record.feasible:
        return 0, 1
    scoring, filtering = record.scoring, record.filtering
    if scoring is None or filtering is None:
        return 1, 1
    own = scoring.total[filtering.feasible.tolist().index(record.nodes.index(node))]
    return int((scoring.total > own).sum()) + 1, int((scoring.total == own).sum())


def _since(
    pod: Pod, node: str, cluster: Cluster, decide: Callable[[Cluster], Record]
) -> Since | None:
    start = _started(pod)
    if not start or node not in cluster.nodes:
        return None
    columns = cluster.columns
    nodes = [one.name for one in columns.nodes if (_created(one.metadata) or start) > start]
    every = (one for row in range(len(columns)) for one in cluster.pods_on(row))
    pods = [one for one in every if (_started(one) or start) > start]
    if not pods and not nodes:
        return None
    before = cluster.fork()
    for one in pods:
        before.remove_pod(one.key)
    for name in nodes:
        if name != node:
            before.remove_node(name)
    place, tied = _place(decide(before), node)
    here = sum(one.node_name == node for one in pods)
    return Since(start, len(pods), here, len(nodes), place, tied)


def _started(pod: Pod) -> str:
    """When a pod was bound, as near as it says; empty if it does not."""
    started = pod.status.start_time or ""
    return started if _TIME.fullmatch(started) else _created(pod.metadata)


def _created(metadata: ObjectMeta) -> str:
    created = metadata.creation_timestamp or ""
    return created if _TIME.fullmatch(created) else ""


def standing_sentences(record: Record, found: NodeStanding, why_not: str = "") -> list[str]:
    """How good the node is, and what changed.

    Args:
        record: the decision.
        found: the place of the node.
        why_not: why the pod does not fit there any more, as a clause about the pod.
    """
    node = found.node
    if not found.place:
        also = f": it {why_not}" if why_not else ""
        texts = [f"{record.pod} is on {node}, where it would not fit now{also}."]
    elif found.place == 1:
        texts = [f"{record.pod} is on {node}, {_best(record, found)}."]
    else:
        texts = [f"{record.pod} is on {node}, {_behind(record, found)}."]
    if found.since is not None:
        texts.append(_changed(node, found.since))
    return texts


def _best(record: Record, found: NodeStanding) -> str:
    if len(record.feasible) == 1:
        return "the only node that fits"
    if found.tied > 1:
        others = [name for name in record.selected if name != found.node]
        total = f" with {joined_names(others, 'and')}" if others else ""
        return f"which shares the highest total{total}; kube-scheduler picks one of them at random"
    second = runner_up(record)
    if second is None:
        return "still the best node for it"
    margin = compare(record, record.nodes.index(found.node), second)
    return (
        f"which is still the best node for it, {counted(margin.points, 'point')} ahead of "
        f"{record.nodes[second]}{difference_text(margin)}"
    )


def _behind(record: Record, found: NodeStanding) -> str:
    best = record.best[0]
    margin = compare(record, record.nodes.index(found.node), best)
    tied = f" (with {counted(found.tied - 1, 'other node')})" if found.tied > 1 else ""
    return (
        f"which now ranks {_ordinal(found.place)} of {len(record.feasible)} nodes that fit{tied}, "
        f"{counted(-margin.points, 'point')} behind {record.nodes[best]}{difference_text(margin)}"
    )


def _changed(node: str, since: Since) -> str:
    came = []
    if since.pods:
        here = f" ({since.pods_here} of them on {node})" if since.pods_here else ""
        came.append(f"{counted(since.pods, 'pod')}{here}")
    if since.nodes:
        came.append(counted(since.nodes, "node"))
    if since.place == 1:
        would = "shared the highest total" if since.tied > 1 else "was the best"
    elif since.place:
        would = f"ranked {_ordinal(since.place)}"
    else:
        would = "did not fit either"
    number = since.pods + since.nodes
    return (
        f"Since it started ({since.start}), {' and '.join(came)} {_have(number)} come; without "
        f"{'it' if number == 1 else 'them'}, {node} {would}."
    )


def _ordinal(number: int) -> str:
    last = 0 if number % 100 in (11, 12, 13) else number % 10
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th') }"


def _have(number: int) -> str:
    return "has" if are(number) == "is" else "have"
