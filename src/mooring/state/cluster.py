"""The cluster as far as scheduling needs it: nodes, the pods on them, what is in use.

A pod's way through the state (each box is what `Cluster` holds for it):

    put, no node          assume            put with node
    ──────────────> waiting ──────> assumed ─────────────> bound
                      │ ^              │ │                   │
                      │ └─── forget ───┘ │                   │
                      └──────────────────┴───────────────────┴──> (nothing): gone, finished

`apply` takes what informers saw; `assume` counts a pod on a node before the API server says so, so
that the next decision sees it; `forget` takes that back.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from mooring.model.change import Gone, Put
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.resources import PODS, Resources


class NodeUsage:
    """What is in use on one node; kept even while the node itself is not known yet."""

    __slots__ = ("_by_key", "_pods", "used", "version")

    def __init__(self) -> None:
        self._by_key: dict[str, Pod] = {}
        self._pods: tuple[Pod, ...] | None = ()
        #: The sum of the pods' requests; ``pods`` is their number.
        self.used = Resources()
        #: Another number after every change.
        self.version = 0

    @property
    def pods(self) -> tuple[Pod, ...]:
        """The pods on the node, in the order they came."""
        if self._pods is None:
            self._pods = tuple(self._by_key.values())
        return self._pods

    def add(self, pod: Pod) -> None:
        """Count a pod."""
        self._by_key[pod.key] = pod
        self._count(pod, 1)

    def remove(self, key: str) -> None:
        """Count a pod no more."""
        self._count(self._by_key.pop(key), -1)

    def _count(self, pod: Pod, sign: int) -> None:
        self._pods = None
        self.version += 1
        used = self.used
        for name, amount in pod.requests.items():
            used[name] += sign * amount
        used[PODS] += sign

    def __bool__(self) -> bool:
        return bool(self._by_key)


class Assumption(NamedTuple):
    """A pod counted on a node before the API server says so, and how to take that back."""

    waiting: Pod
    node_name: str
    annotations: Mapping[str, str]

    def placed(self) -> Pod:
        """The pod as it is counted."""
        pod = self.waiting
        return msgspec.structs.replace(
            pod,
            metadata=msgspec.structs.replace(
                pod.metadata, annotations={**pod.annotations, **self.annotations}
            ),
            spec=msgspec.structs.replace(pod.spec, node_name=self.node_name),
        )


class Cluster:
    """Nodes and pods, kept up to date by changes.

    Args:
        has_pods: whether pods are told at all; if not, what is in use on a node is not known.

    Attributes:
        nodes: the nodes by name, each with its usage attached.
    """

    def __init__(self, *, has_pods: bool = True) -> None:
        self.nodes: dict[str, Node] = {}
        self._has_pods = has_pods
        self._usage: dict[str, NodeUsage] = {}
        self._pods: dict[str, Pod] = {}
        self._by_uid: dict[str, Pod] = {}
        self._assumed: dict[str, Assumption] = {}

    def apply(self, changes: Iterable[Put[Any] | Gone[Any]]) -> None:
        """Take what happened, in order."""
        for change in changes:
            thing = change.object
            put = isinstance(change, Put)
            if isinstance(thing, Pod):
                self.put_pod(thing) if put else self.remove_pod(thing.key)
            elif isinstance(thing, Node):
                self.put_node(thing) if put else self.remove_node(thing.name)

    def put_node(self, node: Node) -> None:
        """Add a node, or replace the one of the same name."""
        node.attach(self._kept_usage(node.name) if self._has_pods else None)
        self.nodes[node.name] = node

    def remove_node(self, name: str) -> None:
        """Forget a node; the pods on it stay counted until they go themselves."""
        self.nodes.pop(name, None)
        if not self._usage.get(name):
            self._usage.pop(name, None)

    def put_pod(self, pod: Pod) -> None:
        """Add a pod, or replace the one of the same namespace and name."""
        key = pod.key
        assumed = self._assumed.get(key)
        if (
            assumed is not None
            and not pod.node_name
            and pod.uid == assumed.waiting.uid
            and not pod.finished
        ):
            # Seen again before the binding arrives: it stays where it was assumed.
            self.assume(pod, assumed.node_name, assumed.annotations)
            return
        self._replace(key, None if pod.finished else pod)
        self._assumed.pop(key, None)

    def remove_pod(self, key: str) -> None:
        """Forget a pod that is gone."""
        self._replace(key, None)
        self._assumed.pop(key, None)

    def assume(self, pod: Pod, node_name: str, annotations: Mapping[str, str] | None = None) -> Pod:
        """Count a pod on a node before the API server confirms it.

        Args:
            pod: the pod, not yet bound.
            node_name: where it is going to be.
            annotations: what the binding will add to its annotations.

        Returns:
            The pod as it is counted.
        """
        assumption = Assumption(pod, node_name, annotations or {})
        placed = assumption.placed()
        self._replace(pod.key, placed)
        self._assumed[pod.key] = assumption
        return placed

    def forget(self, key: str) -> None:
        """Take an assumption back; nothing happens if the pod was confirmed meanwhile."""
        assumed = self._assumed.pop(key, None)
        if assumed is not None:
            self._replace(key, assumed.waiting)

    @property
    def assumed(self) -> int:
        """How many pods are assumed and not yet confirmed."""
        return len(self._assumed)

    @property
    def pods(self) -> int:
        """How many pods are known: waiting, assumed and bound."""
        return len(self._pods)

    def pod(self, namespace: str, name: str) -> Pod | None:
        """A pod by name, if it is known and not finished."""
        return self._pods.get(f"{namespace}/{name}")

    def pod_by_uid(self, uid: str) -> Pod | None:
        """A pod by its unique id, if it is known and not finished."""
        return self._by_uid.get(uid)

    def usage(self, node_name: str) -> NodeUsage | None:
        """What is in use on a node, whether or not the node is known; valid until the next change.

        None if no pods are told.
        """
        if not self._has_pods:
            return None
        found = self._usage.get(node_name)
        return found if found is not None else NodeUsage()

    def _kept_usage(self, node_name: str) -> NodeUsage:
        found = self._usage.get(node_name)
        if found is None:
            found = self._usage[node_name] = NodeUsage()
        return found

    def _replace(self, key: str, pod: Pod | None) -> None:
        if pod is not None and pod.node_name:
            _ = pod.requests  # an impossible quantity raises here, before anything changed
        old = self._pods.pop(key, None)
        if old is not None:
            self._by_uid.pop(old.uid, None)
            if old.node_name:
                self._leave(key, old.node_name)
        if pod is not None:
            if pod.node_name:
                self._kept_usage(pod.node_name).add(pod)
            self._pods[key] = pod
            if pod.uid:
                self._by_uid[pod.uid] = pod

    def _leave(self, key: str, node_name: str) -> None:
        usage = self._usage[node_name]
        usage.remove(key)
        if not usage and node_name not in self.nodes:
            del self._usage[node_name]
