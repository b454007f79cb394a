"""Who gets a turn on the decision thread, who waits too long, and who has left."""

import asyncio
import gc
import weakref

import pytest

from mooring.errors import PolicyError
from mooring.extender.decision_turn import NotDecided
from tests.unit.extender.turns_rig import Rig, kind, run


def test_work_is_done_in_order_with_the_time_that_is_left() -> None:
    async def main(rig: Rig) -> None:
        first, second = rig.start(lambda: 1, rig.caller(10)), rig.start(lambda: 2)
        await rig.settle()
        assert (rig.turns.waiting, rig.load_limits.bytes) == (2, 10)
        rig.now += 3
        rig.decide_all()
        assert [await first, await second] == [1, 2]
        assert rig.before == 2
        assert rig.interrupt.limits == pytest.approx([5, 5])  # 0.8 of 10 s, since it was asked

    run(main)


def test_what_the_work_raises_is_raised() -> None:
    async def main(rig: Rig) -> None:
        def fail() -> None:
            raise PolicyError("no", function="f")

        asked = rig.start(fail)
        await rig.settle()
        rig.decide_all()
        assert str(await asked) == "no"

    run(main)


def test_more_than_may_wait_are_rejected_at_once() -> None:
    async def main(rig: Rig) -> None:
        asked = [rig.start(lambda: 1) for _ in range(3)]
        await rig.settle()
        rejected = await rig.ask(lambda: 1)
        assert kind(rejected) == "busy"
        assert str(rejected) == (
            "3 requests are already waiting, which is the maximum (--max-waiting); try again later"
        )
        rig.decide_all()
        assert [await one for one in asked] == [1, 1, 1]

    run(main)


def test_one_request_waits_and_two_wait() -> None:
    async def main(rig: Rig) -> None:
        asked = rig.start(lambda: 1)
        await rig.settle()
        assert str(await rig.ask(lambda: 1)).startswith("1 request is already waiting, which is")
        rig.decide_all()
        assert await asked == 1

    run(main, limit=1)


def test_what_waits_too_long_is_answered_and_not_done() -> None:
    async def main(rig: Rig) -> None:
        done: list[int] = []
        asked = rig.start(lambda: done.append(1), rig.caller(500))
        await rig.settle()
        rig.now += 8.9
        rig.turns.check_timeouts()
        await rig.settle()
        assert not asked.done()
        rig.now += 0.1
        rig.turns.check_timeouts()
        assert kind(await asked) == "late"
        assert rig.load_limits.bytes == 0
        rig.decide_all()
        assert done == []

    run(main)


def test_what_comes_to_its_turn_too_late_is_not_done() -> None:
    async def main(rig: Rig) -> None:
        done: list[int] = []
        asked = rig.start(lambda: done.append(1))
        await rig.settle()
        rig.now += 8
        rig.decide_all()
        assert kind(await asked) == "late"
        assert done == []

    run(main)


def test_a_caller_that_hangs_up_is_dropped_with_its_bytes() -> None:
    class Body:
        pass

    async def main(rig: Rig) -> None:
        gc.disable()  # a cycle would keep tens of megabytes until it is found
        body = Body()
        alive = weakref.ref(body)
        caller = rig.caller(500)
        asked = rig.start(lambda body=body: body, caller)  # type: ignore[misc]
        del body
        await rig.settle()
        assert caller.memory is not None
        caller.memory.hang_up()
        assert kind(await asked) == "gone"
        assert rig.load_limits.bytes == 0
        del asked
        await rig.settle()
        assert alive() is None  # although the decision thread has not come to it
        assert kind(await rig.ask(lambda: 1, caller)) == "gone"
        rig.decide_all()

    # The last question was asked with a memory that was released already.
    async def with_its_own_count(rig: Rig) -> None:
        try:
            await main(rig)
        finally:
            gc.enable()
        rig.load_limits.bytes = 0

    run(with_its_own_count)


def test_a_caller_that_is_cancelled_is_dropped() -> None:
    async def main(rig: Rig) -> None:
        done: list[int] = []
        asked = rig.start(lambda: done.append(1), rig.caller(500))
        await rig.settle()
        asked.cancel()
        await rig.settle()
        assert rig.load_limits.bytes == 0
        rig.decide_all()
        assert done == []

    run(main)


@pytest.mark.parametrize("before_it_ends", [True, False])
def test_what_nobody_waits_for_any_more_is_undone(before_it_ends: bool) -> None:
    async def main(rig: Rig) -> None:
        undone: list[str] = []
        caller = rig.caller()
        assert caller.memory is not None
        memory = caller.memory

        def work() -> str:
            if before_it_ends:
                memory.hang_up()
            return "result"

        asked = asyncio.ensure_future(rig.turns.run(caller, work, undo=undone.append))
        await rig.settle()
        rig.decide_all()
        if not before_it_ends:
            memory.hang_up()
        with pytest.raises(NotDecided):
            await asked
        await rig.settle()
        rig.decide_all()
        assert undone == ["result"]

    run(main)


def test_bytes_are_given_back_though_nothing_can_be_undone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main(rig: Rig) -> None:
        caller = rig.caller(10)
        assert caller.memory is not None
        memory = caller.memory

        def undo(_: object) -> None:
            raise OverflowError("unexpected")

        asked = asyncio.ensure_future(rig.turns.run(caller, memory.hang_up, undo=undo))
        await rig.settle()
        rig.decide_all()
        with pytest.raises(NotDecided):
            await asked
        memory.release()

    run(main)  # which checks that no bytes are held
    assert "OverflowError: unexpected" in caplog.text
