"""Pod affinity terms as scheduling reads them, with their namespaces resolved and a key.

Compiled once for all pods with one spec (`compiled_spec`); the state counts pods by them.
"""

import functools
from collections.abc import Iterable, Mapping

import msgspec

from mooring.model.selectors import (
    PodAffinity,
    PodAffinityTerm,
    WeightedPodAffinityTerm,
)

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


def required_terms(affinity: PodAffinity | None, namespace: str) -> Iterable[AffinityTerm]:
    """The required terms of pods of a namespace."""
    if affinity is not None:
        for term in affinity.required_during_scheduling_ignored_during_execution or ():
            yield AffinityTerm(term, namespace)


def preferred_terms(
    affinity: PodAffinity | None, namespace: str, sign: int
) -> Iterable[WeightedAffinityTerm]:
    """The preferred terms of pods of a namespace; the sign is -1 for anti-affinity."""
    if affinity is not None:
        terms: list[WeightedPodAffinityTerm] = (
            affinity.preferred_during_scheduling_ignored_during_execution or []
        )
        for weighted in terms:
            yield WeightedAffinityTerm(
                AffinityTerm(weighted.pod_affinity_term, namespace), sign * weighted.weight
            )
