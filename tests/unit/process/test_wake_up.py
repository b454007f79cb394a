"""Resting until something happens, a time comes, or at least one turn of the others."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from mooring.process.wake_up import WakeUp

LONG = 300.0


def run(test: Callable[[WakeUp], Awaitable[None]]) -> None:
    async def main() -> None:
        wake_up = WakeUp()
        try:
            await test(wake_up)
        finally:
            wake_up.close()

    asyncio.run(main())


async def others_turns(rest: Awaitable[None]) -> int:
    """How many turns others have during a rest."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await rest
    counting.cancel()
    return turns


def test_it_wakes_who_waits() -> None:
    async def test(wake_up: WakeUp) -> None:
        waiting = asyncio.create_task(wake_up.wait(LONG))
        await asyncio.sleep(0)
        assert not waiting.done()
        wake_up.notify()
        wake_up.notify()
        await waiting

    run(test)


def test_what_happened_before_counts_until_it_is_cleared() -> None:
    async def test(wake_up: WakeUp) -> None:
        wake_up.notify()
        await wake_up.wait(LONG)
        await wake_up.wait(LONG)
        wake_up.clear()
        waiting = asyncio.create_task(wake_up.wait(LONG))
        for _ in range(3):
            await asyncio.sleep(0)
        assert not waiting.done()
        wake_up.notify()
        await waiting

    run(test)


def test_it_wakes_when_the_time_comes_again_and_again() -> None:
    async def test(wake_up: WakeUp) -> None:
        for _ in range(3):
            await wake_up.wait(0.001)

    run(test)


@pytest.mark.parametrize("seconds", [0.0, -5.0, LONG])
def test_others_have_a_turn_even_if_there_is_nothing_to_wait_for(seconds: float) -> None:
    async def test(wake_up: WakeUp) -> None:
        wake_up.notify()
        assert await others_turns(wake_up.wait(seconds)) == 1

    run(test)


def test_who_is_cancelled_waits_no_more() -> None:
    async def test(wake_up: WakeUp) -> None:
        waiting = asyncio.create_task(wake_up.wait(LONG))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        wake_up.notify()
        await wake_up.wait(LONG)

    run(test)
