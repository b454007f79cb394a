import mooring as mr
from mooring import hook

LICENCE = "example.com/licence"


class Licences(hook.FilterNodes, hook.Details):
    """Keeps pods off nodes that have too few licences left."""

    def filter_nodes(self, pod: mr.Pod, nodes: mr.Nodes) -> hook.FilterAnswers | None:
        missing = nodes.free[LICENCE] < pod.requests[LICENCE]
        return ["node(s) had too few licences" if one else True for one in missing]

    def details(self, rejected: hook.RejectedNodes) -> str:
        most = int(rejected.nodes.free[LICENCE].max())
        return f"needs {rejected.pod.requests[LICENCE]} licences, and the most left is {most}"


policy = mr.Policy("licences")
policy.add(Licences())
