"""How many pods are where, kept up to date as pods come and go.

Two questions are asked of the pods on the cluster, and both must cost the same with one thousand
pods or one hundred thousand:

- how many pods that match a selector are on each node (`PodCounts.matching`): topology spread and a
  pod's own affinity terms;
- how many pods with a term that is about *this* pod are on each node (`TermCounts.about`): the
  symmetry of affinity.

Pods with the same namespace and labels form a `Group`; a selector is asked once for each group.
`Cluster` tells who comes and goes.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from mooring.state.growing import Growing, Table, Tally, fill
from mooring.state.recent import Recent, size_of
from mooring.state.shapes import Shape, Term

Counts = npt.NDArray[np.int32]


class Group:
    """Pods of one namespace with the same labels, terminating or not."""

    __slots__ = ("followers", "labels", "namespace", "tally", "terminating")

    def __init__(
        self, namespace: str, labels: Mapping[str, str], tally: Tally, *, terminating: bool
    ) -> None:
        self.namespace = namespace
        self.labels = labels
        self.terminating = terminating
        self.tally = tally
        #: Who counts this group; some of them may be forgotten.
        self.followers: list[_Followed] = []


Test = Callable[[Group], bool]


class _Followed:
    """The number of pods on each node of all groups that pass a test."""

    __slots__ = ("array", "test")

    def __init__(self, array: Growing, test: Test) -> None:
        #: None once nobody follows it any more.
        self.array: Growing | None = array
        self.test = test


class PodCounts:
    """The pods on the nodes, by group, and the numbers of pods that somebody follows."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._groups: dict[Hashable, Group] = {}
        bounds = table.bounds
        self._followed: Recent[Hashable, _Followed] = table.recent(
            bounds.selectors, bounds.key_bytes, self._unfollow
        )
        self._forgotten = 0
        self._empty = 0

    def count(self, shape: Shape, row: int, sign: int, *, terminating: bool) -> None:
        """A pod came to a node, or left it."""
        key = (shape.namespace, shape.label_key, terminating)
        group = self._groups.get(key)
        if group is None:
            group = Group(
                shape.namespace, shape.labels, self._table.tally(), terminating=terminating
            )
            self._groups[key] = group
            group.followers = [one for one in self._followed.values() if one.test(group)]
        elif not group.tally:
            self._empty -= 1
        group.tally.add(row, sign)
        for one in group.followers:
            if one.array is not None:
                one.array.data[row] += sign
        if not group.tally:
            self._empty += 1
            if self._empty > self._table.bounds.empty:
                self._groups = {k: one for k, one in self._groups.items() if one.tally}
                self._empty = 0

    def matching(self, key: Hashable, test: Test) -> Counts:
        """(n,) how many pods of the groups that pass a test are on each node.

        Args:
            key: equal for tests that mean the same.
            test: asked once for each group.
        """
        known = self._followed.get(key)
        array = known.array if known is not None else None
        if array is None:
            array = self._table.new(np.int32)
            groups = [group for group in self._groups.values() if test(group)]
            fill(array.data, (group.tally for group in groups))
            followed = _Followed(array, test)
            for group in groups:
                group.followers.append(followed)
            self._followed.put(key, followed, size_of(key))
        view: Counts = array.view
        return view

    def _unfollow(self, followed: _Followed) -> None:
        followed.array = None
        self._forgotten += 1
        # To look through all groups for each of them would take seconds when many are forgotten.
        if self._forgotten >= self._table.bounds.selectors:
            self._forgotten = 0
            for group in self._groups.values():
                group.followers = [one for one in group.followers if one.array is not None]


class TermCount:
    """A term that pods on the cluster have, and how many of them are on each node."""

    __slots__ = ("tally", "term", "weight")

    def __init__(self, term: Term, weight: int, tally: Tally) -> None:
        self.term = term
        #: The weight of a preferred term, negative for anti-affinity; 0 for a required one.
        self.weight = weight
        self.tally = tally


class TermCounts:
    """The distinct terms of one kind that pods on the cluster have."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._terms: dict[Hashable, TermCount] = {}
        self._list: list[TermCount] = []
        bounds = table.bounds
        self._about: Recent[Hashable, tuple[int, list[TermCount]]] = table.recent(
            bounds.selectors, bounds.match_bytes
        )

    def count(self, key: Hashable, term: Term, weight: int, row: int, sign: int) -> None:
        """A pod with this term came to a node, or left it."""
        found = self._terms.get(key)
        if found is None:
            found = self._terms[key] = TermCount(term, weight, self._table.tally())
            self._list.append(found)
        found.tally.add(row, sign)
        if not found.tally:
            del self._terms[key]
            if len(self._list) > 2 * len(self._terms) + self._table.bounds.empty:
                self.forget_matches()

    def about(
        self, shape: Shape, namespace_labels: Mapping[str, str], version: int
    ) -> Iterator[TermCount]:
        """The terms that are about a pod, each with where the pods are that have it.

        Args:
            shape: the pod's description.
            namespace_labels: the labels of the pod's namespace.
            version: another number after a change of namespaces.
        """
        if not self._terms:
            return iter(())
        key = (shape.namespace, shape.label_key, version)
        seen, matching = self._about.get(key) or (0, [])
        if seen < len(self._list):
            matching = [one for one in matching if one.tally]
            for one in self._list[seen:]:
                if one.tally and one.term.matches(shape.namespace, shape.labels, namespace_labels):
                    matching.append(one)
            self._about.put(key, (len(self._list), matching), size_of(key) + 8 * len(matching))
        return (one for one in matching if one.tally)

    def forget_matches(self) -> None:
        """Clean up the list of terms."""
        self._list = list(self._terms.values())
        self._about.clear()

    def __bool__(self) -> bool:
        return bool(self._terms)
