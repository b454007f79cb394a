"""The log says when a scheduler is not ready any more, why, and when it is again."""

import asyncio

import pytest

from mooring.live.health import STALE_SECONDS
from mooring.live.readiness_log import ReadinessLog
from tests.unit.live.test_health import World


def lose(world: World, seconds: float) -> None:
    for informer in world.informers.values():
        informer.lost_seconds = seconds


def test_each_change_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    world = World()
    readiness = ReadinessLog(world.health)
    readiness.check()  # nothing is known yet, as always at the start
    world.sync()
    readiness.check()
    assert caplog.messages == []
    for number in range(3):
        lose(world, STALE_SECONDS + 15 + number)
        readiness.check()
    assert [one.levelname for one in caplog.records] == ["WARNING"]
    assert caplog.messages == ["no longer ready: no data for nodes (75s), pods (75s)"]
    lose(world, 0.0)
    for _ in range(3):
        readiness.check()
    assert caplog.messages[1:] == ["ready again"]


def test_another_reason_is_another_change(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.sync()
    readiness = ReadinessLog(world.health)
    readiness.check()
    lose(world, STALE_SECONDS + 1)
    readiness.check()
    world.health.expect_election()
    world.health.started_leading(lambda: False)
    readiness.check()
    assert caplog.messages[-1] == (
        "no longer ready: the Lease was lost and the process has not exited; "
        "no data for nodes (61s), pods (61s)"
    )
    assert len(caplog.messages) == 2


def test_a_stop_is_told_by_others(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.sync()
    readiness = ReadinessLog(world.health)
    readiness.check()
    world.health.stopping = True
    readiness.check()
    assert caplog.messages == []


def test_it_looks_again_and_again(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.sync()
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        lose(world, 1000.0)
        if len(pauses) == 3:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(ReadinessLog(world.health).run(sleep))
    assert len(caplog.messages) == 1
