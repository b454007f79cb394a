"""How many pods are where, kept up to date as pods come and go.

Two questions are asked of the pods on the cluster, and both must cost the same with one thousand
pods or one hundred thousand:

- how many pods that match a selector are on each node (`PodCounts.matching`): topology spread and a
  pod's own affinity terms;
- how many pods with a term that matches *this* pod are on each node (`TermCounts.matching_terms`):
  the symmetry of affinity.

Pods with the same namespace and labels form a `PodLabelGroup`; a selector is asked at most once for
each group, and not for those without a label it needs. `Cluster` calls it when pods come and go.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from mooring.model.selectors import LabelSelector
from mooring.state.lru_cache import LruCache, size_of
from mooring.state.selector_index import LabelIndex, SelectorIndex, keys_read_by
from mooring.state.shapes import AffinityTerm, Shape
from mooring.state.table import GrowingColumn, SparseColumn, Table, fill

Counts = npt.NDArray[np.int32]


class PodLabelGroup:
    """Pods of one namespace with the same labels, terminating or not."""

    __slots__ = ("counts", "followers", "labels", "namespace", "terminating")

    def __init__(
        self, namespace: str, labels: Mapping[str, str], counts: SparseColumn, *, terminating: bool
    ) -> None:
        self.namespace = namespace
        self.labels = labels
        self.terminating = terminating
        self.counts = counts
        #: Who counts this group; some of them may be forgotten.
        self.followers: list[_FollowedCount] = []


GroupTest = Callable[[PodLabelGroup], bool]
#: Namespace, labels, and whether the pods are terminating.
_GroupKey = tuple[str, frozenset[tuple[str, str]], bool]


class _FollowedCount:
    """The number of pods on each node of all groups that pass a test."""

    __slots__ = ("array", "selectors", "test")

    def __init__(
        self, array: GrowingColumn, test: GroupTest, selectors: Sequence[LabelSelector]
    ) -> None:
        #: None once nobody follows it any more.
        self.array: GrowingColumn | None = array
        self.test = test
        self.selectors = selectors


class PodCounts:
    """The pods on the nodes, by group, and the numbers of pods that somebody follows."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._groups: dict[_GroupKey, PodLabelGroup] = {}
        self._by_labels: LabelIndex[PodLabelGroup] = LabelIndex()
        self._by_selector: SelectorIndex[_FollowedCount] = SelectorIndex()
        bounds = table.bounds
        self._followed: LruCache[Hashable, _FollowedCount] = table.new_lru_cache(
            bounds.selectors, bounds.key_bytes, self._unfollow
        )
        self._forgotten = 0
        self._empty = 0

    def count(self, shape: Shape, row: int, sign: int, *, terminating: bool) -> None:
        """A pod came to a node, or left it."""
        key = (shape.namespace, shape.label_key, terminating)
        group = self._groups.get(key)
        if group is None:
            group = PodLabelGroup(
                shape.namespace,
                shape.labels,
                self._table.new_sparse_column(),
                terminating=terminating,
            )
            self._groups[key] = group
            self._by_labels.add(shape.label_key, group)
            group.followers = [
                one
                for one in self._by_selector.candidates(shape.label_key)
                if one.array is not None and one.test(group)
            ]
        elif not group.counts:
            self._empty -= 1
            # Often an older version of this pod had it: nothing of that one is kept.
            del self._groups[key]
            self._groups[key] = group
            group.labels = shape.labels
        group.counts.add(row, sign)
        for one in group.followers:
            if one.array is not None:
                one.array.data[row] += sign
        if not group.counts:
            self._empty += 1
            if self._empty > self._table.bounds.empty + len(self._groups) // 2:
                self._forget_empty()

    def _forget_empty(self) -> None:
        self._groups = {key: one for key, one in self._groups.items() if one.counts}
        self._by_labels = LabelIndex()
        for (_, label_key, _), group in self._groups.items():
            self._by_labels.add(label_key, group)
        self._empty = 0

    def matching(
        self, key: Hashable, test: GroupTest, selectors: Sequence[LabelSelector] = ()
    ) -> Counts:
        """(n,) how many pods of the groups that pass a test are on each node.

        Args:
            key: equal for tests that mean the same.
            test: asked at most once for each group.
            selectors: all of them select the labels of a group that passes.
        """
        known = self._followed.get(key)
        array = known.array if known is not None else None
        if array is None:
            array = self._table.new_column(np.int32)
            candidates = self._by_labels.candidates(selectors)
            if candidates is None:
                candidates = list(self._groups.values())
            groups = [group for group in candidates if test(group)]
            fill(array.data, (group.counts for group in groups))
            followed = _FollowedCount(array, test, selectors)
            self._by_selector.add(selectors, followed)
            for group in groups:
                group.followers.append(followed)
            self._followed.put(key, followed, size_of(key))
        view: Counts = array.view
        return view

    def _unfollow(self, followed: _FollowedCount) -> None:
        followed.array = None
        self._forgotten += 1
        # To look through all groups for each of them would take seconds when many are forgotten.
        if self._forgotten >= self._table.bounds.selectors:
            self._forgotten = 0
            self._by_selector = SelectorIndex()
            for one in self._followed.values():
                self._by_selector.add(one.selectors, one)
            for group in self._groups.values():
                group.followers = [one for one in group.followers if one.array is not None]


class TermCount:
    """A term that pods on the cluster have, and how many of them are on each node."""

    __slots__ = ("counts", "term", "weight")

    def __init__(self, term: AffinityTerm, weight: int, counts: SparseColumn) -> None:
        self.term = term
        #: The weight of a preferred term, negative for anti-affinity; 0 for a required one.
        self.weight = weight
        self.counts = counts


class TermCounts:
    """The distinct terms of one kind that pods on the cluster have."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._terms: dict[Hashable, TermCount] = {}
        self._empty = 0
        self._by_selector: SelectorIndex[TermCount] = SelectorIndex()
        #: The keys of the labels that the terms read; a term that is gone may count for a while.
        self.label_keys: frozenset[str] = frozenset()
        bounds = table.bounds
        self._matching_terms: LruCache[Hashable, tuple[int, list[TermCount]]] = table.new_lru_cache(
            bounds.selectors, bounds.match_bytes
        )

    def count(self, key: Hashable, term: AffinityTerm, weight: int, row: int, sign: int) -> None:
        """A pod with this term came to a node, or left it."""
        found = self._terms.get(key)
        if found is None:
            found = self._terms[key] = TermCount(term, weight, self._table.new_sparse_column())
            self._index(found)
        elif not found.counts:
            self._empty -= 1
            # Often an older version of this pod had it: nothing of that one is kept.
            del self._terms[key]
            self._terms[key] = found
            found.term = term
        found.counts.add(row, sign)
        if not found.counts:
            self._empty += 1
            if self._empty > self._table.bounds.empty + len(self._terms) // 2:
                self._forget_empty()

    def _index(self, found: TermCount) -> None:
        selector = found.term.selector
        if selector is not None:  # else it matches nobody
            self._by_selector.add((selector,), found)
            self.label_keys = self.label_keys.union(keys_read_by(selector))

    def _forget_empty(self) -> None:
        self._terms = {key: one for key, one in self._terms.items() if one.counts}
        self._empty = 0
        self._by_selector = SelectorIndex()
        self.label_keys = frozenset()
        for one in self._terms.values():
            self._index(one)
        self._matching_terms.clear()

    def matching_terms(
        self, shape: Shape, namespace_labels: Mapping[str, str], version: int
    ) -> Iterator[TermCount]:
        """The terms that match a pod, each with where the pods are that have it.

        Args:
            shape: the pod's description.
            namespace_labels: the labels of the pod's namespace.
            version: another number after a change of namespaces.
        """
        if not self:
            return iter(())
        key = (shape.namespace, shape.label_key, version)
        seen, matching = self._matching_terms.get(key) or (0, [])
        if seen < len(self._by_selector):
            matching = matching + [
                one
                for one in self._by_selector.candidates(shape.label_key, seen)
                if one.term.matches(shape.namespace, shape.labels, namespace_labels)
            ]
            self._matching_terms.put(
                key, (len(self._by_selector), matching), size_of(key) + 8 * len(matching)
            )
        return (one for one in matching if one.counts)

    def __bool__(self) -> bool:
        return len(self._terms) > self._empty
