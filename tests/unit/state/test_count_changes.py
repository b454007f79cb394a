"""What is remembered of the changes of a count."""

from mooring.state.count_changes import CountChanges


def test_who_has_read_up_to_somewhere_gets_the_rest() -> None:
    changes = CountChanges()
    changes.append(3, 1)
    read = changes.end
    changes.append(4, 1)
    changes.append(3, -1)
    assert changes.since(0) == [(3, 1), (4, 1), (3, -1)]
    assert changes.since(read) == [(4, 1), (3, -1)]
    assert changes.since(changes.end) == []


def test_old_changes_are_forgotten_and_new_ones_are_known() -> None:
    changes = CountChanges()
    for row in range(10_000):
        changes.append(row, 1)
    assert changes.since(0) is None
    assert changes.since(changes.end - 100) == [(row, 1) for row in range(9_900, 10_000)]
