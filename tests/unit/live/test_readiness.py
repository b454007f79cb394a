"""The log says when a scheduler is not ready any more, why, and when it is again."""

import asyncio

import pytest

from mooring.live.health import STALE_SECONDS
from mooring.live.readiness import Readiness
from tests.unit.live.test_health import World


def lose(world: World, seconds: float) -> None:
    for informer in world.informers.values():
        informer.lost_seconds = seconds


def test_each_change_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    world = World()
    readiness = Readiness(world.health)
    readiness.look()  # nothing is known yet, as always at the start
    world.sync()
    readiness.look()
    assert caplog.messages == []
    for number in range(3):
        lose(world, STALE_SECONDS + 15 + number)
        readiness.look()
    assert [one.levelname for one in caplog.records] == ["WARNING"]
    assert caplog.messages == ["not ready any more: nothing is heard of nodes (75 s), pods (75 s)"]
    lose(world, 0.0)
    for _ in range(3):
        readiness.look()
    assert caplog.messages[1:] == ["ready again"]


def test_another_reason_is_another_change(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.sync()
    readiness = Readiness(world.health)
    readiness.look()
    lose(world, STALE_SECONDS + 1)
    readiness.look()
    world.health.elect()
    world.health.lead(lambda: False)
    readiness.look()
    assert caplog.messages[-1] == (
        "not ready any more: the Lease was lost and the process has not ended; "
        "nothing is heard of nodes (61 s), pods (61 s)"
    )
    assert len(caplog.messages) == 2


def test_a_stop_is_told_by_others(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.sync()
    readiness = Readiness(world.health)
    readiness.look()
    world.health.stopping = True
    readiness.look()
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
        asyncio.run(Readiness(world.health).run(sleep))
    assert len(caplog.messages) == 1
