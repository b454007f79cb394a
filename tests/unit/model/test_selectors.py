from typing import Any

import msgspec
import pytest

from mooring import InputError, LabelSelector, NodeSelector, Pod, Requirement
from mooring.model.selectors import NodeSelectorTerm
from tests.unit.model.golden import rows


def test_one_condition_holds_where_kubernetes_says_so() -> None:
    for question, labels, answer in rows("requirements"):
        got = msgspec.convert(question, Requirement).matches(labels)
        assert got is answer, f"{question} on {labels}"


def test_a_label_selector_selects_what_kubernetes_selects() -> None:
    for question, labels, answer in rows("label_selectors"):
        got = msgspec.convert(question, LabelSelector).matches(labels)
        assert got is answer, f"{question} on {labels}"


def test_a_node_selector_selects_what_kube_scheduler_selects() -> None:
    for question, labels, name, answer in rows("node_selectors"):
        got = msgspec.convert(question, NodeSelector).matches(labels, name)
        assert got is answer, f"{question} on {name} {labels}"


@pytest.mark.parametrize("digits", ["9" * 5000, "0" * 5000 + "7"])
def test_thousands_of_digits_are_compared_and_not_an_error(digits: str) -> None:
    large = Requirement(key="n", operator="Gt", values=["3"]).matches({"n": digits})
    assert large is (digits[-1] == "7")  # leading zeros count for nothing, 64 bits are the limit


@pytest.mark.parametrize("operator", ["", "in", "Equals", "gt"])
def test_an_unknown_operator_is_an_error_that_names_key_and_choice(operator: str) -> None:
    requirement = Requirement(key="zone", operator=operator, values=["a"])
    with pytest.raises(InputError) as caught:
        requirement.matches({})
    assert repr(operator) in str(caught.value)
    assert "'zone'" in str(caught.value)
    assert "In, NotIn, Exists, DoesNotExist, Gt, Lt" in str(caught.value)


def test_empty_selectors_select_all_labels_and_no_node() -> None:
    assert LabelSelector().matches({"any": "thing"})
    assert not NodeSelector().matches({}, "a")
    assert not NodeSelectorTerm().matches({}, "a")


def test_a_pods_affinity_is_read_with_all_its_parts() -> None:
    term: dict[str, Any] = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "db"}}}
    node_term = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    required, preferred = (
        f"{kind}DuringSchedulingIgnoredDuringExecution" for kind in ("required", "preferred")
    )
    affinity = {
        "nodeAffinity": {
            required: {"nodeSelectorTerms": [node_term]},
            preferred: [{"weight": 7, "preference": node_term}],
        },
        "podAffinity": {required: [term]},
        "podAntiAffinity": {preferred: [{"weight": 3, "podAffinityTerm": term}]},
    }
    found = Pod.from_dict({"spec": {"affinity": affinity}}).spec.affinity
    assert found is not None
    assert found.node_affinity is not None
    wanted = found.node_affinity.required_during_scheduling_ignored_during_execution
    assert wanted is not None
    assert wanted.matches({"disk": "ssd"}, "a")
    assert not wanted.matches({"disk": "hdd"}, "a")
    assert msgspec.to_builtins(found) == affinity
