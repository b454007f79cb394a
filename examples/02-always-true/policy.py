"""All verbs, and none of them changes anything: a starting point for a policy of your own."""

from collections.abc import Sequence

import mooring as mr

policy = mr.Policy("always-true", usage=False, description="Every verb, without effect.")


@policy.filter
def always_true(_pod: mr.Pod, _node: mr.Node) -> bool:
    """Keep every node."""
    return True


@policy.score
def zero_score(_pod: mr.Pod, _node: mr.Node) -> float:
    """Find no node better than another."""
    return 0


@policy.preempt
def echo(_pod: mr.Pod, _node: mr.Node, victims: Sequence[mr.Pod]) -> Sequence[mr.Pod]:
    """Preempt exactly those that kube-scheduler has chosen."""
    return victims
