import pytest

from mooring.kube.versions import SeenVersions, version_number
from mooring.kube.watch_protocol import OLDER_LISTS, WatchState


@pytest.mark.parametrize("text", ["", "0", "007", "-3", "1.5", "abc", "١٢", "9" * 41, " 7"])
def test_what_is_no_positive_number_cannot_be_compared(text: str) -> None:
    assert version_number(text) == 0
    seen = SeenVersions()
    seen.listed("100")
    assert not seen.is_old("ns/a", text, "100")


def test_versions_are_numbers_and_no_texts() -> None:
    assert version_number("9") < version_number("10") < version_number("18446744073709551615")


def test_what_is_not_newer_than_the_list_the_object_or_its_end_is_old() -> None:
    seen = SeenVersions()
    seen.listed("10")
    assert [seen.is_old("ns/a", str(number)) for number in (9, 10, 11)] == [True, True, False]
    assert [seen.is_old("ns/a", str(number), "15") for number in (14, 15, 16)] == [
        True,
        True,
        False,
    ]
    seen.gone("ns/a", "20")
    assert [seen.is_old("ns/a", str(number)) for number in (19, 20, 21)] == [True, True, False]
    assert not seen.is_old("ns/b", "19")
    seen.put("ns/a")
    assert not seen.is_old("ns/a", "12")


def test_an_older_list_turns_time_back() -> None:
    seen = SeenVersions()
    seen.listed("10")
    seen.gone("ns/a", "12")
    seen.listed("5")
    assert not seen.is_old("ns/a", "6")
    assert seen.is_old("ns/a", "5")


def test_few_deleted_objects_are_remembered_and_none_comes_back() -> None:
    seen = SeenVersions(most_gone=3)
    for number in range(1, 8):
        seen.gone(f"ns/{number}", str(number))
    assert all(seen.is_old(f"ns/{number}", str(number)) for number in range(1, 8))
    assert seen.is_old("ns/another", "4")
    assert not seen.is_old("ns/another", "5")


def test_a_deletion_that_is_told_again_stays_the_newest() -> None:
    seen = SeenVersions()
    seen.gone("ns/a", "9")
    seen.gone("ns/a", "4")
    seen.gone("ns/a", "none")
    assert seen.is_old("ns/a", "8")


def test_an_old_event_does_not_move_a_watch_back() -> None:
    state = WatchState(lambda: 1.0)
    state.listed("10")
    state.failed()
    assert state.seen("15")
    assert not state.seen("12")
    assert state.resource_version == "15"
    assert state.seen("15")
    assert state.seen("opaque")
    assert state.resource_version == "opaque"
    assert state.newest == 15


def test_an_old_event_is_no_sign_that_all_is_well() -> None:
    state = WatchState(lambda: 1.0)
    state.listed("10")
    assert state.failed() == 0.8
    state.seen("9")
    assert state.failed() == 1.6


def test_an_older_list_is_believed_when_it_is_repeated() -> None:
    state = WatchState(lambda: 1.0)
    assert state.may_list("10")
    answers = [state.may_list("7") for _ in range(OLDER_LISTS)]
    assert answers == [False] * (OLDER_LISTS - 1) + [True]
    assert state.newest == 7
    assert state.may_list("7")


def test_a_fresh_list_clears_the_doubt() -> None:
    state = WatchState(lambda: 1.0)
    assert state.may_list("10")
    for _ in range(3):
        assert not state.may_list("9")
        assert not state.may_list("8")
        assert state.may_list("10")
