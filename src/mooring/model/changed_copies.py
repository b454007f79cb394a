"""Changed copies of pods and nodes: one that tolerates more, one without a label, and so on.

Called by who asks what would be if: the remedies of plugins and `explaining`. Nothing is changed in
place, and nothing is decided here.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from msgspec.structs import replace

from mooring.model.meta import KubeObject, keep_raw
from mooring.model.node import Node
from mooring.model.pod import Container, Pod, PodSpec, PodStatus, TopologySpreadConstraint
from mooring.model.quantity_texts import written
from mooring.model.resources import is_pod_level, read_resources, spec_requests
from mooring.model.selectors import NodeSelector, PodAffinityTerm
from mooring.model.taints import Taint, Toleration

T = TypeVar("T", bound=KubeObject)


def _copied(thing: T, **fields: object) -> T:
    copy = replace(thing, **fields)
    keep_raw(copy, thing)
    return copy


def with_spec(pod: Pod, **fields: object) -> Pod:
    """A pod with other fields in its spec."""
    return _copied(pod, spec=replace(pod.spec, **fields))


def with_status(pod: Pod, **fields: object) -> Pod:
    """A pod with other fields in its status."""
    return _copied(pod, status=replace(pod.status, **fields))


def as_new(pod: Pod) -> Pod:
    """A pod as it was before it was placed."""
    return _copied(pod, spec=replace(pod.spec, node_name=None), status=PodStatus())


def tolerating(pod: Pod, taints: Iterable[Taint]) -> Pod:
    """A pod that tolerates some more taints."""
    more = [
        Toleration(key=one.key, operator="Equal", value=one.value, effect=one.effect)
        if one.value
        else Toleration(key=one.key, operator="Exists", effect=one.effect)
        for one in taints
    ]
    return with_spec(pod, tolerations=[*pod.tolerations, *more])


def without_selector(pod: Pod, keys: Iterable[str]) -> Pod:
    """A pod without some entries of its node selector."""
    left = {key: value for key, value in pod.node_selector.items() if key not in set(keys)}
    return with_spec(pod, node_selector=left or None)


def with_required_nodes(pod: Pod, required: NodeSelector | None) -> Pod:
    """A pod that demands other nodes by affinity."""
    affinity = pod.spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return pod
    own = replace(
        affinity.node_affinity, required_during_scheduling_ignored_during_execution=required
    )
    return with_spec(pod, affinity=replace(affinity, node_affinity=own))


def without_pod_term(pod: Pod, term: PodAffinityTerm, *, anti: bool) -> Pod:
    """A pod without one of its required affinity or anti-affinity terms."""
    affinity = pod.spec.affinity
    field = "pod_anti_affinity" if anti else "pod_affinity"
    own = getattr(affinity, field)
    if affinity is None or own is None:
        return pod
    terms = [
        one for one in own.required_during_scheduling_ignored_during_execution or () if one != term
    ]
    own = replace(own, required_during_scheduling_ignored_during_execution=terms or None)
    return with_spec(pod, affinity=replace(affinity, **{field: own}))


def with_constraint(pod: Pod, number: int, new: TopologySpreadConstraint) -> Pod:
    """A pod with another spread constraint in the place of one."""
    constraints = list(pod.spec.topology_spread_constraints or ())
    constraints[number] = new
    return with_spec(pod, topology_spread_constraints=constraints)


def without_host_ports(pod: Pod, numbers: Iterable[int]) -> Pod:
    """A pod that does without some host ports.

    On the host's network every port of a container is one of the host, so the port goes too.
    """
    gone = set(numbers)

    def change(container: Container) -> Container:
        ports = [
            replace(port, host_port=0) if port.host_port in gone else port
            for port in container.ports or ()
            if port.host_port not in gone or not pod.spec.host_network
        ]
        return replace(container, ports=ports or None)

    return with_spec(pod, **_each_container(pod.spec, change))


def requesting_less(pod: Pod, cuts: Mapping[str, int]) -> Pod | None:
    """A pod that takes up so much less of some resources; None if that cannot be.

    Taken from the requests of the pod as a whole, where it has them, else from the containers that
    ask for most.
    """
    for resource, cut in cuts.items():
        left = spec_requests(pod)[resource] - cut
        found = _with_at_most(pod, resource, left)
        if found is None:
            return None
        pod = found
    return pod


def _with_at_most(pod: Pod, resource: str, wanted: int) -> Pod | None:
    level = pod.spec.resources
    if level is not None and resource in (level.requests or {}) and is_pod_level(resource):
        have = read_resources(level.requests)[resource]
        own = have - (spec_requests(pod)[resource] - wanted)
        if own < 0:
            return None
        requests = {**(level.requests or {}), resource: written(resource, own)}
        return with_spec(pod, resources=replace(level, requests=requests))
    # Each round brings the container that asks for most down by what is too much, as far as it
    # goes; containers and init containers both count, so that their peak comes down as well.
    for _ in range(2 * len(_containers(pod.spec)) + 1):
        excess = spec_requests(pod)[resource] - wanted
        if excess <= 0:
            return pod
        largest = max(
            _containers(pod.spec), key=lambda one: _request_of(one, resource), default=None
        )
        if largest is None or not _request_of(largest, resource):
            return None
        new = _with_request(largest, resource, max(0, _request_of(largest, resource) - excess))
        pod = with_spec(
            pod,
            **_each_container(pod.spec, lambda one: new if one is largest else one),  # noqa: B023
        )
    return None


def _containers(spec: PodSpec) -> list[Container]:
    return [*(spec.containers or ()), *(spec.init_containers or ())]


def _request_of(container: Container, resource: str) -> int:
    return read_resources(container.resources.requests if container.resources else None)[resource]


def _with_request(container: Container, resource: str, amount: int) -> Container:
    assert container.resources is not None  # noqa: S101 - it asks for the resource
    requests = {**(container.resources.requests or {}), resource: written(resource, amount)}
    return replace(container, resources=replace(container.resources, requests=requests))


def _each_container(
    spec: PodSpec, change: Callable[[Container], Container]
) -> dict[str, list[Container] | None]:
    return {
        field: [change(one) for one in containers] if containers else containers
        for field, containers in (
            ("containers", spec.containers),
            ("init_containers", spec.init_containers),
        )
    }


def with_labels(node: Node, labels: Mapping[str, str | None]) -> Node:
    """A node with other labels; None takes a label away."""
    merged = {**node.labels, **labels}
    left = {key: value for key, value in merged.items() if value is not None}
    return _copied(node, metadata=replace(node.metadata, labels=left))


def cordoned(node: Node) -> Node:
    """A cordoned node, with the taint that the node controller gives it then."""
    taint = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
    taints = node.taints if taint in node.taints else [*node.taints, taint]
    return _copied(node, spec=replace(node.spec, unschedulable=True, taints=taints))


def uncordoned(node: Node) -> Node:
    """A node that is not cordoned."""
    return _copied(node, spec=replace(node.spec, unschedulable=None))


def without_taints(node: Node, taints: Iterable[Taint]) -> Node:
    """A node without some of its taints."""
    gone = list(taints)
    return _copied(
        node, spec=replace(node.spec, taints=[one for one in node.taints if one not in gone])
    )


def with_features(node: Node, features: Iterable[str]) -> Node:
    """A node whose kubelet declares some more features."""
    declared = [*(node.status.declared_features or ()), *features]
    return _copied(node, status=replace(node.status, declared_features=declared))


def like(node: Node, name: str) -> Node:
    """A new node like another one: empty, not cordoned, with its own name and host name."""
    hostname = "kubernetes.io/hostname"
    labels = {**node.labels, hostname: name} if hostname in node.labels else node.labels
    metadata = replace(node.metadata, name=name, uid=f"uid--{name}", labels=labels)
    return _copied(node, metadata=metadata, spec=replace(node.spec, unschedulable=None))
