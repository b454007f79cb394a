"""What a filter may return, for one node and for all at once, and what becomes of it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import mooring as mr
from mooring.framework.foreign import Interruption
from mooring.framework.policy_calls import reject_nodes
from mooring.framework.rules import FilterRule
from mooring.testing import make_node, make_pod

NODES = [make_node(name) for name in ("a", "b", "c")]
POD = make_pod()


def rejected(rule: FilterRule, nodes: Sequence[mr.Node] = NODES) -> dict[int, mr.Verdict]:
    return dict(rule.rejections(POD, nodes))


def single(answer: object, **options: Any) -> FilterRule:
    """A filter that gives this answer for the second node and accepts the others."""
    return FilterRule(
        kind="filter",
        name="quay",
        function=lambda _pod, node: answer if node.name == "b" else True,
        **options,
    )


def plural(answers: object, **options: Any) -> FilterRule:
    return FilterRule(
        kind="filter_nodes", name="quay", function=lambda _pod, _nodes: answers, **options
    )


def wrong(rule: FilterRule) -> mr.PolicyError:
    with pytest.raises(mr.PolicyError) as caught:
        rejected(rule)
    assert caught.value.function == "quay"
    return caught.value


YES: list[object] = [True, None, np.True_, mr.accept(), mr.Verdict(accepted=True, reason="x")]
NO: list[tuple[object, str, bool]] = [
    (False, "rejected by quay", False),
    (np.False_, "rejected by quay", False),
    ("no room", "no room", False),
    ("", "rejected by quay", False),
    (mr.reject("too far"), "too far", False),
    (mr.reject("too far", unresolvable=True), "too far", True),
    (mr.reject(""), "rejected by quay", False),
]


class MutePolicyError(mr.PolicyError):
    def __str__(self) -> str:
        raise KeyError("code")


class Answers(Sequence[bool]):
    """Fails, with an error of mooring's kind, when it is looked at."""

    def __len__(self) -> int:
        raise MutePolicyError("no", function="quay")

    def __getitem__(self, index: object) -> Any:
        raise IndexError


def test_an_answer_that_fails_with_an_error_of_our_kind() -> None:
    error = wrong(plural(Answers()))
    assert type(error) is mr.PolicyError
    assert str(error) == "filter_nodes 'quay' failed: a MutePolicyError"


@pytest.mark.parametrize("answer", YES)
def test_a_yes_accepts(answer: object) -> None:
    assert rejected(single(answer)) == {}
    assert rejected(plural([answer] * 3)) == {}


@pytest.mark.parametrize(("answer", "reason", "unresolvable"), NO)
def test_a_no_rejects_with_its_reason(answer: object, reason: str, unresolvable: bool) -> None:
    verdict = mr.Verdict(accepted=False, reason=reason, unresolvable=unresolvable)
    assert rejected(single(answer)) == {1: verdict}
    assert rejected(plural([True, answer, None])) == {1: verdict}


@pytest.mark.parametrize("answer", [False, np.False_, "", mr.reject("")])
def test_a_bare_no_has_the_reason_given_at_registration(answer: object) -> None:
    verdict = mr.reject("wrong pier")
    assert rejected(single(answer, reason="wrong pier")) == {1: verdict}
    assert rejected(plural([True, answer, True], reason="wrong pier")) == {1: verdict}


@pytest.mark.parametrize(("answer", "reason", "unresolvable"), NO)
def test_every_rejection_of_an_unresolvable_filter_is_unresolvable(
    answer: object, reason: str, unresolvable: bool
) -> None:
    expected = {1: mr.reject(reason, unresolvable=True)}
    assert rejected(single(answer, unresolvable=True)) == expected
    assert rejected(plural([None, answer, None], unresolvable=True)) == expected


def test_a_mask_accepts_where_it_is_true() -> None:
    rule = plural(np.array([True, False, False]), reason="full", unresolvable=True)
    verdict = mr.reject("full", unresolvable=True)
    assert rejected(rule) == {1: verdict, 2: verdict}
    assert rejected(plural(np.array([True, True, True]))) == {}
    assert all(type(index) is int for index in rejected(rule))


def test_a_tuple_of_answers_is_as_good_as_a_list() -> None:
    assert list(rejected(plural((False, True, "x")))) == [0, 2]


def test_no_nodes_need_no_answers() -> None:
    assert rejected(plural([]), []) == {}
    assert rejected(plural(np.array([], dtype=bool)), []) == {}
    assert rejected(single(False), []) == {}


@pytest.mark.parametrize("answer", [1, 0, 0.5, [], {}, object(), b"no"])
def test_anything_else_is_an_error_that_names_function_and_node(answer: object) -> None:
    one = wrong(single(answer))
    assert one.node == "b"
    assert str(one).startswith(f"filter 'quay' returned {answer!r} for node b; it must return ")
    all_at_once = wrong(plural([True, answer, True]))
    assert all_at_once.node == "b"
    assert str(all_at_once).startswith("filter_nodes 'quay' returned ")


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        (np.array([1, 0, 1]), "an array of shape (3,) and type int64"),
        (np.array([True, False]), "an array of shape (2,) and type bool"),
        (np.array([[True, False, True]]), "an array of shape (1, 3) and type bool"),
        (np.array(True), "an array of shape () and type bool"),
        ([True, True], "2 answers for 3 nodes"),
        ([True] * 4, "4 answers for 3 nodes"),
        ("yes", "'yes'; it must return a mask, one answer for each node, or None"),
        (True, "True; it must return a mask"),
        ({"a": True}, "{'a': True}; it must return a mask"),
    ],
)
def test_answers_of_the_wrong_shape_or_type_are_an_error(answers: object, sentence: str) -> None:
    error = wrong(plural(answers))
    assert str(error).startswith(f"filter_nodes 'quay' returned {sentence}")
    assert error.node is None


def test_a_long_answer_is_cut_in_the_error() -> None:
    assert len(str(wrong(single(["x" * 10_000])))) < 250


def test_an_exception_is_an_error_that_names_function_and_node() -> None:
    def break_on_b(_pod: mr.Pod, node: mr.Node) -> bool:
        if node.name == "b":
            raise KeyError("disktype")
        return True

    error = wrong(FilterRule(kind="filter", name="quay", function=break_on_b))
    assert str(error) == "filter 'quay' failed on node b: KeyError: 'disktype'"
    assert error.node == "b"
    assert isinstance(error.__cause__, KeyError)


def test_even_the_exception_that_ends_iterations_is_an_error() -> None:
    def first_image(_pod: mr.Pod, node: mr.Node) -> bool:
        return node.name == "a" or next(iter(node.images)) == "app:1"

    error = wrong(FilterRule(kind="filter", name="quay", function=first_image))
    assert str(error) == "filter 'quay' failed on node b: StopIteration"


def test_an_exception_about_all_nodes_names_the_function() -> None:
    def break_down(_pod: mr.Pod, _nodes: mr.Nodes) -> mr.Mask:
        raise ZeroDivisionError("division by zero")

    error = wrong(FilterRule(kind="filter_nodes", name="quay", function=break_down))
    assert str(error) == "filter_nodes 'quay' failed: ZeroDivisionError: division by zero"
    assert error.node is None


def test_moorings_own_errors_are_told_as_they_are() -> None:
    def read_usage(_pod: mr.Pod, node: mr.Node) -> bool:
        return node.free["cpu"] > 0

    error = wrong(FilterRule(kind="filter", name="quay", function=read_usage))
    assert str(error).startswith("filter 'quay' failed on node a: node.used, node.free and ")
    assert isinstance(error.__cause__, mr.NotAvailable)


def test_a_plural_filter_gets_nodes_with_columns() -> None:
    seen: list[mr.Nodes] = []

    def look(_pod: mr.Pod, nodes: mr.Nodes) -> mr.Mask:
        seen.append(nodes)
        return nodes.allocatable["cpu"] > 0

    rule = FilterRule(kind="filter_nodes", name="look", function=look)
    assert rejected(rule) == {}
    assert seen[0].names == ["a", "b", "c"]
    nodes = mr.Nodes(NODES)
    assert rejected(rule, nodes) == {}
    assert seen[1] is nodes  # columns made by one rule serve the next


def test_every_filter_is_asked_about_every_node() -> None:
    rules = [single(False), plural([False, False, True])]
    answers = reject_nodes(rules, POD, NODES)
    assert [(rule, [index for index, _ in found]) for rule, found in answers] == [
        (rules[0], [1]),
        (rules[1], [0, 1]),
    ]
    assert reject_nodes([], POD, NODES) == []


def test_one_that_is_slow_is_told_how_far_it_came() -> None:
    """Each call returned at once: the limit is for the whole decision."""

    def quay(_pod: mr.Pod, node: mr.Node) -> bool:
        if node.name == "b":
            raise Interruption("it was interrupted because the decision took longer than 4 seconds")
        return True

    rule = FilterRule(kind="filter", name="quay", function=quay)
    late = "filter 'quay' was interrupted on node b: the decision took longer than 4 seconds"
    error = wrong(rule)
    assert str(error) == f"{late} (it was called for 2 of 3 nodes)"
    assert error.node == "b"
    with pytest.raises(mr.PolicyError, match=f"^{late}$"):
        rejected(rule, NODES[1:2])
