"""Leading while the API server is away, hangs, rejects or answers too late."""

import asyncio
from typing import Any

import pytest

from mooring.errors import ApiError
from tests.unit.kube.lease_world import HOLD, World, leads, run


def test_release_copes_with_a_renewal_on_its_way_and_with_a_dead_server() -> None:
    async def story(world: World) -> None:
        time = world.time
        first = world.start("a")
        await time.pass_by(1)
        moods = iter([None, "race", None, None])

        def mood() -> str | None:
            now = next(moods)
            if now == "race":
                world.server.edit(renewTime="1970-01-01T00:17:00.000000Z")
            return None

        world.server.requests.clear()
        world.server.mood = mood
        await first.release()
        assert world.server.requests == ["GET", "PUT", "GET", "PUT"]
        assert world.server.spec["holderIdentity"] == ""

        world.server.mood = lambda: None
        second = world.start("b")
        await time.pass_by(1)
        assert leads(second)
        world.server.mood = lambda: "hangs"
        releasing = asyncio.create_task(second.release())
        await time.pass_by(10)
        assert releasing.done()
        await releasing
        assert not leads(second)
        assert world.server.spec["holderIdentity"] == "b"

    run(story)


def test_a_rejected_release_is_only_told(caplog: pytest.LogCaptureFixture) -> None:
    async def story(world: World) -> None:
        first = world.start("a")
        await world.time.pass_by(1)

        async def reject(*_: object, **__: object) -> Any:
            raise ApiError("leases is forbidden", status=403, reason="Forbidden")

        world.lines["a"].replace = reject  # type: ignore[method-assign]
        await first.release()
        assert not leads(first)
        assert "was not released and will expire: leases is forbidden" in caplog.text

    run(story)


def test_a_server_away_for_less_than_the_deadline_costs_nothing() -> None:
    async def story(world: World) -> None:
        time = world.time
        first = world.start("a")
        second = world.start("b")
        await time.pass_by(21)
        leader, other = (first, second) if first.leading else (second, first)
        world.server.down = True
        await time.pass_by(8.9)
        assert leads(leader)
        assert str(leader.error) == "The API server cannot be reached."
        world.server.down = False
        await time.pass_by(60)
        assert leads(leader)
        assert leader.error is None
        assert not leader.lost.is_set()
        assert not leads(other)

    run(story)


def test_a_server_away_for_longer_ends_the_leadership_on_time() -> None:
    async def story(world: World) -> None:
        time = world.time
        first = world.start("a")
        await time.pass_by(20)
        renewed = time.now
        second = world.start("b")
        await time.pass_by(1)
        world.server.down = True
        await time.until(first.lost.is_set)
        assert time.now - renewed == pytest.approx(HOLD)
        assert HOLD == 12
        assert not leads(first)
        await time.pass_by(100)
        assert not leads(second)
        world.server.requests.clear()
        world.server.down = False
        await time.until(lambda: second.leading, most=5)
        assert not leads(first)

    run(story)


@pytest.mark.parametrize("mood", ["hangs", "mute"])
def test_a_request_that_hangs_does_not_delay_the_end(mood: str) -> None:
    async def story(world: World) -> None:
        time = world.time
        first = world.start("a")
        await time.pass_by(10)
        renewed = time.now
        world.server.mood = lambda: mood
        world.server.limits.clear()
        await time.pass_by(HOLD - 0.001)
        assert leads(first)
        await time.pass_by(0.001)
        assert not leads(first)
        assert first.lost.is_set()
        assert time.now == pytest.approx(renewed + HOLD)
        # five seconds each at most, and never beyond the end
        assert world.server.limits == [5.0, 5.0]
        await time.pass_by(100)
        assert len(world.server.limits) == 2

    run(story)


def test_one_hanging_request_does_not_cost_the_leadership() -> None:
    async def story(world: World) -> None:
        first = world.start("a")
        await world.time.pass_by(10)
        moods = iter(["hangs"])
        world.server.mood = lambda: next(moods, None)
        await world.time.pass_by(30)
        assert leads(first)

    run(story)


def test_leading_ends_by_the_clock_even_when_nobody_had_a_chance_to_run() -> None:
    async def story(world: World) -> None:
        first = world.start("a")
        await world.time.pass_by(10)
        world.time.now += HOLD  # the machine was suspended
        assert not leads(first)
        assert not first.lost.is_set()
        # the first to wake up may be the renewal; it must not go on as if nothing were
        await world.time.pass_by(0.1)
        assert first.lost.is_set()
        await world.time.pass_by(30)
        assert not leads(first)

    run(story)


def test_an_answer_after_the_end_does_not_count() -> None:
    async def story(world: World) -> None:
        first = world.start("a")
        await world.time.pass_by(9)
        world.server.latency = 0.5
        await world.time.pass_by(1.6)  # a renewal is on its way back
        world.time.now += HOLD
        await world.time.settle()
        assert not leads(first)
        await world.time.pass_by(2)
        assert first.lost.is_set()
        assert not leads(first)

    run(story)


def test_an_answer_to_the_first_write_that_is_too_old_does_not_make_a_leader() -> None:
    async def story(world: World) -> None:
        world.server.latency = 1.0
        first = world.start("a")
        await world.time.pass_by(2.5)
        assert world.server.requests == ["GET", "POST"]
        assert world.server.lease is not None
        world.time.now += 60
        await world.time.pass_by(0.5)
        assert not leads(first)
        await world.time.until(lambda: first.leading, most=10)

    run(story)


def test_rejections_are_told_once_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    async def story(world: World) -> None:
        sentence = "leases is forbidden: grant it"

        async def reject(*_: object, **__: object) -> Any:
            raise ApiError(sentence, status=403, reason="Forbidden")

        first = world.start("a")
        line = world.lines["a"]
        allowed = line.get
        line.get = reject  # type: ignore[method-assign]
        await world.time.pass_by(60)
        assert not leads(first)
        assert str(first.error) == sentence
        assert [each.message for each in caplog.records].count(
            f"{sentence} (the Lease; retrying)"
        ) == 1
        line.get = allowed  # type: ignore[method-assign]
        await world.time.pass_by(5)
        assert leads(first)
        assert first.error is None

    run(story)


def test_a_failure_nobody_expected_ends_the_leadership_at_once() -> None:
    async def story(world: World) -> None:
        first = world.start("a")
        await world.time.pass_by(1)

        async def broken(*_: object, **__: object) -> Any:
            raise ZeroDivisionError

        world.lines["a"].replace = broken  # type: ignore[method-assign]
        await world.time.pass_by(2)
        assert first.lost.is_set()

    run(story)
