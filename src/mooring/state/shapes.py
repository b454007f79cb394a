"""Shapes: what scheduling needs to know of a pod, compiled once for all pods of one template.

Pods of a template differ in their name, their node and their status; everything that decides where
they may go is the same. `Shapes` interns it, so that two pods with the same description share one
`Shape` object, and what was computed for one is valid for the other. Pods that differ in their
labels alone share all but these (`CompiledSpec`). A cluster has one `Shapes`, which its forks
share; nothing is written to the pods.
"""

import hashlib
import weakref

import msgspec

from mooring.model.pod import Pod, PodSpec
from mooring.model.resources import reported_resources
from mooring.state.compiled_spec import CompiledSpec, Remembering
from mooring.state.memory_bounds import BOUNDS, MemoryBounds

#: So many pods are remembered that no cluster holds, such as one that is gone.
_RECENT = 32

#: Labels as something that can be a key.
LabelKey = frozenset[tuple[str, str]]

_encode = msgspec.msgpack.Encoder(order="deterministic").encode


class Shape:
    """The compiled description that pods of one template share.

    Attributes:
        spec: what they share with pods that have other labels; what is read most is here as well.
        labels: the pods' labels.
        label_key: the labels as something that can be a key.
    """

    __slots__ = (
        "__weakref__",
        "affinity",
        "anti_affinity",
        "claims",
        "host_ports",
        "label_key",
        "labels",
        "namespace",
        "preferred",
        "requests",
        "spec",
    )

    def __init__(self, spec: CompiledSpec, labels: dict[str, str], label_key: LabelKey) -> None:
        self.spec = spec
        self.labels = labels
        self.label_key = label_key
        # Read for every pod that comes or goes, so they are at hand.
        self.namespace = spec.namespace
        self.requests = spec.requests
        self.host_ports = spec.host_ports
        self.claims = spec.claims
        self.affinity = spec.affinity
        self.anti_affinity = spec.anti_affinity
        self.preferred = spec.preferred

    @property
    def data(self) -> dict[object, object]:
        """What plugins remember about pods with this spec, whatever their labels."""
        return self.spec.data

    @property
    def has_affinity(self) -> bool:
        """Whether a pod has any pod affinity or anti-affinity term."""
        return bool(self.affinity or self.anti_affinity or self.preferred)


class Shapes:
    """The shapes of the pods of a cluster and its forks.

    Args:
        bounds: of how many specs plugins remember something.

    Attributes:
        remembering: those specs.
    """

    def __init__(self, bounds: MemoryBounds = BOUNDS) -> None:
        self.remembering = Remembering(bounds.templates)
        # By namespace and a digest of what counts.
        self._specs: weakref.WeakValueDictionary[tuple[str, bytes], CompiledSpec] = (
            weakref.WeakValueDictionary()
        )
        self._interned: weakref.WeakValueDictionary[tuple[CompiledSpec, LabelKey], Shape] = (
            weakref.WeakValueDictionary()
        )
        # The last ones: to compare specs costs much less than to digest one.
        self._last_with: weakref.WeakValueDictionary[tuple[str, LabelKey], Shape] = (
            weakref.WeakValueDictionary()
        )
        self._last_in: weakref.WeakValueDictionary[str, CompiledSpec] = (
            weakref.WeakValueDictionary()
        )
        # By identity; the pod is held, so that no other gets its number.
        self._recent: dict[int, tuple[Pod, Shape]] = {}

    def of(self, pod: Pod) -> Shape:
        """The compiled description of a pod, shared with all pods of the same template.

        Raises:
            QuantityError: an amount in the pod is no quantity.
        """
        namespace, label_key = pod.metadata.namespace or "default", frozenset(pod.labels.items())
        counted, reported = _counted(pod.spec), reported_resources(pod)
        last = self._last_with.get((namespace, label_key))
        if last is not None and not reported and last.spec.source == counted:
            return last
        spec = self._last_in.get(namespace)
        if spec is None or reported or spec.source != counted:
            spec = self._spec(pod, counted, reported)
        shape = self._interned.get((spec, label_key))
        if shape is None:
            # There may be no second pod with these labels, as in a StatefulSet.
            shape = self._interned[spec, label_key] = Shape(spec, pod.labels, label_key)
        else:
            self._last_with[namespace, label_key] = shape
        return shape

    def _spec(self, pod: Pod, counted: PodSpec, reported: tuple[object, ...]) -> CompiledSpec:
        """The compiled spec of a pod.

        Args:
            pod: the pod.
            counted: its spec, as far as it counts.
            reported: what its status reports of resources: if they change in place, the pod has
                amounts of its own.
        """
        namespace = pod.namespace
        # So has a pod with claims of its own.
        owner = pod.name if any(one.ephemeral is not None for one in counted.volumes or ()) else ""
        by_spec = not (reported or owner)
        # A description may be long, and nobody reads it again.
        rest = _encode((counted, reported, owner))
        key = (namespace, hashlib.blake2b(rest, digest_size=32).digest())
        spec = self._specs.get(key)
        if spec is None:
            source = counted if by_spec else None
            spec = self._specs[key] = CompiledSpec(pod, source, self.remembering)
        if by_spec:
            self._last_in[namespace] = spec
        return spec

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


def _counted(spec: PodSpec) -> PodSpec:
    """A spec without the node and without volumes that cannot decide where a pod may go."""
    if spec.volumes is None and spec.node_name is None:
        return spec
    volumes = [one for one in spec.volumes or () if one.counts]
    return spec.without_node(volumes or None)
