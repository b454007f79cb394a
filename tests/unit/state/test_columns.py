"""Nodes as rows: masks, images, ports, memory of what was computed, changed rows."""

from typing import Any

import pytest

from mooring import Node, NodeSelector, Requirement
from mooring.model.selectors import NodeSelectorTerm
from mooring.state import node_labels
from mooring.state.aspects import Aspect
from mooring.state.columns import Columns
from mooring.state.usage import NodeUsage


def node(name: str, labels: dict[str, str] | None = None, **status: Any) -> Node:
    return Node.from_dict({"metadata": {"name": name, "labels": labels or {}}, "status": status})


def columns_of(*nodes: Node) -> Columns:
    made = Columns()
    for one in nodes:
        made.put(one, NodeUsage())
    return made


ZONES = columns_of(
    node("a", {"zone": "east", "size": "4"}), node("b", {"zone": "west"}), node("c", {"size": "x"})
)


@pytest.mark.parametrize(
    ("operator", "values", "expected"),
    [
        ("In", ["east"], [True, False, False]),
        ("NotIn", ["east"], [False, True, True]),
        ("Exists", [], [True, True, False]),
        ("DoesNotExist", [], [False, False, True]),
    ],
)
def test_a_condition_on_a_label(operator: str, values: list[str], expected: list[bool]) -> None:
    requirement = Requirement(key="zone", operator=operator, values=values)
    assert ZONES.requirement_mask(requirement).tolist() == expected


def test_numbers_are_compared() -> None:
    more = Requirement(key="size", operator="Gt", values=["3"])
    assert ZONES.requirement_mask(more).tolist() == [True, False, False]


def test_a_selector_is_any_of_its_terms_and_a_term_all_of_its_conditions() -> None:
    east = Requirement(key="zone", operator="In", values=["east"])
    sized = Requirement(key="size", operator="Exists")
    named = Requirement(key="metadata.name", operator="In", values=["c"])
    both = NodeSelectorTerm(match_expressions=[east, sized])
    this = NodeSelectorTerm(match_fields=[named])
    selector = NodeSelector(node_selector_terms=[both, this])
    assert ZONES.term_mask(both).tolist() == [True, False, False]
    assert ZONES.selector_mask(selector).tolist() == [True, False, True]
    assert ZONES.term_mask(NodeSelectorTerm()).tolist() == [False, False, False]


def test_an_image_has_the_size_it_had_on_its_first_node() -> None:
    images = [{"names": ["app:1", "app@sha"], "sizeBytes": 10}]
    other = [{"names": ["app:1"], "sizeBytes": 99}]
    columns = columns_of(node("a", images=images), node("b", images=other), node("c"))
    found = columns.image("app:1")
    assert found is not None
    assert (found.size, found.spread, found.mask.tolist()) == (10, 2, [True, True, False])
    columns.remove("a")
    found = columns.image("app:1")
    assert found is not None
    assert (found.size, found.spread) == (10, 1)
    assert columns.image("app@sha") is None
    columns.put(node("b", images=[{"names": ["app:1"], "sizeBytes": 7}]), NodeUsage())
    found = columns.image("app:1")
    assert found is not None
    assert found.size == 7


def test_the_last_node_takes_the_row_of_one_that_goes() -> None:
    columns = columns_of(*(node(name, {"zone": name}) for name in "abcd"))
    zones = columns.labels("zone")
    columns.remove("b")
    assert columns.names == ["a", "d", "c"]
    assert [zones.values[place] for place in zones.ids.tolist()] == ["a", "d", "c"]
    assert columns.row_of == {"a": 0, "d": 1, "c": 2}


def test_many_nodes_fit() -> None:
    columns = columns_of(*(node(f"n{i}", {"zone": f"z{i}"}) for i in range(100)))
    assert len(columns.labels("zone").values) == 101
    assert len(columns.used("cpu")) == 100


def test_columns_cannot_be_written_by_a_reader() -> None:
    with pytest.raises(ValueError, match="read-only"):
        ZONES.used("cpu")[0] = 1


class Computing:
    """Counts how often something is worked out."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> int:
        self.times += 1
        return self.times


def test_what_was_computed_is_remembered_until_its_aspect_changes() -> None:
    columns, compute = columns_of(node("a")), Computing()
    zones = Aspect.LABELS
    assert [columns.remember("x", compute, zones), columns.remember("x", compute, zones)] == [1, 1]
    columns.put(node("a"), NodeUsage())  # a heartbeat: nothing that is read has changed
    assert columns.remember("x", compute, zones) == 1
    columns.put(node("a", images=[{"names": ["app:1"]}]), NodeUsage())
    assert columns.remember("x", compute, zones) == 1
    columns.put(node("a", {"zone": "west"}), NodeUsage())
    assert columns.remember("x", compute, zones) == 2
    columns.put(node("b"), NodeUsage())
    assert columns.remember("x", compute, zones) == 3
    columns.remove("a")
    assert columns.remember("x", compute, zones) == 4


CHANGES: dict[Aspect, dict[str, Any]] = {
    Aspect.LABELS: {"metadata": {"name": "a", "labels": {"zone": "west"}}},
    Aspect.TAINTS: {"spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}},
    Aspect.IMAGES: {"status": {"images": [{"names": ["app:1"]}]}},
    Aspect.ALLOCATABLE: {"status": {"allocatable": {"cpu": "1"}}},
    Aspect.DECLARED_FEATURES: {"status": {"declaredFeatures": ["A"]}},
}


@pytest.mark.parametrize("changed", CHANGES)
def test_a_change_of_one_aspect_leaves_the_others_alone(changed: Aspect) -> None:
    plain: dict[str, Any] = {"metadata": {"name": "a"}}
    columns = columns_of(Node.from_dict(plain))
    computing = {aspect: Computing() for aspect in Aspect}
    before = {aspect: columns.version(aspect) for aspect in Aspect}
    rows = columns.version()

    def ask() -> dict[Aspect, int]:
        return {one: columns.remember(one, compute, one) for one, compute in computing.items()}

    assert set(ask().values()) == {1}
    columns.put(Node.from_dict({**plain, **CHANGES[changed]}), NodeUsage())
    assert ask() == {aspect: 2 if aspect is changed else 1 for aspect in Aspect}
    assert {one for one in Aspect if columns.version(one) != before[one]} == {changed}
    assert columns.version() == rows
    assert columns.version(*Aspect) != max(before.values())


def test_a_node_that_is_cordoned_has_other_taints() -> None:
    columns = columns_of(node("a"))
    before = columns.version(Aspect.TAINTS)
    cordoned = {"metadata": {"name": "a"}, "spec": {"unschedulable": True}}
    columns.put(Node.from_dict(cordoned), NodeUsage())
    assert columns.version(Aspect.TAINTS) != before
    assert columns.unschedulable.tolist() == [True]


def test_values_that_no_node_has_any_more_are_cleaned_away() -> None:
    columns = columns_of(node("a", {"host": "0"}))
    before = columns.labels("host")
    for number in range(node_labels.STALE_VALUES + 10):
        columns.put(node("a", {"host": str(number)}), NodeUsage())
    after = columns.labels("host")
    assert after is not before
    assert [after.values[place] for place in after.ids.tolist()] == [
        str(node_labels.STALE_VALUES + 9)
    ]


def test_a_row_that_changes_has_the_newest_generation() -> None:
    columns = columns_of(*(node(name) for name in "abc"))
    columns.touch(2)
    columns.touch(0)
    assert columns.generation.argsort().tolist() == [1, 2, 0]
    columns.put(node("b"), NodeUsage())  # a heartbeat, too: policies may read more of a node
    assert columns.generation.argmax() == 1


def test_a_port_on_all_addresses_conflicts_with_every_address() -> None:
    columns = columns_of(node("a"), node("b"))
    columns.count_port(0, ("10.0.0.1", "TCP", 80), 1)
    columns.count_port(1, ("0.0.0.0", "TCP", 80), 1)  # noqa: S104
    assert columns.port_mask("10.0.0.1", "TCP", 80).tolist() == [True, True]
    assert columns.port_mask("10.0.0.2", "TCP", 80).tolist() == [False, True]
    assert columns.port_mask("0.0.0.0", "TCP", 80).tolist() == [True, True]  # noqa: S104
    assert columns.port_mask("10.0.0.1", "UDP", 80).tolist() == [False, False]
    columns.count_port(0, ("10.0.0.1", "TCP", 80), -1)
    columns.count_port(1, ("0.0.0.0", "TCP", 80), -1)  # noqa: S104
    assert columns.port_mask("10.0.0.1", "TCP", 80).tolist() == [False, False]
