"""Waiting pods with a nominated node: they count there for pods of no higher priority.

`Cluster` keeps it; the runtime reads it when it filters.
"""

from mooring.model.pod import Pod


class Nominations:
    """The nominated pods, by node."""

    def __init__(self) -> None:
        self._by_node: dict[str, dict[str, Pod]] = {}
        self._node_of: dict[str, str] = {}

    def put(self, pod: Pod, node_name: str) -> None:
        """Nominate a node for a pending pod; replaces an earlier nomination."""
        self.remove(pod.key)
        self._by_node.setdefault(node_name, {})[pod.key] = pod
        self._node_of[pod.key] = node_name

    def remove(self, key: str) -> None:
        """Forget a pod's nomination."""
        node = self._node_of.pop(key, None)
        if node is not None:
            pods = self._by_node[node]
            del pods[key]
            if not pods:
                del self._by_node[node]

    def node_of(self, key: str) -> str | None:
        """The node that is nominated for a pod."""
        return self._node_of.get(key)

    def on(self, node_name: str) -> list[Pod]:
        """The pods for which a node is nominated."""
        return list(self._by_node.get(node_name, {}).values())

    def counting(self, node_name: str, pod: Pod) -> list[Pod]:
        """The other pods nominated to this node that a pod has to make room for."""
        return [
            other
            for other in self._by_node.get(node_name, {}).values()
            if other.priority >= pod.priority and other.key != pod.key
        ]

    @property
    def nodes(self) -> list[str]:
        """The nodes that are nominated for any pod."""
        return list(self._by_node)

    def __bool__(self) -> bool:
        return bool(self._by_node)
