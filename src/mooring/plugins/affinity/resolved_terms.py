"""The affinity terms of pods that are to be placed, with the namespaces that they select now.

Resolved once for all pods with one spec, and again when namespaces change. Used by
`InterPodAffinity`.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, cast

from mooring.model.workloads import Namespace
from mooring.state.affinity_terms import AffinityTerm
from mooring.state.catalog import Catalog
from mooring.state.cluster import Cluster
from mooring.state.counts import FollowedCount, PodLabelGroup
from mooring.state.shapes import Shape

_AFFINITY: Final = f"{__name__} affinity"
_ANTI_AFFINITY: Final = f"{__name__} anti-affinity"
_PREFERRED: Final = f"{__name__} preferred"


class ResolvedTerm:
    """A term of the incoming pod, with the namespaces its selector selects now."""

    __slots__ = ("anywhere", "key", "namespaces", "term")

    def __init__(self, term: AffinityTerm, catalog: Catalog) -> None:
        self.term = term
        self.namespaces = term.namespaces
        selector = term.namespace_selector
        # parity v1.36.4: interpodaffinity/plugin.go mergeAffinityTermNamespacesIfNotEmpty: the
        # selector stays in place and is later matched against no labels, so one that a namespace
        # without labels satisfies selects every namespace.
        self.anywhere = selector is not None and selector.matches({})
        if selector is not None and (selector.match_labels or selector.match_expressions):
            self.namespaces |= {
                one.name for one in catalog.all(Namespace).values() if selector.matches(one.labels)
            }
        self.key = (term.key, self.namespaces, self.anywhere)

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Whether the term is about a pod of this namespace with these labels."""
        return (self.anywhere or namespace in self.namespaces) and self.term.selects(labels)


def matches_all(resolved: Sequence[ResolvedTerm], shape: Shape) -> bool:
    """Whether all terms are about a pod."""
    return all(one.matches(shape.namespace, shape.labels) for one in resolved)


class MatchingPods:
    """The pods on the cluster that match all of some terms.

    Attributes:
        key: equal for terms that mean the same.
    """

    __slots__ = ("_resolved", "_selectors", "key")

    def __init__(self, resolved: Sequence[ResolvedTerm]) -> None:
        self._resolved = resolved
        self._selectors = [one.term.selector for one in resolved if one.term.selector is not None]
        self.key = ("affinity", *(one.key for one in resolved))

    def counted(self, cluster: Cluster) -> FollowedCount:
        """How many of them are on each node."""
        return cluster.pod_counts.follow(self.key, self._includes, self._selectors)

    def _includes(self, group: PodLabelGroup) -> bool:
        return all(one.matches(group.namespace, group.labels) for one in self._resolved)


class OwnTerms(NamedTuple):
    """The terms of one sort that pods with one spec have.

    Attributes:
        version: the version of the namespaces.
        resolved: the terms.
        together: the pods that match all of them.
        each: the pods that match each of them.
    """

    version: int
    resolved: tuple[ResolvedTerm, ...]
    together: MatchingPods
    each: tuple[MatchingPods, ...]


_NO_TERMS: Final = OwnTerms(-1, (), MatchingPods(()), ())


class TermResolver:
    """Resolves terms with the namespaces of a cluster.

    Args:
        catalog: has the namespaces.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    @property
    def version(self) -> int:
        """Another number after a change of namespaces."""
        return self._catalog.version(Namespace)

    def labels_of(self, namespace: str) -> Mapping[str, str]:
        """The labels of a namespace."""
        found = self._catalog.get(Namespace, namespace)
        return found.labels if found is not None else {}

    def affinity(self, shape: Shape) -> OwnTerms:
        """The required affinity terms of a pod."""
        return self._own(shape, _AFFINITY, shape.affinity)

    def anti_affinity(self, shape: Shape) -> OwnTerms:
        """The required anti-affinity terms of a pod."""
        return self._own(shape, _ANTI_AFFINITY, shape.anti_affinity)

    def preferred(self, shape: Shape) -> OwnTerms:
        """The preferred terms of a pod, in the order of `Shape.preferred`."""
        if not shape.preferred:
            return _NO_TERMS
        return self._own(shape, _PREFERRED, [one.term for one in shape.preferred])

    def _own(self, shape: Shape, key: str, terms: Sequence[AffinityTerm]) -> OwnTerms:
        if not terms:
            return _NO_TERMS
        version = self.version
        known = cast("OwnTerms | None", shape.data.get(key))
        if known is None or known.version != version:
            resolved = tuple(ResolvedTerm(term, self._catalog) for term in terms)
            each = tuple(MatchingPods((one,)) for one in resolved)
            known = OwnTerms(version, resolved, MatchingPods(resolved), each)
            shape.data[key] = known
        return known
