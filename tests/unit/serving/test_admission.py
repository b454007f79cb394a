from dataclasses import dataclass

import pytest

from mooring.serving.admission import Admission


@dataclass(eq=False)
class Connection:
    closed: bool = False

    def make_room(self) -> None:
        self.closed = True


class TestParcels:
    def test_are_counted_until_the_last_hold_is_released(self) -> None:
        admission = Admission(100)
        parcel = admission.open()
        assert parcel.fits(60)
        parcel.add(60)
        parcel.hold()
        parcel.release()
        assert admission.bytes == 60
        parcel.release()
        assert (admission.bytes, admission.peak_bytes) == (0, 60)

    def test_that_find_no_room_are_refused_for_good(self) -> None:
        admission = Admission(100)
        first, second = admission.open(), admission.open()
        first.add(60)
        assert not second.fits(41)
        first.release()
        assert not second.fits(1)
        assert second.refused
        assert (second.wanted, second.beside) == (41, 60)
        third = admission.open()
        assert third.fits(100)

    def test_that_are_discarded_are_not_given_back_twice(self) -> None:
        admission = Admission(100)
        parcel = admission.open()
        parcel.add(60)
        parcel.discard()
        assert admission.bytes == 0
        parcel.release()
        assert admission.bytes == 0

    def test_tell_once_that_the_caller_is_gone(self) -> None:
        parcel = Admission(100).open()
        told: list[str] = []
        parcel.when_gone(lambda: told.append("gone"))
        parcel.hang_up()
        parcel.hang_up()
        assert told == ["gone"]
        assert parcel.gone

    def test_tell_nobody_who_does_not_want_to_know(self) -> None:
        parcel = Admission(100).open()
        parcel.when_gone(lambda: pytest.fail("told"))
        parcel.when_gone(None)
        parcel.hang_up()


class TestConnections:
    def test_the_longest_idle_one_makes_room(self) -> None:
        admission = Admission(100, max_connections=3)
        first, second, third, fourth = (Connection() for _ in range(4))
        for one in (first, second, third):
            admission.connected(one)
        admission.waits_for_us(first)
        admission.waits_for_us(second)
        admission.waits_for_client(second)  # answered after the third connected
        admission.connected(fourth)
        assert [one.closed for one in (first, second, third, fourth)] == [False, False, True, False]
        admission.disconnected(third)
        assert (admission.connections, admission.displaced) == (3, 1)

    def test_who_was_answered_stays_while_there_are_some_who_never_asked(self) -> None:
        admission = Admission(100, max_connections=3)
        known, *strangers = (Connection() for _ in range(20))
        admission.connected(known)
        admission.waits_for_us(known)
        admission.waits_for_client(known)
        for one in strangers:
            admission.connected(one)
            if one.closed:
                admission.disconnected(one)
        assert not known.closed
        assert [one.closed for one in strangers] == [True] * 17 + [False] * 2

    def test_if_nobody_else_is_idle_one_that_was_answered_makes_room(self) -> None:
        admission = Admission(100, max_connections=1)
        known, newcomer = Connection(), Connection()
        admission.connected(known)
        admission.waits_for_us(known)
        admission.waits_for_client(known)
        admission.connected(newcomer)
        assert (known.closed, newcomer.closed) == (True, False)

    def test_if_all_are_being_answered_the_newcomer_is_closed(self) -> None:
        admission = Admission(100, max_connections=1)
        busy, newcomer = Connection(), Connection()
        admission.connected(busy)
        admission.waits_for_us(busy)
        admission.connected(newcomer)
        assert (busy.closed, newcomer.closed) == (False, True)
        assert (admission.displaced, admission.turned_away) == (0, 1)
