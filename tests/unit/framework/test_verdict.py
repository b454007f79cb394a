import pytest

from mooring import Verdict, accept, accept_if, reject


def test_an_accepting_verdict_is_true_and_has_no_reason() -> None:
    assert accept()
    assert accept() == Verdict(accepted=True)
    assert accept().reason == ""


def test_a_rejecting_verdict_is_false_and_says_why() -> None:
    verdict = reject("no SSD")
    assert not verdict
    assert (verdict.reason, verdict.unresolvable) == ("no SSD", False)
    assert reject("no SSD", unresolvable=True).unresolvable


@pytest.mark.parametrize("condition", [True, 1, "yes", [0]])
def test_a_condition_that_holds_accepts(condition: object) -> None:
    assert accept_if(condition, "why", unresolvable=True) == accept()


@pytest.mark.parametrize("condition", [False, 0, "", None, []])
def test_a_condition_that_does_not_hold_rejects(condition: object) -> None:
    assert accept_if(condition, "why") == reject("why")
    assert accept_if(condition, "why", unresolvable=True) == reject("why", unresolvable=True)


def test_a_verdict_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        accept().accepted = False  # type: ignore[misc]
