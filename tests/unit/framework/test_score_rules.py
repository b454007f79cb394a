"""What a score may return, for one node and for all at once, and what becomes of it."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mooring as mr
from mooring.framework.policy_calls import score_nodes
from mooring.framework.rules import ScoreRule
from mooring.testing import make_node, make_pod

NODES = [make_node(name) for name in ("a", "b", "c")]
POD = make_pod()
BEYOND_FLOATS = 10**400


def single(values: Sequence[object], **options: Any) -> ScoreRule:
    by_name = dict(zip("abc", values, strict=True))
    return ScoreRule(
        kind="score", name="keel", function=lambda _pod, node: by_name[node.name], **options
    )


def plural(values: object, **options: Any) -> ScoreRule:
    return ScoreRule(
        kind="score_nodes", name="keel", function=lambda _pod, _nodes: values, **options
    )


def wrong(rule: ScoreRule) -> mr.PolicyError:
    with pytest.raises(mr.PolicyError) as caught:
        rule.scores(POD, NODES)
    assert caught.value.function == "keel"
    assert str(caught.value).startswith(f"{rule.kind} 'keel' ")
    return caught.value


@pytest.mark.parametrize(
    "values",
    [
        [0, 50, 100],
        [0.0, 50.0, 100.0],
        [np.float64(0), np.int32(50), np.float32(100)],
        [np.uint8(0), np.float16(50), np.int16(100)],
        [False, 50, np.int64(100)],
    ],
)
def test_numbers_of_any_kind_are_scores(values: list[Any]) -> None:
    for rule in (single(values), plural(values), plural(tuple(values))):
        scores = rule.scores(POD, NODES)
        assert scores.tolist() == [0, 50, 100]
        assert scores.dtype == np.float64


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
def test_arrays_of_numbers_are_scores(dtype: type[np.generic]) -> None:
    assert plural(np.array([0, 50, 100], dtype=dtype)).scores(POD, NODES).tolist() == [0, 50, 100]


def test_an_array_of_truth_values_is_scores_of_zero_and_one() -> None:
    mask = np.array([True, False, True])
    assert plural(mask, max_score=1).scores(POD, NODES).tolist() == [100, 0, 100]


@pytest.mark.parametrize(
    ("best", "values"), [(10, [0, 5, 10]), (1, [0, 0.5, 1]), (1e6, [0, 5e5, 1e6])]
)
def test_scores_are_scaled_to_one_hundred(best: float, values: list[float]) -> None:
    for rule in (single(values, max_score=best), plural(values, max_score=best)):
        assert rule.scores(POD, NODES) == pytest.approx([0, 50, 100])


def test_no_nodes_have_no_scores() -> None:
    assert plural([]).scores(POD, []).shape == (0,)
    assert single([1, 2, 3]).scores(POD, []).shape == (0,)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (-1, "-1"), (101, "101"), (100.1, "100.1"), (float("nan"), "nan"), (float("inf"), "inf"),
        (np.float64(-0.5), "-0.5"), (np.int64(200), "200"), (None, "None"), ("7", "'7'"),
        ([7], "[7]"), (Decimal(7), "Decimal('7')"), (1j, "1j"),
    ],
)  # fmt: skip
def test_an_illegal_score_is_an_error_that_names_function_and_node(
    value: object, shown: str
) -> None:
    for rule in (single([1, value, 2]), plural([1, value, 2])):
        error = wrong(rule)
        assert f"returned {shown} for node b; it must return a number from 0 to 100" in str(error)
        assert error.node == "b"


def test_the_range_is_the_one_given_at_registration() -> None:
    error = wrong(single([0, 11, 0], max_score=10))
    assert "returned 11 for node b; it must return a number from 0 to 10" in str(error)
    assert "for node c" in str(wrong(plural(np.array([0, 1, 1.5]), max_score=1)))


def test_a_number_beyond_all_floats_is_an_error_too() -> None:
    error = wrong(single([0, BEYOND_FLOATS, 0]))
    assert "returned a number that is too large for a float for node b" in str(error)


def test_what_is_only_rounding_is_no_error() -> None:
    third = 100 * (0.1 + 0.2) / 0.3
    assert third > 100
    assert single([0, third, -1e-15]).scores(POD, NODES).tolist() == [0, 100, 0]
    assert plural(np.array([third, 1, 2])).scores(POD, NODES).tolist() == [100, 1, 2]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([1, 2], "returned numbers of shape (2,) for 3 nodes"),
        ([1, 2, 3, "x"], "returned numbers of shape (4,) for 3 nodes"),
        (np.zeros((3, 1)), "returned numbers of shape (3, 1) for 3 nodes"),
        (np.float64(1), "returned np.float64(1.0); it must return one number for each node"),
        (np.array(["a", "b", "c"]), "returned an array of type <U1; it must hold numbers"),
        (np.array([1, 2, 3], dtype=object), "returned an array of type object"),
        (np.array([1j, 2, 3]), "returned an array of type complex128"),
        ("100", "returned '100'; it must return one number for each node"),
        (None, "returned None; it must return one number for each node"),
        (7, "returned 7; it must return one number for each node"),
        ({"a": 1}, "returned {'a': 1}; it must return one number for each node"),
    ],
)
def test_scores_of_the_wrong_shape_or_type_are_an_error(values: object, sentence: str) -> None:
    error = wrong(plural(values))
    assert str(error).startswith(f"score_nodes 'keel' {sentence}")
    assert error.node is None


def test_an_exception_is_an_error_that_names_function_and_node() -> None:
    def divide(_pod: mr.Pod, node: mr.Node) -> float:
        return 1 / (0 if node.name == "b" else 1)

    error = wrong(ScoreRule(kind="score", name="keel", function=divide))
    assert str(error) == "score 'keel' failed on node b: ZeroDivisionError: division by zero"
    assert (error.node, type(error.__cause__)) == ("b", ZeroDivisionError)


def test_even_the_exception_that_ends_iterations_is_an_error() -> None:
    def first_image(_pod: mr.Pod, node: mr.Node) -> float:
        return len(next(iter(node.images)))

    error = wrong(ScoreRule(kind="score", name="keel", function=first_image))
    assert str(error) == "score 'keel' failed on node a: StopIteration"


def test_an_exception_about_all_nodes_names_the_function() -> None:
    def divide(_pod: mr.Pod, _nodes: mr.Nodes) -> mr.Scores:
        raise ValueError("no columns")

    error = wrong(ScoreRule(kind="score_nodes", name="keel", function=divide))
    assert str(error) == "score_nodes 'keel' failed: ValueError: no columns"
    assert error.node is None


def test_a_plural_score_gets_nodes_with_columns() -> None:
    rule = ScoreRule(
        kind="score_nodes",
        name="keel",
        function=lambda _pod, nodes: nodes.allocatable["cpu"] / 1000,
    )
    assert rule.scores(POD, NODES).tolist() == [8, 8, 8]
    assert rule.scores(POD, mr.Nodes(NODES)).tolist() == [8, 8, 8]


def test_the_policys_score_is_the_weighted_mean() -> None:
    rules = [single([0, 10, 100]), plural([10, 5, 0], max_score=10, weight=3)]
    assert score_nodes(rules, POD, NODES).tolist() == [75, 40, 25]


def test_without_score_functions_all_nodes_have_zero() -> None:
    assert score_nodes([], POD, NODES).tolist() == [0, 0, 0]


@given(
    st.lists(
        st.tuples(
            st.lists(st.floats(0, 1), min_size=3, max_size=3),
            st.floats(1e-3, 1e3),
            st.floats(1e-3, 1e6),
        ),
        max_size=5,
    )
)
def test_the_policys_score_never_leaves_its_range(
    drawn: list[tuple[list[float], float, float]],
) -> None:
    rules = [
        plural([part * best for part in parts], weight=weight, max_score=best)
        for parts, weight, best in drawn
    ]
    total = score_nodes(rules, POD, NODES)
    assert total.min() >= 0
    assert total.max() <= 100 * (1 + 1e-9)
