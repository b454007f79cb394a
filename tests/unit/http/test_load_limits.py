from dataclasses import dataclass

import pytest

from mooring.http.load_limits import LoadLimits


@dataclass(eq=False)
class Connection:
    closed: bool = False

    def make_room(self) -> None:
        self.closed = True


class TestParcels:
    def test_are_counted_until_the_last_hold_is_released(self) -> None:
        load_limits = LoadLimits(100)
        memory = load_limits.open()
        assert memory.fits(60)
        memory.add(60)
        memory.hold()
        memory.release()
        assert load_limits.bytes == 60
        memory.release()
        assert (load_limits.bytes, load_limits.peak_bytes) == (0, 60)

    def test_that_find_no_room_are_rejected_for_good(self) -> None:
        load_limits = LoadLimits(100)
        first, second = load_limits.open(), load_limits.open()
        first.add(60)
        assert not second.fits(41)
        first.release()
        assert not second.fits(1)
        assert second.rejected
        assert (second.wanted, second.beside) == (41, 60)
        third = load_limits.open()
        assert third.fits(100)

    def test_that_are_discarded_are_not_given_back_twice(self) -> None:
        load_limits = LoadLimits(100)
        memory = load_limits.open()
        memory.add(60)
        memory.discard()
        assert load_limits.bytes == 0
        memory.release()
        assert load_limits.bytes == 0

    def test_tell_once_that_the_caller_is_gone(self) -> None:
        memory = LoadLimits(100).open()
        told: list[str] = []
        memory.when_gone(lambda: told.append("gone"))
        memory.hang_up()
        memory.hang_up()
        assert told == ["gone"]
        assert memory.gone

    def test_tell_nobody_who_does_not_want_to_know(self) -> None:
        memory = LoadLimits(100).open()
        memory.when_gone(lambda: pytest.fail("told"))
        memory.when_gone(None)
        memory.hang_up()


class TestConnections:
    def test_the_longest_idle_one_makes_room(self) -> None:
        load_limits = LoadLimits(100, max_connections=3)
        first, second, third, fourth = (Connection() for _ in range(4))
        for one in (first, second, third):
            load_limits.connected(one)
        load_limits.waits_for_us(first)
        load_limits.waits_for_us(second)
        load_limits.waits_for_client(second)  # answered after the third connected
        load_limits.connected(fourth)
        assert [one.closed for one in (first, second, third, fourth)] == [False, False, True, False]
        load_limits.disconnected(third)
        assert (load_limits.connections, load_limits.displaced) == (3, 1)

    def test_who_was_answered_stays_while_there_are_some_who_never_asked(self) -> None:
        load_limits = LoadLimits(100, max_connections=3)
        known, *strangers = (Connection() for _ in range(20))
        load_limits.connected(known)
        load_limits.waits_for_us(known)
        load_limits.waits_for_client(known)
        for one in strangers:
            load_limits.connected(one)
            if one.closed:
                load_limits.disconnected(one)
        assert not known.closed
        assert [one.closed for one in strangers] == [True] * 17 + [False] * 2

    def test_if_nobody_else_is_idle_one_that_was_answered_makes_room(self) -> None:
        load_limits = LoadLimits(100, max_connections=1)
        known, newcomer = Connection(), Connection()
        load_limits.connected(known)
        load_limits.waits_for_us(known)
        load_limits.waits_for_client(known)
        load_limits.connected(newcomer)
        assert (known.closed, newcomer.closed) == (True, False)

    def test_if_all_are_being_answered_the_newcomer_is_closed(self) -> None:
        load_limits = LoadLimits(100, max_connections=1)
        busy, newcomer = Connection(), Connection()
        load_limits.connected(busy)
        load_limits.waits_for_us(busy)
        load_limits.connected(newcomer)
        assert (busy.closed, newcomer.closed) == (False, True)
        assert (load_limits.displaced, load_limits.turned_away) == (0, 1)
