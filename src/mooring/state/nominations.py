"""Pending pods with a nominated node: they count there for pods of no higher priority.

`Cluster` keeps it; the runtime reads it when it filters.
"""

from collections.abc import Mapping
from typing import Final

from mooring.model.pod import Pod

_NOBODY: Final[Mapping[str, Pod]] = {}


class Nominations:
    """The nominated pods, by node.

    Attributes:
        by_pod: the node that is nominated for each pod, by the pod's key; for reading only.
    """

    __slots__ = ("_by_node", "by_pod")

    def __init__(
        self,
        by_node: Mapping[str, Mapping[str, Pod]] | None = None,
        by_pod: Mapping[str, str] | None = None,
    ) -> None:
        # The pods of a node are never changed: there are few of them.
        self._by_node = dict(by_node or {})
        self.by_pod = dict(by_pod or {})

    def fork(self) -> "Nominations":
        """The same nominations, independent of these."""
        return Nominations(self._by_node, self.by_pod)

    def put(self, pod: Pod, node_name: str) -> None:
        """Nominate a node for a pending pod; replaces an earlier nomination."""
        key = pod.key
        self.remove(key)
        self._by_node[node_name] = {**self._on(node_name), key: pod}
        self.by_pod[key] = node_name

    def remove(self, key: str) -> None:
        """Forget a pod's nomination."""
        node = self.by_pod.pop(key, None)
        if node is not None:
            left = {other: pod for other, pod in self._on(node).items() if other != key}
            if left:
                self._by_node[node] = left
            else:
                del self._by_node[node]

    def node_of(self, key: str) -> str | None:
        """The node that is nominated for a pod."""
        return self.by_pod.get(key)

    def on(self, node_name: str) -> list[Pod]:
        """The pods for which a node is nominated."""
        return list(self._on(node_name).values())

    def counting(self, node_name: str, pod: Pod) -> list[Pod]:
        """The other pods nominated to this node that a pod has to make room for."""
        return [
            other
            for other in self._on(node_name).values()
            if other.priority >= pod.priority and other.key != pod.key
        ]

    def _on(self, node_name: str) -> Mapping[str, Pod]:
        return self._by_node.get(node_name, _NOBODY)

    @property
    def nodes(self) -> list[str]:
        """The nodes that are nominated for any pod."""
        return list(self._by_node)

    def __bool__(self) -> bool:
        return bool(self.by_pod)
