"""How many pods are where, kept up to date as pods come and go.

Two questions are asked of the pods on the cluster, and both must cost the same with one thousand
pods or one hundred thousand:

- how many pods that match a selector are on each node (`PodCounts.follow`): topology spread and a
  pod's own affinity terms;
- how many pods with a term that matches *this* pod are on each node (`TermCounts.matching_terms`):
  the symmetry of affinity.

Pods with the same namespace and labels form a `PodLabelGroup`; a selector is asked at most once for
each group, and not for those without a label it needs. `Cluster` calls it when pods come and go. A
fork shares groups and terms until it counts them; what is followed or remembered is its own.
"""

import copy
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from mooring.model.selectors import LabelSelector
from mooring.state.affinity_terms import AffinityTerm
from mooring.state.copy_on_write import Owner, SharedDict
from mooring.state.count_changes import CountChanges
from mooring.state.lru_cache import LruCache, size_of
from mooring.state.selector_index import LabelIndex, SelectorIndex, keys_read_by
from mooring.state.shapes import Shape
from mooring.state.table import GrowingColumn, SparseColumn, Table, fill

Counts = npt.NDArray[np.int32]
#: Namespace, labels, and whether the pods are terminating.
_GroupKey = tuple[str, frozenset[tuple[str, str]], bool]


class PodLabelGroup:
    """Pods of one namespace with the same labels, terminating or not.

    One object for as long as the group is known, in all forks. Nothing in it changes, but that
    equal labels of another pod may take the place of those that it was made with.
    """

    __slots__ = ("key", "labels", "namespace", "terminating")

    def __init__(self, key: _GroupKey, labels: Mapping[str, str]) -> None:
        self.key = key
        self.namespace, _, self.terminating = key
        self.labels = labels


GroupTest = Callable[[PodLabelGroup], bool]


class _GroupCount(SparseColumn):
    """How many pods of a group are on each node."""

    __slots__ = ("group",)

    def __init__(self, owner: Owner, group: PodLabelGroup) -> None:
        super().__init__(owner)
        self.group = group

    def _new(self, owner: Owner) -> Self:
        return type(self)(owner, self.group)


class FollowedCount:
    """The number of pods on each node of all groups that pass a test.

    Attributes:
        column: the numbers.
        changes: how they changed.
        is_counted: whether they are still counted.
        test: the test.
        selectors: all of them select the labels of a group that passes.
    """

    __slots__ = ("changes", "column", "is_counted", "selectors", "test")

    def __init__(
        self, column: GrowingColumn, test: GroupTest, selectors: Sequence[LabelSelector]
    ) -> None:
        self.column = column
        self.changes = CountChanges()
        self.is_counted = True
        self.test = test
        self.selectors = selectors

    def array(self, table: Table) -> Counts:  # noqa: ARG002 - its own
        """(n,) the numbers of pods, read-only."""
        view: Counts = self.column.view
        return view


class PodCounts:
    """The pods on the nodes, by group, and the numbers of pods that somebody follows."""

    def __init__(self, table: Table) -> None:
        self._groups: SharedDict[_GroupKey, _GroupCount] = SharedDict()
        self._by_labels: LabelIndex[PodLabelGroup] = LabelIndex(table)
        #: Those that are not in the index yet: nobody looks there until something new is followed.
        self._not_indexed: SharedDict[PodLabelGroup, None] = SharedDict()
        self._empty = 0
        self._follow_nothing(table)

    def _follow_nothing(self, table: Table) -> None:
        self._table = table
        self._by_selector: SelectorIndex[FollowedCount] = SelectorIndex(table)
        #: Who counts a group; some of them may be forgotten.
        self._followers: dict[PodLabelGroup, list[FollowedCount]] = {}
        bounds = table.bounds
        self._followed: LruCache[Hashable, FollowedCount] = table.new_lru_cache(
            bounds.selectors, bounds.key_bytes, self._unfollow
        )
        self._forgotten = 0
        #: The keys of the labels that decide who counts a group; None if any label may.
        self._keys_read: frozenset[str] | None = frozenset()
        #: Who counts groups that are alike in that: no two pods of a StatefulSet share one.
        self._alike: LruCache[Hashable, list[FollowedCount]] = table.new_lru_cache(
            bounds.selectors, bounds.match_bytes
        )

    def fork(self, table: Table) -> "PodCounts":
        """The same pods in a forked table; nothing is followed there yet."""
        forked = copy.copy(self)
        forked.separate(table)
        return forked

    def separate(self, table: Table) -> None:
        """Become independent of the counts that these are a copy of."""
        self._groups = self._groups.fork()
        self._by_labels = self._by_labels.fork(table)
        self._not_indexed = self._not_indexed.fork()
        self._follow_nothing(table)

    def count(self, shape: Shape, row: int, sign: int, *, terminating: bool) -> None:
        """A pod came to a node, or left it."""
        key = (shape.namespace, shape.label_key, terminating)
        counts = self._groups.entries.get(key)
        if counts is None:
            counts = self._add_group(key, shape)
        else:
            if counts.owner is not self._table.owner:
                counts = self._groups.writable()[key] = counts.copy(self._table.owner)
            if not counts.rows:
                self._empty -= 1
                # Often an older version of this pod had it: nothing of that one is kept.
                groups, group = self._groups.writable(), counts.group
                del groups[key]
                groups[key] = counts
                group.key, group.labels = key, shape.labels
        counts.add(row, sign)
        for one in self._followers.get(counts.group, ()):
            if one.is_counted:
                one.column.cells[row] += sign
                one.changes.append(row, sign)
        if not counts.rows:
            self._empty += 1
            if self._empty > self._table.bounds.empty + len(self._groups) // 2:
                self._forget_empty()

    def _add_group(self, key: _GroupKey, shape: Shape) -> _GroupCount:
        group = PodLabelGroup(key, shape.labels)
        counts = self._groups.writable()[key] = _GroupCount(self._table.owner, group)
        self._not_indexed.writable()[group] = None
        followers = self._followers_of(group)
        if followers:
            self._followers[group] = followers
        return counts

    def _followers_of(self, group: PodLabelGroup) -> list[FollowedCount]:
        """Who counts a group that nobody has been asked about; not to be changed."""
        if not len(self._followed):
            return []
        (namespace, labels, terminating), keys = group.key, self._keys_read
        if keys is not None:
            labels = frozenset([one for one in labels if one[0] in keys])
        alike = (namespace, labels, terminating)
        found = self._alike.get(alike)
        if found is None:
            candidates = self._by_selector.candidates(group.key[1])
            found = [one for one in candidates if one.is_counted and one.test(group)]
            self._alike.put(alike, found, size_of(alike))
        return found

    def _forget_empty(self) -> None:
        kept = {key: one for key, one in self._groups.entries.items() if one.rows}
        self._groups = SharedDict()
        self._groups.writable().update(kept)
        self._by_labels = LabelIndex(self._table)
        self._not_indexed = SharedDict()
        not_indexed = self._not_indexed.writable()
        followers, self._followers = self._followers, {}
        for counts in kept.values():
            group = counts.group
            not_indexed[group] = None
            if group in followers:
                self._followers[group] = followers[group]
        self._empty = 0

    def matching(
        self, key: Hashable, test: GroupTest, selectors: Sequence[LabelSelector] = ()
    ) -> Counts:
        """(n,) how many pods of the groups that pass a test are on each node; see `follow`."""
        return self.follow(key, test, selectors).array(self._table)

    def follow(
        self, key: Hashable, test: GroupTest, selectors: Sequence[LabelSelector] = ()
    ) -> FollowedCount:
        """The pods of the groups that pass a test, counted on each node from now on.

        Ask for it each time: it is forgotten if nobody does.

        Args:
            key: equal for tests that mean the same.
            test: asked at most once for each group. It reads the namespace, whether the pods are
                terminating, and labels, with selectors only those that they read.
            selectors: all of them select the labels of a group that passes.
        """
        followed = self._followed.get(key)
        if followed is None:
            column = self._table.new_column(np.int32)
            entries = self._groups.entries
            for group in self._not_indexed.entries:
                self._by_labels.add(group.key[1], group)
            self._not_indexed = SharedDict()
            candidates: Iterable[PodLabelGroup] | None = self._by_labels.candidates(selectors)
            if candidates is None:
                candidates = [one.group for one in entries.values()]
            groups = [group for group in candidates if test(group)]
            fill(column.data, (entries[group.key] for group in groups))
            followed = FollowedCount(column, test, selectors)
            self._by_selector.add(selectors, followed)
            for group in groups:
                self._followers[group] = [*self._followers.get(group, ()), followed]
            self._read_also(selectors)
            self._followed.put(key, followed, size_of(key))
        return followed

    def _read_also(self, selectors: Sequence[LabelSelector]) -> None:
        """Another count is followed, which goes by what these selectors read."""
        self._alike.clear()
        if not selectors:
            self._keys_read = None
        elif self._keys_read is not None:
            self._keys_read = self._keys_read.union(*map(keys_read_by, selectors))

    def _unfollow(self, followed: FollowedCount) -> None:
        followed.is_counted = False
        self._forgotten += 1
        # To look through all groups for each of them would take seconds when many are forgotten.
        if self._forgotten >= self._table.bounds.selectors:
            self._forgotten = 0
            self._by_selector = SelectorIndex(self._table)
            self._keys_read = frozenset()
            self._alike.clear()
            for one in self._followed.values():
                self._by_selector.add(one.selectors, one)
                self._read_also(one.selectors)
            for group, followers in list(self._followers.items()):
                left = [one for one in followers if one.is_counted]
                if left:
                    self._followers[group] = left
                else:
                    del self._followers[group]


class TermKey:
    """The key of a term: one object for as long as the term is known, in all forks.

    An equal key of another pod may take the place of the one that it was made with.
    """

    __slots__ = ("key",)

    def __init__(self, key: Hashable) -> None:
        self.key = key


class TermCount(SparseColumn):
    """A term that pods on the cluster have, and how many of them are on each node.

    Attributes:
        known_as: its key.
        term: the term.
        weight: that of a preferred term, negative for anti-affinity; 0 for a required one.
    """

    __slots__ = ("_changes", "known_as", "term", "weight")

    def __init__(self, owner: Owner, known_as: TermKey, term: AffinityTerm, weight: int) -> None:
        super().__init__(owner)
        self._changes: CountChanges | None = None
        self.known_as = known_as
        self.term = term
        self.weight = weight

    def _new(self, owner: Owner) -> Self:
        return type(self)(owner, self.known_as, self.term, self.weight)

    @property
    def changes(self) -> CountChanges:
        """How the numbers change from the first time on that somebody asks."""
        found = self._changes
        if found is None:
            found = self._changes = CountChanges()
        return found

    def add(self, row: int, count: int) -> None:
        """Count so many more, or fewer, in a row."""
        super().add(row, count)
        if self._changes is not None:
            self._changes.append(row, count)


class TermCounts:
    """The distinct terms of one kind that pods on the cluster have."""

    def __init__(self, table: Table) -> None:
        self._terms: SharedDict[Hashable, TermCount] = SharedDict()
        self._empty = 0
        self._by_selector: SelectorIndex[TermKey] = SelectorIndex(table)
        #: The keys of the labels that the terms read; a term that is gone may count for a while.
        self.label_keys: frozenset[str] = frozenset()
        #: Another number after another term came, or some were forgotten.
        self.version = 0
        self._remember_nothing(table)

    def _remember_nothing(self, table: Table) -> None:
        self._table = table
        bounds = table.bounds
        self._matching_terms: LruCache[Hashable, tuple[int, list[TermKey]]] = table.new_lru_cache(
            bounds.selectors, bounds.match_bytes
        )

    def fork(self, table: Table) -> "TermCounts":
        """The same terms in a forked table."""
        forked = copy.copy(self)
        forked.separate(table)
        return forked

    def separate(self, table: Table) -> None:
        """Become independent of the counts that these are a copy of."""
        self._terms = self._terms.fork()
        self._by_selector = self._by_selector.fork(table)
        self._remember_nothing(table)

    def count(self, key: Hashable, term: AffinityTerm, weight: int, row: int, sign: int) -> None:
        """A pod with this term came to a node, or left it."""
        found = self._terms.entries.get(key)
        owner = self._table.owner
        if found is None:
            found = TermCount(owner, TermKey(key), term, weight)
            self._terms.writable()[key] = found
            self._index(found)
        else:
            if found.owner is not owner:
                found = self._terms.writable()[key] = found.copy(owner)
            if not found.rows:
                self._empty -= 1
                # Often an older version of this pod had it: nothing of that one is kept.
                terms = self._terms.writable()
                del terms[key]
                terms[key] = found
                found.term, found.known_as.key = term, key
        found.add(row, sign)
        if not found.rows:
            self._empty += 1
            if self._empty > self._table.bounds.empty + len(self._terms) // 2:
                self._forget_empty()

    def _index(self, found: TermCount) -> None:
        self.version += 1
        selector = found.term.selector
        if selector is not None:  # else it matches nobody
            self._by_selector.add((selector,), found.known_as)
            self.label_keys = self.label_keys.union(keys_read_by(selector))

    def _forget_empty(self) -> None:
        kept = {key: one for key, one in self._terms.entries.items() if one.rows}
        self._terms = SharedDict()
        self._terms.writable().update(kept)
        self._empty = 0
        self.version += 1
        self._by_selector = SelectorIndex(self._table)
        self.label_keys = frozenset()
        for one in kept.values():
            self._index(one)
        self._matching_terms.clear()

    def matching_terms(
        self, shape: Shape, namespace_labels: Mapping[str, str], version: int
    ) -> Sequence[TermCount]:
        """The terms that match a pod, each with where the pods are that have it.

        Args:
            shape: the pod's description.
            namespace_labels: the labels of the pod's namespace.
            version: another number after a change of namespaces.
        """
        if not self:
            return ()
        known = self.matching_keys(shape, namespace_labels, version)
        return [found for one in known if (found := self.count_of(one)).rows]

    def count_of(self, known_as: TermKey) -> TermCount:
        """Where the pods are that have a term; the term may be forgotten with the next version."""
        return self._terms.entries[known_as.key]

    def matching_keys(
        self, shape: Shape, namespace_labels: Mapping[str, str], version: int
    ) -> Sequence[TermKey]:
        """The same terms and those that no pod has any more, until there is another version."""
        terms = self._terms.entries
        key = (shape.namespace, shape.label_key, version)
        seen, matching = self._matching_terms.get(key) or (0, [])
        if seen < len(self._by_selector):
            matching = matching + [
                one
                for one in self._by_selector.candidates(shape.label_key, seen)
                if terms[one.key].term.matches(shape.namespace, shape.labels, namespace_labels)
            ]
            self._matching_terms.put(
                key, (len(self._by_selector), matching), size_of(key) + 8 * len(matching)
            )
        return matching

    def __bool__(self) -> bool:
        return len(self._terms.entries) > self._empty
