"""The log of changed rows: a reader finds what changed since, or learns that it cannot."""

from mooring.state.changes.row_log import RowLog


def test_has_the_rows_that_changed_since() -> None:
    log = RowLog()
    log.append(3)
    position = log.end
    assert log.since(position) == []
    log.append(5)
    log.append(3)
    assert log.since(position) == [5, 3]
    assert log.since(0) == [3, 5, 3]


def test_forgets_what_is_long_ago_and_says_so() -> None:
    log = RowLog()
    for row in range(40_000):
        log.append(row)
    assert log.since(0) is None
    recent = log.end - 16_000
    assert log.since(recent) == list(range(24_000, 40_000))


def test_has_the_same_rows_as_an_array() -> None:
    log = RowLog()
    for row in range(40_000):
        log.append(row)
    found = log.array_since(39_997)
    assert found is not None
    log.append(7)
    assert found.tolist() == [39_997, 39_998, 39_999]
    assert log.array_since(0) is None
