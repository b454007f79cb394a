import mooring as mr
from mooring import hook


class Spread(hook.Filter, hook.Score):
    """At most so many pods on a node, and rather on empty ones."""

    weight = 3

    def __init__(self, most: int) -> None:
        self.most = most

    def filter(self, pod: mr.Pod, node: mr.Node) -> bool | str:
        return len(node.pods) < self.most or "node has enough pods"

    def score(self, pod: mr.Pod, node: mr.Node) -> float:
        return 100 * (1 - len(node.pods) / self.most)


policy = mr.Policy("spread")
policy.add(Spread(most=20))
