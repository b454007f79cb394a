"""Constraints are compiled once for pods that differ in nothing that counts."""

from mooring.model.pod import TopologySpreadConstraint
from mooring.model.selectors import LabelSelector
from mooring.plugins.spread.constraints import DO_NOT_SCHEDULE, own_constraints


def constraint(*keys: str) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(
        max_skew=1,
        topology_key="zone",
        when_unsatisfiable=DO_NOT_SCHEDULE,
        label_selector=LabelSelector(match_labels={"app": "a"}),
        match_label_keys=list(keys) or None,
    )


def test_labels_that_no_selector_takes_do_not_count() -> None:
    first = own_constraints([constraint()], {"index": "0"}, DO_NOT_SCHEDULE)
    labels = {"index": "1"}
    second = own_constraints([constraint()], labels, DO_NOT_SCHEDULE, first)
    assert second.constraints is first.constraints
    assert second.labels is labels


def test_labels_that_a_selector_takes_make_other_constraints() -> None:
    made = [constraint("hash")]
    first = own_constraints(made, {"app": "a", "hash": "x"}, DO_NOT_SCHEDULE)
    second = own_constraints(made, {"app": "a", "hash": "y"}, DO_NOT_SCHEDULE, first)
    matched = [one.matches({"app": "a", "hash": "x"}) for (one,) in (first[2], second[2])]
    assert matched == [True, False]
