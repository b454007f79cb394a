from typing import Any

import msgspec
import pytest

from mooring.model.selectors import NodeAffinity
from mooring.plugins.nodes.node_selector_syntax import node_affinity_problems


def problems_of(affinity: dict[str, Any]) -> list[tuple[str, str]]:
    return list(node_affinity_problems(msgspec.convert(affinity, NodeAffinity), "a"))


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}


WHERE = "a.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[1]"


@pytest.mark.parametrize(
    ("requirement", "problem"),
    [
        (
            {"key": "x", "operator": "in"},
            ("operator", "'in' is not supported: use one of In, NotIn"),
        ),
        ({"key": "a b", "operator": "Exists"}, ("key", "'a b' is not a valid label")),
        ({"key": "x", "operator": "In"}, ("values", "In needs at least one value")),
        (
            {"key": "x", "operator": "NotIn", "values": []},
            ("values", ("NotIn needs at least one value")),
        ),
        ({"key": "x", "operator": "Exists", "values": ["1"]}, ("values", "Exists takes no values")),
        ({"key": "x", "operator": "Gt", "values": []}, ("values", "Gt takes exactly one value")),
        (
            {"key": "x", "operator": "Lt", "values": ["1", "2"]},
            ("values", ("Lt takes exactly one value")),
        ),
        ({"key": "x", "operator": "Gt", "values": ["1.5"]}, ("values[0]", "'1.5' cannot be comp")),
        ({"key": "x", "operator": "Gt", "values": [str(2**63)]}, ("values[0]", "'9223372036854")),
        # A negative number cannot be the value of a label.
        (
            {"key": "x", "operator": "Gt", "values": ["-1"]},
            ("values[0]", ("'-1' is not a valid label")),
        ),
        (
            {"key": "x", "operator": "In", "values": ["b", "a/b"]},
            ("values[1]", ("'a/b' is not a valid")),
        ),
    ],
)
def test_wrong_conditions_on_labels(requirement: dict[str, Any], problem: tuple[str, str]) -> None:
    good = {"matchExpressions": [{"key": "x", "operator": "Exists"}]}
    ((path, text),) = problems_of(required(good, {"matchExpressions": [requirement]}))
    assert path == f"{WHERE}.matchExpressions[0].{problem[0]}"
    assert text.startswith(problem[1])


@pytest.mark.parametrize(
    ("requirement", "field"),
    [
        ({"key": "metadata.name", "operator": "Exists"}, "operator"),
        ({"key": "metadata.name", "operator": "In", "values": ["a", "b"]}, "values"),
        ({"key": "metadata.name", "operator": "NotIn"}, "values"),
    ],
)
def test_wrong_conditions_on_fields(requirement: dict[str, Any], field: str) -> None:
    ((path, _),) = problems_of(required({}, {"matchFields": [requirement]}))
    assert path == f"{WHERE}.matchFields[0].{field}"


def test_good_terms() -> None:
    expressions = [
        {"key": "example.com/rack", "operator": "In", "values": ["", "r-1"]},
        {"key": "x", "operator": "NotIn", "values": ["a"]},
        {"key": "x", "operator": "DoesNotExist"},
        {"key": "x", "operator": "Gt", "values": ["00012"]},
        {"key": "x", "operator": "Lt", "values": ["9223372036854775807"]},
    ]
    name = {"key": "metadata.name", "operator": "NotIn", "values": ["n"]}
    assert problems_of(required({"matchExpressions": expressions, "matchFields": [name]})) == []
    assert problems_of({}) == []


def test_wishes_are_looked_at_if_they_have_weight() -> None:
    def wish(weight: int) -> dict[str, Any]:
        wrong = {"key": "", "operator": "Exists"}
        return {"weight": weight, "preference": {"matchExpressions": [wrong]}}

    found = problems_of({"preferredDuringSchedulingIgnoredDuringExecution": [wish(0), wish(1)]})
    assert [path for path, _ in found] == [
        "a.preferredDuringSchedulingIgnoredDuringExecution[1].matchExpressions[0].key"
    ]
