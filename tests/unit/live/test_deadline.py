"""Plugins that do not come back are interrupted, and the rest goes on."""

import asyncio

import pytest

from mooring.live.deadline import Deadline, TookTooLong


def spin() -> None:
    while True:
        pass


def test_code_that_does_not_return_is_interrupted_inside_the_block() -> None:
    deadline = Deadline(0.02)
    with pytest.raises(TookTooLong, match=r"^it did not return within 0\.02 seconds$"), deadline:
        spin()


def test_code_in_time_is_left_alone_also_afterwards() -> None:
    deadline = Deadline(0.02)
    with deadline:
        done = sum(range(10))
    asyncio.run(asyncio.sleep(0.05))
    assert done == 45


def test_a_coroutine_is_limited_in_each_step_and_not_while_it_waits() -> None:
    deadline = Deadline(0.5)

    async def waits() -> str:
        for _ in range(3):
            await asyncio.sleep(0.2)
        return "done"

    assert asyncio.run(deadline.each_step(waits())) == "done"

    async def hangs() -> None:
        await asyncio.sleep(0)
        while True:
            pass

    with pytest.raises(TookTooLong):
        asyncio.run(deadline.each_step(hangs()))


def test_a_coroutine_gets_results_errors_and_its_cancellation() -> None:
    deadline = Deadline(10)
    seen: list[str] = []

    async def asks() -> int:
        loop = asyncio.get_running_loop()
        right, wrong = loop.create_future(), loop.create_future()
        loop.call_soon(right.set_result, 7)
        loop.call_soon(wrong.set_exception, KeyError("x"))
        seven: int = await right
        with pytest.raises(KeyError):
            await wrong
        try:
            await loop.create_future()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise
        return seven

    async def main() -> None:
        task = asyncio.create_task(deadline.each_step(asks()))
        for _ in range(5):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert seen == ["cancelled"]
