"""Whether a node's kubelet admits a pod: what is in use there, and what the pod asks for.

`kubelet` calls it. A scheduler has checked the same before, but two schedulers may race, and a pod
may name its node itself. What is in use is kept as pods come and go, so that admitting costs the
same on a full cluster.
"""

from collections import Counter
from typing import Final

import msgspec

from mooring.model.node import Node
from mooring.model.pod import Pod

_FIRST: Final = ("cpu", "memory", "ephemeral-storage")
_ANY: Final = "0.0.0.0"  # noqa: S104 - a host port on all addresses
_NATIVE: Final = "kubernetes.io/"

Port = tuple[str, str, int]


class AdmitFailure(msgspec.Struct, frozen=True):
    """Why a kubelet does not run a pod: as it is written into the pod's status."""

    reason: str
    message: str


class PodRequests(msgspec.Struct, frozen=True, gc=False):
    """What one pod takes up on its node."""

    uid: str
    node: str
    amounts: tuple[tuple[str, int], ...]
    ports: tuple[Port, ...]


class NodeAdmission:
    """Admits pods to one node.

    Args:
        node: the node.
        host: its address.
    """

    def __init__(self, node: Node, host: str) -> None:
        self.used: Counter[str] = Counter()
        self.pods = 0
        self.ports: dict[Port, int] = {}
        self.update_node(node, host)

    def update_node(self, node: Node, host: str) -> None:
        """The node is another now; what is in use stays."""
        self.node = node
        self.host = host
        self.allocatable = node.allocatable

    def add_pod(self, requests: PodRequests) -> None:
        """A pod runs here."""
        self.pods += 1
        for name, amount in requests.amounts:
            self.used[name] += amount
        for port in requests.ports:
            self.ports[port] = self.ports.get(port, 0) + 1

    def remove_pod(self, requests: PodRequests) -> None:
        """A pod does not run here any more."""
        self.pods -= 1
        for name, amount in requests.amounts:
            self.used[name] -= amount
        for port in requests.ports:
            self.ports[port] -= 1
            if not self.ports[port]:
                del self.ports[port]

    def admit(self, pod: Pod, requests: PodRequests) -> AdmitFailure | None:
        """Why the pod cannot run here; None if it can."""
        # parity v1.36.4: pkg/kubelet/lifecycle/predicate.go, pkg/scheduler AdmissionCheck
        short = self._find_shortage(requests)
        if short is not None:
            return short
        if not _matches(pod, self.node):
            what = "node(s) didn't match Pod's node affinity/selector"
            return _predicate("NodeAffinity", what)
        if any(self._is_port_taken(port) for port in requests.ports):
            what = "node(s) didn't have free ports for the requested pod ports"
            return _predicate("NodePorts", what)
        return None

    def _find_shortage(self, requests: PodRequests) -> AdmitFailure | None:
        allowed = self.allocatable["pods"]
        if self.pods + 1 > allowed:
            return _insufficient("pods", 1, self.pods, allowed)
        amounts = dict(requests.amounts)
        for name in (*_FIRST, *(one for one in amounts if one not in _FIRST)):
            asked = amounts.get(name, 0)
            if not asked or (_is_extended(name) and name not in self.allocatable):
                continue  # the device plugin may not have reported it yet; the kubelet lets it in
            if self.used[name] + asked > self.allocatable[name]:
                return _insufficient(name, asked, self.used[name], self.allocatable[name])
        return None

    def _is_port_taken(self, port: Port) -> bool:
        if not self.ports:
            return False
        ip, protocol, number = port
        if ip == _ANY:
            return any(one[1:] == (protocol, number) for one in self.ports)
        return port in self.ports or (_ANY, protocol, number) in self.ports


def pod_requests(pod: Pod) -> PodRequests:
    """What a pod takes up."""
    ports: tuple[Port, ...] = ()
    for container in pod.spec.containers or ():
        if container.ports:
            ports += tuple(
                (port.host_ip or _ANY, port.protocol or "TCP", port.host_port)
                for port in container.ports
                if port.host_port > 0
            )
    return PodRequests(pod.uid, pod.node_name, tuple(pod.requests.items()), ports)


def _matches(pod: Pod, node: Node) -> bool:
    spec = pod.spec
    for key, value in (spec.node_selector or {}).items():
        if node.labels.get(key) != value:
            return False
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    if affinity is None:
        return True
    required = affinity.required_during_scheduling_ignored_during_execution
    return required is None or required.matches(node.labels, node.name)


def _is_extended(name: str) -> bool:
    return "/" in name and _NATIVE not in name


def _insufficient(name: str, asked: int, used: int, capacity: int) -> AdmitFailure:
    message = (
        f"Node didn't have enough resource: {name}, requested: {asked}, used: {used}, "
        f"capacity: {capacity}"
    )
    return AdmitFailure(f"OutOf{name}", message)


def _predicate(name: str, what: str) -> AdmitFailure:
    return AdmitFailure(name, f"Predicate {name} failed: {what}")
