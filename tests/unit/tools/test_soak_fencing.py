"""Who wrote under whose Lease: what is a violation, and what no client can prevent."""

from tools.soak.audit import Write
from tools.soak.fencing import Fencing, check, terms


def lease(user: str, came: float, holder: str | None = None, status: int = 200) -> Write:
    holder = f"{user}-1" if holder is None else holder
    return Write(user, "update", "leases", "soak", status, came, came, came, holder=holder)


def write(user: str, sent: float, came: float | None = None) -> Write:
    came = sent if came is None else came
    return Write(user, "create", "pods/binding", "p1", 201, sent, came, came)


def checked(*writes: Write, continued: dict[str, list[float]] | None = None) -> Fencing:
    return check(sorted(writes, key=lambda one: one.came), continued or {})


def test_terms_follow_the_holder_and_not_the_renewals() -> None:
    found = terms(
        [
            lease("a", 1),
            write("a", 2),
            lease("a", 3),
            lease("b", 4, status=409),
            lease("a", 5, holder=""),
            lease("b", 6),
            write("b", 7),
            lease("a", 8, holder="a-2"),
        ]
    )
    assert [(one.user, one.began, one.wrote) for one in found] == [
        ("a", 1, 2),
        ("b", 6, 7),
        ("a", 8, float("inf")),
    ]


def test_one_after_the_other_is_right() -> None:
    found = checked(lease("a", 1), write("a", 2), lease("b", 5), write("b", 6), write("b", 7))
    assert found.violations == []
    assert (found.held_back, found.at_wakeup) == (0, 0)


def test_a_write_between_the_new_lease_and_the_first_write_under_it_does_no_harm() -> None:
    found = checked(lease("a", 1), lease("b", 5), write("a", 5.5), write("b", 6))
    assert found.violations == []


def test_a_write_after_the_first_of_another_is_a_violation() -> None:
    found = checked(lease("a", 1), lease("b", 5), write("b", 6), write("a", 6.5))
    (sentence,) = found.violations
    assert "a sent create pods/binding p1 at 6.500, 0.500 s after the first write of b" in sentence


def test_a_write_without_a_lease_is_a_violation() -> None:
    found = checked(lease("a", 1), write("b", 2))
    assert found.violations == [
        "b sent create pods/binding p1 at 2.000, without ever having held the Lease"
    ]


def test_a_write_before_the_first_lease_is_a_violation() -> None:
    found = checked(write("a", 0.5), lease("a", 1))
    assert len(found.violations) == 1


def test_a_write_that_the_network_held_back_is_counted() -> None:
    found = checked(lease("a", 1), write("a", 4, came=9), lease("b", 5), write("b", 6))
    assert found.violations == []
    assert found.held_back == 1


def test_a_write_of_the_first_moment_after_a_pause_is_counted() -> None:
    writes = [lease("a", 1), lease("b", 5), write("b", 6), write("a", 10.4)]
    found = checked(*writes, continued={"a": [10.0]})
    assert (found.violations, found.at_wakeup) == ([], 1)
    assert len(checked(*writes, continued={"a": [9.8]}).violations) == 1
    assert len(checked(*writes, continued={"b": [10.0]}).violations) == 1


def test_who_leads_again_may_write_again() -> None:
    found = checked(
        lease("a", 1), write("a", 2), lease("b", 5), write("b", 6),
        lease("a", 9, holder="a-2"), write("a", 10), write("b", 11),
    )  # fmt: skip
    assert len(found.violations) == 1
    assert "b sent" in found.violations[0]


def test_what_came_before_is_not_told_again() -> None:
    writes = [lease("a", 1), lease("b", 5), write("b", 6), write("a", 6.5), write("b", 20)]
    assert check(writes, {}, since=10).violations == []
