"""Slots are given in order, and never lost, whoever gives up."""

import asyncio
from collections.abc import Awaitable, Callable

from mooring.kube.http1.slots import Slots


def run(story: Callable[[Slots], Awaitable[None]], most: int = 1) -> None:
    asyncio.run(story(Slots(most)))  # type: ignore[arg-type]


async def settle() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


def test_there_are_only_so_many() -> None:
    slots = Slots(2)
    assert [slots.take() for _ in range(3)] == [True, True, False]
    slots.give_back()
    assert [slots.take() for _ in range(2)] == [True, False]


def test_who_waits_longest_is_next_and_nobody_comes_in_between() -> None:
    async def story(slots: Slots) -> None:
        order: list[int] = []

        async def wait(number: int) -> None:
            await slots.wait()
            order.append(number)

        assert slots.take()
        waiting = [asyncio.create_task(wait(number)) for number in range(3)]
        await settle()
        for count in range(3):
            slots.give_back()
            assert not slots.take()
            await settle()
            assert order == list(range(count + 1))
        slots.give_back()
        assert slots.take()
        await asyncio.gather(*waiting)

    run(story)


def test_who_gives_up_waiting_has_no_slot() -> None:
    async def story(slots: Slots) -> None:
        assert slots.take()
        first, second = (asyncio.create_task(slots.wait()) for _ in range(2))
        await settle()
        first.cancel()
        await settle()
        slots.give_back()
        await second
        assert first.cancelled()
        assert not slots.take()
        assert not slots._waiting

    run(story)


def test_a_slot_that_comes_at_the_moment_of_giving_up_is_not_lost() -> None:
    async def story(slots: Slots) -> None:
        assert slots.take()
        first, second = (asyncio.create_task(slots.wait()) for _ in range(2))
        await settle()
        slots.give_back()
        first.cancel()
        await second
        assert first.cancelled()
        slots.give_back()
        assert slots.take()

    run(story)


def test_a_slot_that_comes_right_after_giving_up_is_for_the_next() -> None:
    async def story(slots: Slots) -> None:
        assert slots.take()
        first, second = (asyncio.create_task(slots.wait()) for _ in range(2))
        await settle()
        first.cancel()
        slots.give_back()
        await second
        await asyncio.gather(first, return_exceptions=True)
        assert first.cancelled()
        assert not slots.take()

    run(story)
