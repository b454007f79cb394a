"""What a decision asks of the pods on the cluster, for all pods that terms cannot tell apart.

Which terms are about a pod changes seldom: when a pod with a new term comes to a node, or when
namespaces change. Used by `InterPodAffinity`.
"""

from collections.abc import Hashable, Iterable
from typing import Final, NamedTuple

from mooring.plugins.affinity.resolved_terms import TermResolver, matches_all
from mooring.plugins.domain_sums import PodsOfASort, WeightedPods
from mooring.state.cluster import Cluster
from mooring.state.counts import TermCount, TermCounts, TermKey
from mooring.state.lru_cache import LruCache, size_of
from mooring.state.selector_index import keys_read_by
from mooring.state.shapes import LabelKey, Shape

#: About how many bytes are kept for each sort of pods in a question.
_SORT_BYTES: Final = 256


class PodsWithTerm:
    """The pods on the cluster that have a term.

    Attributes:
        key: equal for the same term.
        term: where they are, as long as the terms have the same version.
    """

    __slots__ = ("_terms", "key")

    def __init__(self, terms: TermCounts, key: TermKey) -> None:
        self._terms = terms
        self.key = key

    def counted(self, cluster: Cluster) -> TermCount:  # noqa: ARG002 - it is that of the terms
        """The same pods as they are counted now."""
        return self._terms.count_of(self.key)


class DomainQuestion(NamedTuple):
    """How many pods of some sorts are in each domain of a topology key."""

    key: Hashable
    topology_key: str
    pods: WeightedPods


class PodQuestions(NamedTuple):
    """What is asked for pods of one shape.

    Attributes:
        version: another value once something else may be to be asked.
        apart: in the domain of a node must be none of them.
        together: in the domain of a node must be one of them,
        first: unless there is none at all, and this is true.
        wanted: the more of them are in its domain, the better a node is.
    """

    version: tuple[int, ...]
    apart: tuple[DomainQuestion, ...]
    together: tuple[DomainQuestion, ...]
    first: bool
    wanted: tuple[DomainQuestion, ...]


class Questions:
    """The questions for all shapes of pods that were asked about.

    Args:
        cluster: the cluster.
        terms: resolves the pods' own terms.
        hard_weight: how much a required affinity term of a pod on the cluster draws pods to it.
        ignore_existing: whether terms of pods on the cluster draw only pods with preferred terms.
    """

    def __init__(
        self, cluster: Cluster, terms: TermResolver, hard_weight: int, *, ignore_existing: bool
    ) -> None:
        self._cluster = cluster
        self._terms = terms
        self._hard_weight = hard_weight
        self._ignore_existing = ignore_existing
        table = cluster.columns.table
        self._known: LruCache[Hashable, PodQuestions] = table.new_lru_cache(
            table.bounds.templates, table.bounds.match_bytes
        )
        # The labels that terms of pods on the cluster may select, as of a version.
        self._keys_read: tuple[tuple[int, ...], frozenset[str]] = ((), frozenset())
        # A decision asks twice.
        self._last: tuple[Shape, PodQuestions] | None = None

    def of(self, shape: Shape) -> PodQuestions:
        """What is asked for pods of a shape."""
        cluster = self._cluster
        version = (
            self._terms.version,
            cluster.anti_affinity.version,
            cluster.affinity.version,
            cluster.preferred.version,
        )
        if self._last is not None:
            last, known = self._last
            if last is shape and known.version == version:
                return known
        labels = self._labels_read(shape, version)
        # All that is read of a shape, and no more: it is as large as its author likes.
        key = (shape.affinity, shape.anti_affinity, shape.preferred, shape.namespace, labels)
        found = self._known.get(key)
        if found is None or found.version != version:
            found = self._made(shape, version)
            every = (*found.apart, *found.together, *found.wanted)
            sorts = sum(_SORT_BYTES + size_of(pods.key) for one in every for pods, _ in one.pods)
            self._known.put(key, found, size_of(labels) + sorts)
        self._last = shape, found
        return found

    def _labels_read(self, shape: Shape, version: tuple[int, ...]) -> LabelKey:
        """The labels that terms may select; those of a StatefulSet's pods are mostly alike."""
        then, keys = self._keys_read
        if then != version:
            cluster = self._cluster
            keys = cluster.anti_affinity.label_keys.union(
                cluster.affinity.label_keys, cluster.preferred.label_keys
            )
            self._keys_read = version, keys
        if shape.affinity:
            selectors = [one.selector for one in shape.affinity if one.selector is not None]
            keys = keys.union(*map(keys_read_by, selectors))
        return frozenset([one for one in shape.label_key if one[0] in keys])

    def _made(self, shape: Shape, version: tuple[int, ...]) -> PodQuestions:
        own = self._terms.affinity(shape)
        near = dict.fromkeys(one.term.topology_key for one in own.resolved)
        return PodQuestions(
            version,
            _by_topology_key("apart", self._apart(shape)),
            _by_topology_key("together", [(key, own.together, 1) for key in near]),
            matches_all(own.resolved, shape),
            _by_topology_key("wanted", self._wanted(shape)),
        )

    def _apart(self, shape: Shape) -> "Iterable[_Asked]":
        own = self._terms.anti_affinity(shape)
        for one, matching in zip(own.resolved, own.each, strict=True):
            yield one.term.topology_key, matching, 1
        yield from self._existing(self._cluster.anti_affinity, shape, 1)

    def _wanted(self, shape: Shape) -> "Iterable[_Asked]":
        if not shape.preferred and self._ignore_existing:
            return
        own = self._terms.preferred(shape)
        for weighted, matching in zip(shape.preferred, own.each, strict=True):
            yield weighted.term.topology_key, matching, weighted.weight
        if self._hard_weight:
            yield from self._existing(self._cluster.affinity, shape, self._hard_weight)
        yield from self._existing(self._cluster.preferred, shape)

    def _existing(
        self, terms: TermCounts, shape: Shape, weight: int | None = None
    ) -> "Iterable[_Asked]":
        """The pods on the cluster that have a term about pods of a shape."""
        labels, version = self._terms.labels_of(shape.namespace), self._terms.version
        for key in terms.matching_keys(shape, labels, version):
            found = terms.count_of(key)
            pods = PodsWithTerm(terms, key)
            yield found.term.topology_key, pods, found.weight if weight is None else weight


#: A topology key, pods and what one of them adds.
_Asked = tuple[str, PodsOfASort, int]


def _by_topology_key(what: str, asked: Iterable[_Asked]) -> tuple[DomainQuestion, ...]:
    by_key: dict[str, list[tuple[PodsOfASort, int]]] = {}
    for topology_key, pods, weight in asked:
        by_key.setdefault(topology_key, []).append((pods, weight))
    return tuple(
        DomainQuestion(
            (what, topology_key, *((one.key, weight) for one, weight in pods)), topology_key, pods
        )
        for topology_key, pods in by_key.items()
    )
