"""Counts are those of the pods that are there, whatever came, went, came back and was forgotten.

Pods and terms come and go; now and then somebody asks, and the answer is compared with a count by
hand. Few different ones and low limits make sure that most things are forgotten and come back.
"""

from collections import Counter
from random import Random

import pytest

from mooring import Pod
from mooring.model.selectors import LabelSelector, PodAffinityTerm, Requirement
from mooring.state.affinity_terms import AffinityTerm
from mooring.state.counts import PodCounts, PodLabelGroup, TermCounts
from mooring.state.memory_bounds import MemoryBounds
from mooring.state.shapes import Shape, Shapes
from mooring.state.table import Table

ROWS = 3
NAMESPACES = ("red", "blue")
OPERATORS = ("In", "In", "NotIn", "Exists", "DoesNotExist")


class History:
    """What happens on three nodes, by seed."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.table = Table(
            MemoryBounds(
                selectors=random.choice((1, 2, 100)),
                empty=random.choice((0, 1, 100)),
                match_bytes=random.choice((1, 500, 10**7)),
                array_share=random.choice((0, 1, 128)),
            )
        )
        for _ in range(ROWS):
            self.table.append()
        self.pod_counts, self.term_counts = PodCounts(self.table), TermCounts(self.table)
        self.shapes = [self.shape() for _ in range(6)]
        self.selectors = [self.selector() for _ in range(6)]
        self.sources = [self.source() for _ in range(6)]
        self.pods: list[tuple[Shape, int, bool]] = []
        self.terms: list[tuple[AffinityTerm, int]] = []
        self.namespaces: dict[str, dict[str, str]] = {name: {} for name in NAMESPACES}
        self.version = 0

    def labels(self) -> dict[str, str]:
        return {key: self.random.choice("xyz") for key in "abc" if self.random.random() < 0.6}

    def shape(self) -> Shape:
        meta = {
            "name": "p", "namespace": self.random.choice(NAMESPACES), "labels": self.labels(),
        }  # fmt: skip
        return Shapes().of(Pod.from_dict({"metadata": meta, "spec": {}}))

    def selector(self) -> LabelSelector:
        random = self.random
        expressions = [
            Requirement(
                key=random.choice("abc"),
                operator=random.choice(OPERATORS),
                values=random.choices("xyz", k=random.randint(0, 3)),
            )
            for _ in range(random.choice((0, 0, 1, 2)))
        ]
        return LabelSelector(match_labels=self.labels(), match_expressions=expressions)

    def source(self) -> PodAffinityTerm:
        random = self.random
        return PodAffinityTerm(
            topology_key="zone",
            label_selector=self.selector() if random.random() < 0.9 else None,
            namespaces=random.choice((None, ["red"])),
            namespace_selector=self.selector() if random.random() < 0.3 else None,
        )

    def step(self) -> None:
        random = self.random
        steps = (
            self.pod_comes, self.pod_goes, self.term_comes, self.term_goes, self.ask_pods,
            self.ask_terms,
        )  # fmt: skip
        if random.random() < 0.05:
            random.choice((self.table.forget_unused, self.namespace_changes))()
        else:
            random.choice(steps)()

    def pod_comes(self) -> None:
        new = self.random.random() < 0.3
        shape = self.shape() if new else self.random.choice(self.shapes)
        row, terminating = self.random.randrange(ROWS), self.random.random() < 0.3
        self.pods.append((shape, row, terminating))
        self.pod_counts.count(shape, row, 1, terminating=terminating)

    def pod_goes(self) -> None:
        if self.pods:
            shape, row, terminating = self.pods.pop(self.random.randrange(len(self.pods)))
            self.pod_counts.count(shape, row, -1, terminating=terminating)

    def term_comes(self) -> None:
        new = self.random.random() < 0.3
        source = self.source() if new else self.random.choice(self.sources)
        term, row = (
            AffinityTerm(source, self.random.choice(NAMESPACES)),
            self.random.randrange(ROWS),
        )
        self.terms.append((term, row))
        self.term_counts.count(term.key, term, 0, row, 1)

    def term_goes(self) -> None:
        if self.terms:
            term, row = self.terms.pop(self.random.randrange(len(self.terms)))
            self.term_counts.count(term.key, term, 0, row, -1)

    def namespace_changes(self) -> None:
        self.namespaces[self.random.choice(NAMESPACES)] = self.labels()
        self.version += 1

    def ask_pods(self) -> None:
        selectors = self.random.choices(self.selectors, k=self.random.choice((0, 1, 1, 2)))
        namespace = self.random.choice(NAMESPACES)

        def test(group: PodLabelGroup) -> bool:
            return group.namespace == namespace and all(
                one.matches(group.labels) for one in selectors
            )

        key = (namespace, *map(repr, selectors))
        found = self.pod_counts.matching(key, test, selectors).tolist()
        matching = Counter(
            row
            for shape, row, _ in self.pods
            if shape.namespace == namespace and all(one.matches(shape.labels) for one in selectors)
        )
        assert found == [matching[row] for row in range(ROWS)]

    def ask_terms(self) -> None:
        shape = self.random.choice(self.shapes)
        labels = self.namespaces[shape.namespace]
        found = [
            ((one.term.key, row), count)
            for one in self.term_counts.matching_terms(shape, labels, self.version)
            for row, count in one.rows.items()
        ]
        expected = Counter(
            (term.key, row)
            for term, row in self.terms
            if term.matches(shape.namespace, shape.labels, labels)
        )
        assert sorted(map(repr, found)) == sorted(map(repr, expected.items()))
        assert bool(self.term_counts) == bool(self.terms)


@pytest.mark.parametrize("first", range(0, 600, 100))
def test_counts_are_those_of_the_pods_that_are_there(first: int) -> None:
    for seed in range(first, first + 100):
        history = History(seed)
        for _ in range(100):
            history.step()
