"""The same as `policy_names`, all nodes at once; served in the part `wire`."""

import mooring as mr

policy = mr.Policy("bench-names-plural", usage=False)


@policy.filter_nodes
def not_seven(pod: mr.Pod, nodes: mr.Nodes) -> list[bool | str]:
    """Keep nodes whose name does not end in 7."""
    return [not name.endswith("7") or "name ends in 7" for name in nodes.names]


@policy.score_nodes(max_score=10)
def by_name(pod: mr.Pod, nodes: mr.Nodes) -> list[int]:
    """Score by the last letter of the name."""
    return [ord(name[-1]) % 11 for name in nodes.names]
