"""What the Go extender does with bare names, as a mooring policy; served in the part `wire`.

Without a cluster a node is known by its name only, so the functions read nothing else.
"""

import mooring as mr

policy = mr.Policy("bench-names", usage=False)


@policy.filter
def not_seven(pod: mr.Pod, node: mr.Node) -> bool | str:
    """Keep nodes whose name does not end in 7."""
    return not node.name.endswith("7") or "name ends in 7"


@policy.score(max_score=10)
def by_name(pod: mr.Pod, node: mr.Node) -> float:
    """Score by the last letter of the name."""
    return ord(node.name[-1]) % 11
