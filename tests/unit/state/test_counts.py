"""Counts of pods: bounded, and right whatever was dropped."""

from typing import Any

from mooring import Pod
from mooring.model.selectors import LabelSelector, PodAffinityTerm
from mooring.state.affinity_terms import AffinityTerm
from mooring.state.counts import PodCounts, PodLabelGroup, TermCounts
from mooring.state.memory_bounds import BOUNDS, MemoryBounds
from mooring.state.shapes import Shape, Shapes
from mooring.state.table import Table


def table(rows: int, bounds: MemoryBounds = BOUNDS) -> Table:
    made = Table(bounds)
    for _ in range(rows):
        made.append()
    return made


def shape(app: str, namespace: str = "default", spec: dict[str, Any] | None = None) -> Shape:
    meta = {"name": "p", "namespace": namespace, "labels": {"app": app}}
    return Shapes().of(Pod.from_dict({"metadata": meta, "spec": spec or {}}))


def of_app(app: str) -> Any:
    return lambda group: group.labels["app"] == app


def test_pods_are_counted_by_selector() -> None:
    counts = PodCounts(table(3))
    counts.count(shape("web"), 0, 1, terminating=False)
    assert counts.matching("web", of_app("web")).tolist() == [1, 0, 0]
    counts.count(shape("web", "other"), 2, 1, terminating=True)
    counts.count(shape("db"), 1, 1, terminating=False)
    assert counts.matching("web", of_app("web")).tolist() == [1, 0, 1]
    counts.count(shape("web"), 0, -1, terminating=False)
    assert counts.matching("web", of_app("web")).tolist() == [0, 0, 1]


def test_a_selector_that_was_dropped_is_counted_anew() -> None:
    counts = PodCounts(table(1, MemoryBounds(selectors=2)))
    for app in ("a", "b", "c", "d"):
        counts.count(shape(app), 0, 1, terminating=False)
        assert counts.matching(app, of_app(app)).tolist() == [1]
    counts.count(shape("a"), 0, 1, terminating=False)
    assert counts.matching("a", of_app("a")).tolist() == [2]
    assert len(counts._followed) == 2


def test_empty_groups_are_cleaned_away() -> None:
    counts = PodCounts(table(1, MemoryBounds(empty=3)))
    for number in range(20):
        counts.count(shape(f"a{number}"), 0, 1, terminating=False)
        counts.count(shape(f"a{number}"), 0, -1, terminating=False)
    assert len(counts._groups) <= 8


def test_a_group_is_asked_once() -> None:
    asked: list[PodLabelGroup] = []
    counts = PodCounts(table(1))

    def test(group: PodLabelGroup) -> bool:
        asked.append(group)
        return True

    counts.matching("all", test)
    for _ in range(5):
        counts.count(shape("web"), 0, 1, terminating=False)
    assert len(asked) == 1
    assert counts.matching("all", test).tolist() == [5]


def test_groups_without_a_label_that_is_needed_are_not_asked() -> None:
    asked: list[str] = []
    counts = PodCounts(table(1))
    for number in range(20):
        counts.count(shape(f"a{number}"), 0, 1, terminating=False)

    def test(group: PodLabelGroup) -> bool:
        asked.append(group.labels["app"])
        return True

    selector = LabelSelector(match_labels={"app": "a7"})
    assert counts.matching("a7", test, (selector,)).tolist() == [1]
    counts.count(shape("another"), 0, 1, terminating=False)
    counts.count(shape("a7", "elsewhere"), 0, 1, terminating=False)
    assert asked == ["a7", "a7"]
    assert counts.matching("a7", test, (selector,)).tolist() == [2]


def labelled(labels: dict[str, str]) -> Shape:
    return Shapes().of(Pod.from_dict({"metadata": {"name": "p", "labels": labels}}))


def test_groups_that_differ_in_labels_that_nobody_reads_are_not_asked() -> None:
    """As those of a StatefulSet's pods."""
    counts = PodCounts(table(1))
    asked: list[str] = []

    def follow(key: str, value: str) -> list[int]:
        selector = LabelSelector(match_labels={key: value})

        def test(group: PodLabelGroup) -> bool:
            asked.append(group.labels["index"])
            return selector.matches(group.labels)

        found: list[int] = counts.matching((key, value), test, (selector,)).tolist()
        return found

    def come(*indexes: int) -> None:
        for index in indexes:
            counts.count(labelled({"app": "db", "index": str(index)}), 0, 1, terminating=False)

    assert follow("app", "db") == [0]
    come(0, 1, 2)
    assert asked == ["0"]
    assert follow("app", "db") == [3]
    assert follow("index", "1") == [1]
    del asked[:]
    come(3, 4)  # now the index is read
    assert asked == ["3", "4"]
    come(1)
    assert (follow("app", "db"), follow("index", "1")) == ([6], [2])
    counts.count(labelled({"app": "web", "index": "1"}), 0, 1, terminating=False)
    assert (follow("app", "db"), follow("index", "1")) == ([6], [3])


def with_term(app: str) -> Shape:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": app}}}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return shape("x", spec={"affinity": {"podAntiAffinity": required}})


def test_terms_are_found_for_the_pods_they_are_about() -> None:
    counts = TermCounts(table(2, MemoryBounds(empty=2)))
    terms = {app: with_term(app).anti_affinity[0] for app in "abcdef"}
    for app, term in terms.items():
        counts.count(term.key, term, 0, 0, 1)
        assert [one.term for one in counts.matching_terms(shape(app), {}, 0)] == [term]
    for term in terms.values():
        counts.count(term.key, term, 0, 0, -1)
    assert not counts
    assert list(counts.matching_terms(shape("a"), {}, 0)) == []
    counts.count(terms["a"].key, terms["a"], 0, 1, 1)
    found = list(counts.matching_terms(shape("a"), {}, 0))
    assert [one.rows for one in found] == [{1: 1}]
    assert list(counts.matching_terms(shape("a", "elsewhere"), {}, 0)) == []


def test_a_term_that_comes_back_is_found_again() -> None:
    counts = TermCounts(table(2))
    first, other = (with_term(app).anti_affinity[0] for app in "ab")
    for sign in (1, -1):
        counts.count(first.key, first, 0, 0, sign)
    counts.count(other.key, other, 0, 0, 1)
    assert list(counts.matching_terms(shape("a"), {}, 0)) == []
    counts.count(first.key, first, 0, 1, 1)
    found = list(counts.matching_terms(shape("a"), {}, 0))
    assert [one.rows for one in found] == [{1: 1}]


def test_of_a_new_version_of_a_pod_the_term_is_kept_and_not_the_old_one() -> None:
    counts = TermCounts(table(1))
    term = PodAffinityTerm(
        topology_key="zone", label_selector=LabelSelector(match_labels={"app": "a"})
    )
    old, new = AffinityTerm(term, "default"), AffinityTerm(term, "default")
    counts.count(old.key, old, 0, 0, 1)
    counts.count(old.key, old, 0, 0, -1)
    counts.count(new.key, new, 0, 0, 1)
    assert [one.term for one in counts.matching_terms(shape("a"), {}, 0)] == [new]
    assert next(iter(counts._terms.entries)) is new.key
    assert [one.key for one in counts._by_selector.candidates([("app", "a")])] == [new.key]


def test_a_term_may_select_namespaces_by_their_labels() -> None:
    term = {"topologyKey": "zone", "labelSelector": {},
            "namespaceSelector": {"matchLabels": {"team": "red"}}}  # fmt: skip
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    compiled = shape("x", spec={"affinity": {"podAffinity": required}}).affinity[0]
    counts = TermCounts(table(1))
    counts.count(compiled.key, compiled, 0, 0, 1)
    assert list(counts.matching_terms(shape("y", "far"), {}, 0)) == []
    assert len(list(counts.matching_terms(shape("y", "far"), {"team": "red"}, 1))) == 1


def test_selectors_are_forgotten_together_and_leave_nothing_behind() -> None:
    rows = table(2, MemoryBounds(selectors=3))
    counts = PodCounts(rows)
    for app in ("web", "db", "mail"):
        counts.count(shape(app), 0, 1, terminating=False)
        counts.matching(app, lambda _: True)
    assert [len(one) for one in counts._followers.values()] == [3, 3, 3]
    rows.forget_unused()
    rows.forget_unused()
    assert counts._followers == {}
    counts.count(shape("web"), 1, 1, terminating=False)
    assert counts.matching("web", lambda _: True).tolist() == [3, 1]
