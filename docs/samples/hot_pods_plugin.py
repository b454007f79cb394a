import mooring as mr
from mooring import hook

HOT = "example.com/hot"


class HotPods(hook.FilterNodes, hook.Sign):
    """Puts at most two hot pods on a node."""

    name = "HotPods"
    reason = "node(s) had two hot pods"
    reads = ()  # nothing but nodes and pods
    filter_scope = hook.Scope.ROW  # the node and its pods, no others

    def filter_nodes(self, pod: mr.Pod, nodes: mr.Nodes) -> hook.FilterAnswers | None:
        if HOT not in pod.labels:
            return None
        return [sum(HOT in one.labels for one in node.pods) < 2 for node in nodes]

    def sign(self, pod: mr.Pod) -> bool:
        return HOT in pod.labels
