"""Waiting pods that were promised a node: they count there for pods of no higher priority.

`Cluster` keeps it; the runtime reads it when it filters.
"""

from mooring.model.pod import Pod


class Nominations:
    """The nominated pods, by node."""

    def __init__(self) -> None:
        self._by_node: dict[str, dict[str, Pod]] = {}
        self._node_of: dict[str, str] = {}

    def put(self, pod: Pod, node_name: str) -> None:
        """Promise a node to a waiting pod; replaces an earlier promise."""
        self.remove(pod.key)
        self._by_node.setdefault(node_name, {})[pod.key] = pod
        self._node_of[pod.key] = node_name

    def remove(self, key: str) -> None:
        """Forget a promise."""
        node = self._node_of.pop(key, None)
        if node is not None:
            pods = self._by_node[node]
            del pods[key]
            if not pods:
                del self._by_node[node]

    def node_of(self, key: str) -> str | None:
        """The node promised to a pod."""
        return self._node_of.get(key)

    def on(self, node_name: str) -> list[Pod]:
        """The pods that were promised a node."""
        return list(self._by_node.get(node_name, {}).values())

    def counting(self, node_name: str, pod: Pod) -> list[Pod]:
        """The other pods promised this node that a pod has to make room for."""
        return [
            other
            for other in self._by_node.get(node_name, {}).values()
            if other.priority >= pod.priority and other.key != pod.key
        ]

    @property
    def nodes(self) -> list[str]:
        """The nodes that are promised to somebody."""
        return list(self._by_node)

    def __bool__(self) -> bool:
        return bool(self._by_node)
