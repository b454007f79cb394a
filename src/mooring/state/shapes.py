"""Shapes: what scheduling needs to know of a pod, compiled once for all pods of one template.

Pods of a template differ in their name, their node and their status; everything that decides where
they may go is the same. `Shapes` interns it, so that two pods with the same description share one
`Shape` object, and what was computed for one is valid for the other. A cluster has one `Shapes`,
which its forks share; nothing is written to the pods.
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
    reported_resources,
    scoring_requests,
)
from mooring.model.selectors import (
    PodAffinity,
    PodAffinityTerm,
    WeightedPodAffinityTerm,
)
from mooring.state.lru_cache import size_of
from mooring.state.memory_bounds import BOUNDS, MemoryBounds

#: What a shape of an empty pod takes.
_SHAPE_BYTES = 2048
#: So many pods are remembered that no cluster holds, such as one that is gone.
_RECENT = 32

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
        "_remembering",
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

    def __init__(
        self,
        pod: Pod,
        label_key: frozenset[tuple[str, str]],
        nbytes: int,
        remembering: "Remembering",
    ) -> None:
        self.namespace = pod.namespace
        self.labels = pod.labels
        self.label_key = label_key
        self.nbytes = nbytes
        self.requests: Resources = pod.requests
        scoring = scoring_requests(pod)
        self.nonzero_cpu = scoring[CPU]
        self.nonzero_memory = scoring[MEMORY]
        self.host_ports = host_ports(pod)
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
        self._remembering = remembering
        self._data: dict[object, object] | None = None

    @property
    def data(self) -> dict[object, object]:
        """What plugins remember about this template, by their own keys; it may be forgotten."""
        if self._data is None:
            self._data = {}
            self._remembering.add(self)
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

    def forget_all(self) -> None:
        """All of them forget."""
        while self._shapes:
            shape = self._shapes.popitem(last=False)[0]()
            if shape is not None:
                shape.forget()

    def _leave(self, gone: "weakref.ref[Shape]") -> None:
        self._shapes.pop(gone, None)


class Shapes:
    """The shapes of the pods of a cluster and its forks.

    Args:
        bounds: of how many templates plugins remember something.

    Attributes:
        remembering: those templates.
    """

    def __init__(self, bounds: MemoryBounds = BOUNDS) -> None:
        self.remembering = Remembering(bounds.templates)
        # By namespace, labels, and a digest of everything else.
        self._interned: weakref.WeakValueDictionary[
            tuple[str, frozenset[tuple[str, str]], bytes], Shape
        ] = weakref.WeakValueDictionary()
        # By identity; the pod is held, so that no other gets its number.
        self._recent: dict[int, tuple[Pod, Shape]] = {}

    def of(self, pod: Pod) -> Shape:
        """The compiled description of a pod, shared with all pods of the same template.

        Raises:
            QuantityError: an amount in the pod is no quantity.
        """
        label_key, rest = frozenset(pod.labels.items()), _rest(pod)
        # A description may be long, and nobody reads it again.
        key = (pod.namespace, label_key, hashlib.blake2b(rest, digest_size=32).digest())
        shape = self._interned.get(key)
        if shape is None:
            nbytes = _SHAPE_BYTES + 4 * (len(rest) + size_of(label_key))
            shape = self._interned[key] = Shape(pod, label_key, nbytes, self.remembering)
        return shape

    def of_stranger(self, pod: Pod) -> Shape:
        """The same for a pod that no cluster holds; the last few are remembered."""
        known = self._recent.get(id(pod))
        if known is not None:
            return known[1]
        shape = self.of(pod)
        if len(self._recent) >= _RECENT:
            del self._recent[next(iter(self._recent))]
        self._recent[id(pod)] = (pod, shape)
        return shape

    def __len__(self) -> int:
        """How many shapes there are."""
        return len(self._interned)


def have_same_shape(old: Pod, new: Pod) -> bool:
    """Whether two versions of one pod surely have the same shape; it costs less than to compile it.

    As when a pod that was assumed on a node is seen there, or its status changes.
    """
    return (
        old.labels == new.labels
        and old.spec == new.spec
        and reported_resources(old) == reported_resources(new)
    )


def _rest(pod: Pod) -> bytes:
    """Everything but namespace and labels."""
    spec = pod.spec
    volumes = [one for one in spec.volumes or () if one.counts]
    spec = msgspec.structs.replace(spec, node_name=None, volumes=volumes or None)
    # A pod whose resources change in place has its own amounts; so has one with claims of its own.
    owner = pod.name if any(one.ephemeral is not None for one in volumes) else ""
    return _encode((spec, reported_resources(pod), owner))


def host_ports(pod: Pod) -> tuple[tuple[str, str, int], ...]:
    """(ip, protocol, port) of every host port of a pod."""
    # parity v1.36.4: scheduler/util/utils.go GetHostPorts: containers and sidecars
    sidecars = (one for one in pod.spec.init_containers or () if one.restart_policy == "Always")
    return tuple(
        (port.host_ip or "0.0.0.0", port.protocol or "TCP", port.host_port)  # noqa: S104
        for container in (*(pod.spec.containers or ()), *sidecars)
        for port in container.ports or ()
        if port.host_port > 0
    )


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
