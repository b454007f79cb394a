"""Shapes: what scheduling needs to know of a pod, compiled once for all pods of one template.

Pods of a template differ in their name, their node and their status; everything that decides where
they may go is the same. `shape_of` interns it, so that two pods with the same description share one
`Shape` object, and what was computed for one is valid for the other.
"""

import functools
import hashlib
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Mapping

import msgspec

from mooring.model.pod import Pod
from mooring.model.resources import (
    CPU,
    MEMORY,
    Resources,
    resize_infeasible,
    scoring_requests,
)
from mooring.model.selectors import (
    PodAffinity,
    PodAffinityTerm,
    WeightedPodAffinityTerm,
)
from mooring.state.lru_cache import size_of
from mooring.state.memory_bounds import BOUNDS

#: What a shape of an empty pod takes.
_SHAPE_BYTES = 2048

_encode = msgspec.msgpack.Encoder(order="deterministic").encode


class AffinityTerm:
    """A pod affinity term of one pod, with its namespaces resolved as far as the pod tells.

    Attributes:
        topology_key: the label that makes the domains.
        namespaces: where pods count; with `namespace_selector`, more may.
        namespace_selector: selects more namespaces by their labels; None selects none.
        selector: selects pods; None selects none.
        key: equal for terms that mean the same.
    """

    __slots__ = ("key", "namespace_selector", "namespaces", "selector", "topology_key")

    def __init__(self, term: PodAffinityTerm, namespace: str) -> None:
        self.topology_key = term.topology_key
        self.namespace_selector = term.namespace_selector
        if term.namespaces or term.namespace_selector is not None:
            self.namespaces = frozenset(term.namespaces or ())
        else:
            self.namespaces = _only(namespace)
        self.selector = term.label_selector
        self.key = (
            self.topology_key,
            self.namespaces,
            _encode(self.namespace_selector),
            _encode(self.selector),
        )

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether the selector selects a pod with these labels."""
        return self.selector is not None and self.selector.matches(labels)

    def matches(
        self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]
    ) -> bool:
        """Whether the term is about a pod of this namespace with these labels."""
        if namespace not in self.namespaces and not (
            self.namespace_selector is not None
            and self.namespace_selector.matches(namespace_labels)
        ):
            return False
        return self.selects(labels)


@functools.lru_cache(maxsize=64)
def _only(namespace: str) -> frozenset[str]:
    return frozenset((namespace,))


class WeightedAffinityTerm:
    """A preferred term with its weight; anti-affinity has a negative weight."""

    __slots__ = ("key", "term", "weight")

    def __init__(self, term: AffinityTerm, weight: int) -> None:
        self.term = term
        self.weight = weight
        self.key = (term.key, weight)


class Shape:
    """The compiled description that pods of one template share.

    Attributes:
        namespace: the pods' namespace.
        labels: the pods' labels.
        label_key: the labels as something that can be a key.
        requests: what a pod takes up on a node.
        nonzero_cpu: the CPU that counts for scoring, with 100 thousandths for a silent container.
        nonzero_memory: the memory that counts for scoring, with 200 MiB for a silent container.
        host_ports: (ip, protocol, port) of every host port.
        affinity: required affinity terms.
        anti_affinity: required anti-affinity terms.
        claims: the persistent volume claims a pod names, as ``namespace/name``.
        preferred: preferred terms with their weights; negative for anti-affinity.
        nbytes: about how much memory it takes; what plugins remember is of the same order.
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_data",
        "affinity",
        "anti_affinity",
        "claims",
        "host_ports",
        "label_key",
        "labels",
        "namespace",
        "nbytes",
        "nonzero_cpu",
        "nonzero_memory",
        "preferred",
        "requests",
    )

    def __init__(self, pod: Pod, label_key: frozenset[tuple[str, str]], nbytes: int) -> None:
        self.namespace = pod.namespace
        self.labels = pod.labels
        self.label_key = label_key
        self.nbytes = nbytes
        self.requests: Resources = pod.requests
        scoring = scoring_requests(pod)
        self.nonzero_cpu = scoring[CPU]
        self.nonzero_memory = scoring[MEMORY]
        self.host_ports = tuple(_host_ports(pod))
        self.claims = tuple(
            f"{self.namespace}/{volume.persistent_volume_claim.claim_name}"
            for volume in pod.spec.volumes or ()
            if volume.persistent_volume_claim is not None
        )
        affinity = pod.spec.affinity
        together = affinity.pod_affinity if affinity else None
        apart = affinity.pod_anti_affinity if affinity else None
        self.affinity = tuple(_required(together, self.namespace))
        self.anti_affinity = tuple(_required(apart, self.namespace))
        self.preferred = (
            *_preferred(together, self.namespace, 1),
            *_preferred(apart, self.namespace, -1),
        )
        self._data: dict[object, object] | None = None

    @property
    def data(self) -> dict[object, object]:
        """What plugins remember about this template, by their own keys; it may be forgotten."""
        if self._data is None:
            self._data = {}
            _remembering.add(self)
        return self._data

    def forget(self) -> None:
        """Forget what plugins remember."""
        self._data = None

    @functools.cached_property
    def requested(self) -> tuple[tuple[str, int], ...]:
        """The resources a pod takes up, with their amounts, zero amounts left out."""
        return tuple((name, amount) for name, amount in self.requests.items() if amount)

    @property
    def has_affinity(self) -> bool:
        """Whether a pod has any pod affinity or anti-affinity term."""
        return bool(self.affinity or self.anti_affinity or self.preferred)


class Remembering:
    """The shapes of which plugins remember something, oldest first; those that are gone leave.

    Args:
        most: how many there may be.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        # A shape may go on any thread and at any time: each step is one call of the table.
        self._shapes: OrderedDict[weakref.ref[Shape], None] = OrderedDict()

    def add(self, shape: Shape) -> None:
        """Another one has something to remember; those that had longest forget."""
        self._shapes[weakref.ref(shape, self._leave)] = None
        while len(self._shapes) > self.most:
            oldest = self._shapes.popitem(last=False)[0]()
            if oldest is not None:
                oldest.forget()

    def _leave(self, gone: "weakref.ref[Shape]") -> None:
        self._shapes.pop(gone, None)


#: By namespace, labels, and a digest of everything else.
_shapes: "weakref.WeakValueDictionary[tuple[str, frozenset[tuple[str, str]], bytes], Shape]" = (
    weakref.WeakValueDictionary()
)
_remembering = Remembering(BOUNDS.templates)


def shape_of(pod: Pod) -> Shape:
    """The compiled description of a pod, shared with all pods of the same template.

    Raises:
        QuantityError: an amount in the pod is no quantity.
    """
    known: Shape | None = pod.__dict__.get("_shape")
    if known is not None:
        return known
    label_key, rest = frozenset(pod.labels.items()), _rest(pod)
    # A description may be long, and nobody reads it again.
    key = (pod.namespace, label_key, hashlib.blake2b(rest, digest_size=32).digest())
    shape = _shapes.get(key)
    if shape is None:
        nbytes = _SHAPE_BYTES + 4 * (len(rest) + size_of(label_key))
        shape = _shapes[key] = Shape(pod, label_key, nbytes)
    pod.__dict__["_shape"] = shape
    pod.__dict__.setdefault("requests", shape.requests)
    return shape


def _rest(pod: Pod) -> bytes:
    """Everything but namespace and labels."""
    spec = pod.spec
    volumes = [one for one in spec.volumes or () if one.counts]
    spec = msgspec.structs.replace(spec, node_name=None, volumes=volumes or None)
    # A pod whose resources change in place has its own amounts; so has one with claims of its own.
    status = pod.status
    resized = (
        (status.container_statuses, status.init_container_statuses, status.resources,
         status.allocated_resources, resize_infeasible(pod))
        if _reports_resources(pod)
        else ()
    )  # fmt: skip
    owner = pod.name if any(one.ephemeral is not None for one in volumes) else ""
    return _encode((spec, resized, owner))


def _reports_resources(pod: Pod) -> bool:
    status = pod.status
    if status.resources is not None or status.allocated_resources is not None:
        return True
    return any(
        one.resources is not None
        for statuses in (status.container_statuses, status.init_container_statuses)
        for one in statuses or ()
    )


def _host_ports(pod: Pod) -> Iterable[tuple[str, str, int]]:
    # parity v1.36.4: scheduler/util/utils.go GetHostPorts: containers and sidecars
    sidecars = (one for one in pod.spec.init_containers or () if one.restart_policy == "Always")
    for container in (*(pod.spec.containers or ()), *sidecars):
        for port in container.ports or ():
            if port.host_port > 0:
                yield (port.host_ip or "0.0.0.0", port.protocol or "TCP", port.host_port)  # noqa: S104


def _required(affinity: PodAffinity | None, namespace: str) -> Iterable[AffinityTerm]:
    if affinity is not None:
        for term in affinity.required_during_scheduling_ignored_during_execution or ():
            yield AffinityTerm(term, namespace)


def _preferred(
    affinity: PodAffinity | None, namespace: str, sign: int
) -> Iterable[WeightedAffinityTerm]:
    if affinity is not None:
        terms: list[WeightedPodAffinityTerm] = (
            affinity.preferred_during_scheduling_ignored_during_execution or []
        )
        for weighted in terms:
            yield WeightedAffinityTerm(
                AffinityTerm(weighted.pod_affinity_term, namespace), sign * weighted.weight
            )
