"""What must hold after every phase, computed without any code of the scheduler.

`driver` asks when the trouble is over and the cluster has settled. Each function gives sentences
about what is wrong; none changes anything.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from tools.soak.audit import Write
from tools.soak.objects import Node, Pod
from tools.soak.quantities import Amounts

#: These can never be bound, whatever is free.
_NEVER: Final = frozenset({"oversized", "claim"})
_TRACEBACK: Final = "Traceback (most recent call last)"
_SHOWN: Final = 5


def waiting(pods: Iterable[Pod], nodes: Sequence[Node]) -> list[str]:
    """Pods that wait although a node would take them now; right after trouble there are many."""
    pods = list(pods)
    on: defaultdict[str, list[Pod]] = defaultdict(list)
    for pod in pods:
        if pod.node and not pod.finished:
            on[pod.node].append(pod)
    used = {name: _sum(one.requests for one in here) for name, here in on.items()}
    found = []
    for pod in pods:
        if pod.node or pod.kind in _NEVER or pod.metadata.deletion_timestamp is not None:
            continue
        for node in nodes:
            if not node.takes(pod):
                continue
            free = node.allocatable.minus(used.get(node.name, Amounts()))
            lower = _sum(
                one.requests for one in on[node.name] if one.spec.priority < pod.spec.priority
            )
            if free.plus(lower).covers(pod.requests):
                how = "has room" if free.covers(pod.requests) else "has room after preemption"
                found.append(f"pod {pod.name} waits, and node {node.name} {how}")
                break
    return found


def bound_once(pods: Iterable[Pod], bindings: Iterable[Write]) -> list[str]:
    """Pods with more than one Binding that took effect, or that are elsewhere than it said."""
    sent: defaultdict[str, list[Write]] = defaultdict(list)
    for write in bindings:
        if write.done:
            sent[write.uid].append(write)
    found = [
        f"pod {writes[0].name} was bound {len(writes)} times: "
        + ", ".join(f"to {one.node} by {one.user} at {one.came:.3f}" for one in writes)
        for writes in sent.values()
        if len(writes) > 1
    ]
    for pod in pods:
        found += [
            f"pod {pod.name} is on {pod.node!r} and was bound to {write.node}"
            for write in sent.get(pod.metadata.uid, ())
            if write.node != pod.node
        ]
    return found


def overfull(pods: Iterable[Pod], nodes: Iterable[Node]) -> list[str]:
    """Nodes that carry more than they can; pods whose node is gone do not count."""
    used: defaultdict[str, Amounts] = defaultdict(Amounts)
    for pod in pods:
        if pod.node and not pod.finished:
            used[pod.node] = used[pod.node].plus(pod.requests)
    return [
        f"node {node.name} carries {used[node.name]} of {node.allocatable}"
        for node in nodes
        if not node.allocatable.covers(used[node.name])
    ]


def left_nominated(pods: Iterable[Pod]) -> list[str]:
    """Pods that are bound and still nominated for another node."""
    return [
        f"pod {pod.name} is on {pod.node} and nominated for {pod.status.nominated_node_name}"
        for pod in pods
        if pod.node and pod.status.nominated_node_name not in ("", pod.node)
    ]


def tracebacks(logs: Iterable[Path]) -> list[str]:
    """Logs with a traceback, and where it leads to."""
    found = []
    for file in logs:
        text = file.read_text(errors="replace")
        if _TRACEBACK in text:
            lines = text[text.index(_TRACEBACK) :].splitlines()
            end = next((one for one in lines[1:] if one and not one.startswith(" ")), "")
            found.append(f"{file} has a traceback: {end}")
    return found


def shown(found: list[str]) -> list[str]:
    """The first of many sentences, and how many more there are."""
    more = len(found) - _SHOWN
    return [*found[:_SHOWN], *([f"and {more} more of the kind"] if more > 0 else [])]


def _sum(all_amounts: Iterable[Amounts]) -> Amounts:
    total = Amounts()
    for one in all_amounts:
        total = total.plus(one)
    return total
