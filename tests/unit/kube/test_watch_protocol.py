import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.errors import KubeError
from mooring.kube.watch_protocol import LineSplitter, ObjectIdentity, WatchState, bare_identity


@given(st.lists(st.binary(max_size=8)), st.lists(st.integers(0, 20)))
def test_lines_do_not_depend_on_the_pieces(lines: list[bytes], cuts: list[int]) -> None:
    whole = b"\n".join(lines)
    splitter = LineSplitter()
    got: list[bytes] = []
    rest = whole
    for cut in cuts:
        got += splitter.feed(rest[:cut])
        rest = rest[cut:]
    got += splitter.feed(rest + b"\n")
    assert got == [line for line in whole.split(b"\n") if line and not line.isspace()]


def test_a_line_may_not_be_longer_than_the_limit() -> None:
    splitter = LineSplitter(limit=10)
    assert splitter.feed(b"x" * 10) == []
    with pytest.raises(KubeError, match="more than 10 bytes"):
        splitter.feed(b"x")
    with pytest.raises(KubeError, match="more than 10 bytes"):
        LineSplitter(limit=10).feed(b"ok\n" + b"x" * 11 + b"\n")


def test_keys_tell_namespaces_apart() -> None:
    assert ObjectIdentity("a", "b", "", "").key == "a/b"
    assert ObjectIdentity("", "b", "", "").key == "/b"
    assert bare_identity(b'{"metadata":{"name":"n"}}') == ObjectIdentity("", "n", "", "")
    assert bare_identity(b'{"name":"n"}') is None
    assert bare_identity(b"\xff") is None


def test_the_pauses_double_up_to_thirty_seconds_and_start_again_after_a_success() -> None:
    state = WatchState(lambda: 1.0)
    pauses = [state.failed() for _ in range(8)]
    assert pauses == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]
    for _ in range(3000):
        state.failed()
    assert state.failed() == 30.0
    state.seen("7")
    assert state.resource_version == "7"
    assert state.failed() == 0.8
    assert state.resource_version == "7"


def test_the_pauses_are_jittered() -> None:
    assert WatchState(lambda: 0.0).failed() == pytest.approx(0.4)
    assert WatchState(lambda: 0.5).failed() == pytest.approx(0.6)


def test_a_watch_that_lasted_starts_the_pauses_again() -> None:
    state = WatchState(lambda: 1.0)
    for _ in range(5):
        state.failed()
    assert state.failed(lasted=60.0) == 0.8


def test_the_first_expiry_is_free_and_a_list_alone_is_no_success() -> None:
    state = WatchState(lambda: 1.0)
    state.listed("5")
    assert state.expired() == 0.0
    assert state.resource_version == ""
    state.listed("6")
    assert state.expired() == 0.8
    state.listed("7")
    assert state.failed() == 3.2
    state.seen("")
    assert state.resource_version == "7"
    assert state.expired() == 0.0


def test_a_clean_end_costs_nothing_unless_it_was_no_watch_at_all() -> None:
    state = WatchState(lambda: 1.0)
    assert state.ended(0.1, silent=False) == 0.0
    assert state.ended(400.0, silent=True) == 0.0
    assert state.ended(0.1, silent=True) == 0.8
