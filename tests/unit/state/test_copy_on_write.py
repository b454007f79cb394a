"""What a fork shares is copied once, by who writes first."""

from mooring.state.copy_on_write import OwnedList, Owner, SharedDict


def test_a_dict_of_its_own_is_never_copied() -> None:
    one: SharedDict[str, int] = SharedDict()
    entries = one.entries
    one.writable()["a"] = 1
    assert one.entries is entries
    assert (one.entries, len(one)) == ({"a": 1}, 1)


def test_a_shared_dict_is_copied_by_who_writes() -> None:
    one: SharedDict[str, int] = SharedDict()
    one.writable()["a"] = 1
    other = one.fork()
    assert other.entries is one.entries
    other.writable()["b"] = 2
    assert (one.entries, other.entries) == ({"a": 1}, {"a": 1, "b": 2})
    written = other.entries
    other.writable()["c"] = 3
    assert other.entries is written
    one.writable()["d"] = 4
    assert (one.entries, other.entries) == ({"a": 1, "d": 4}, {"a": 1, "b": 2, "c": 3})


def test_a_fork_of_a_fork_shares_with_both() -> None:
    one: SharedDict[str, int] = SharedDict()
    one.writable()["a"] = 1
    third = one.fork().fork()
    assert third.entries is one.entries
    one.writable().clear()
    assert third.entries == {"a": 1}


def test_a_list_is_copied_for_another_owner_only() -> None:
    mine, yours = Owner(), Owner()
    one: OwnedList[int] = OwnedList(mine, [1])
    assert one.with_item(2, mine) is one
    other = one.with_item(3, yours)
    assert (list(one), list(other), len(other)) == ([1, 2], [1, 2, 3], 3)
    assert other.with_item(4, yours) is other
