"""Async functions that block their loop, with a clock of the test's own."""

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from mooring.extender.turn import NotDecided
from mooring.extender.waiting_functions import WaitingFunctions
from mooring.framework.binding import Binding
from mooring.framework.rules import BindRule
from tests.unit.extender.asgi import eventually

BLOCKING = r"bind 'note' on node a \(pod ns/blocking, at test_waiting_functions.py:\d+\)"


class Rig:
    """An async bind function that blocks for the pod ``blocking`` until the gate opens."""

    def __init__(self) -> None:
        self.now = 100.0
        self.gate = threading.Event()
        self.reached = threading.Event()
        self.waiting = threading.Event()
        self.ended = threading.Event()
        self.stubborn = 0
        self.functions = WaitingFunctions(lambda: self.now, timeout=10.0)
        self.rule = BindRule(kind="bind", name="note", function=self.note)

    async def note(self, binding: Binding) -> None:
        if binding.name == "blocking":
            self.reached.set()
            self.gate.wait(20)
        if binding.name == "waiting":
            self.waiting.set()
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                self.ended.set()
        if binding.name == "stubborn":
            self.stubborn += 1
            while not self.gate.is_set():
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(0.01)
            self.stubborn -= 1

    async def bind(self, name: str, seconds: float = 20.0) -> object:
        binding = Binding(namespace="ns", name=name, uid="u", node_name="a")
        work = partial(self.rule.prepare_async, binding)
        try:
            return await self.functions.run(binding.key, work, seconds)
        except (NotDecided, TimeoutError) as error:
            return error

    async def block(self) -> "asyncio.Task[object]":
        task = asyncio.create_task(self.bind("blocking"))
        await asyncio.to_thread(self.reached.wait, 20)
        return task

    def pass_time(self, seconds: float) -> None:
        """Look ten times a second."""
        for _ in range(round(seconds * 10)):
            self.now += 0.1
            self.functions.look()

    async def open_gate(self) -> None:
        self.gate.set()
        await eventually(lambda: not self.functions.blocked_for())


def run(test: Callable[[Rig], Awaitable[Any]]) -> None:
    async def main() -> None:
        rig = Rig()
        try:
            await test(rig)
        finally:
            rig.gate.set()
            rig.functions.stop()

    asyncio.run(main())


class AnsweredMeanwhile(float):
    """A point in time; the other thread answers while something is added to it."""

    answer: Callable[[], None]

    def __add__(self, other: float) -> float:
        self.answer()
        return float(self) + other


def test_an_answer_that_comes_while_a_pause_is_counted_is_not_lost() -> None:
    async def main(rig: Rig) -> None:
        blocking = await rig.block()
        rig.pass_time(1)

        def answer() -> None:
            answered = threading.Event()
            rig.gate.set()
            rig.functions._started().call_soon_threadsafe(answered.set)
            assert answered.wait(20)

        asked = rig.functions._asked
        assert asked is not None
        rig.functions._asked = meanwhile = AnsweredMeanwhile(asked)
        meanwhile.answer = answer
        rig.now += 600
        rig.functions.look()
        await eventually(lambda: not rig.functions.blocked_for())
        await blocking

    run(main)


def late(error: object) -> str:
    assert isinstance(error, NotDecided), error
    assert error.kind == "late"
    return str(error)


def test_one_that_blocks_is_named_to_those_whose_turn_does_not_come() -> None:
    async def main(rig: Rig) -> None:
        blocking = await rig.block()
        innocent = asyncio.create_task(rig.bind("innocent", seconds=3))
        await asyncio.sleep(0)
        rig.pass_time(3.1)
        assert re.fullmatch(
            f"the request waited 3.1 s for its turn behind {BLOCKING}, "
            "too long for the caller's timeout of 10 s",
            late(await innocent),
        )
        await rig.open_gate()
        await blocking
        assert not isinstance(await rig.bind("innocent"), Exception)

    run(main)


def test_one_that_blocks_is_named_to_those_that_were_waiting_already() -> None:
    async def main(rig: Rig) -> None:
        innocent = asyncio.create_task(rig.bind("waiting", seconds=3))
        await asyncio.to_thread(rig.waiting.wait, 20)
        blocking = await rig.block()
        rig.pass_time(3.1)
        assert re.search(f" behind {BLOCKING}, too long ", late(await innocent))
        await rig.open_gate()
        await blocking

    run(main)


def test_one_that_waits_too_long_itself_is_to_blame() -> None:
    async def main(rig: Rig) -> None:
        waiting = asyncio.create_task(rig.bind("waiting", seconds=3))
        await asyncio.to_thread(rig.waiting.wait, 20)
        rig.pass_time(3.1)
        assert isinstance(await waiting, TimeoutError)
        assert await asyncio.to_thread(rig.ended.wait, 20)
        await eventually(lambda: not rig.functions.blocked_for())

    run(main)


def test_those_that_do_not_end_are_named_and_not_asked_without_bound(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As was seen: 300 calls left 300 tasks, and nobody was told."""
    what = (
        "100 calls of async functions have not ended although they were cancelled, one of them "
        "bind 'note' for pod ns/stubborn"
    )

    async def main(rig: Rig) -> None:
        async def leave_behind(number: int) -> None:
            begun = rig.stubborn
            binds = [asyncio.create_task(rig.bind("stubborn", 3)) for _ in range(number)]
            await eventually(lambda: rig.stubborn == begun + number)
            rig.pass_time(3.1)
            assert {type(await one) for one in binds} == {TimeoutError}
            await eventually(lambda: not rig.functions.blocked_for())

        await leave_behind(99)
        assert caplog.messages == []
        await leave_behind(1)
        rig.functions.look()
        assert caplog.messages == [f"{what}; binds are refused until one ends"]
        refused = await rig.bind("innocent")
        assert isinstance(refused, NotDecided)
        assert (refused.kind, str(refused)) == ("stuck", f"{what}; none is asked until one ends")
        assert rig.stubborn == 100

        rig.gate.set()
        await eventually(lambda: not rig.functions.left_behind)
        rig.functions.look()
        assert caplog.messages[1:] == [
            "async functions that were cancelled have ended; others run again"
        ]
        assert not isinstance(await rig.bind("innocent"), Exception)

    run(main)


def test_one_that_waits_when_all_ends_is_cancelled() -> None:
    async def main(rig: Rig) -> None:
        waiting = asyncio.create_task(rig.bind("waiting"))
        await asyncio.to_thread(rig.waiting.wait, 20)
        rig.functions.stop()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await asyncio.to_thread(rig.ended.wait, 20)

    run(main)


def test_one_that_is_stuck_is_named_once_in_the_log_and_to_everybody_at_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main(rig: Rig) -> None:
        blocking = await rig.block()
        rig.pass_time(5)
        assert caplog.messages == []
        rig.pass_time(4)
        assert len(caplog.messages) == 1
        said = f"{BLOCKING} has blocked all async functions for 5.1 s"
        assert re.fullmatch(said, caplog.messages[0])
        assert (rig.functions.why_stuck(), rig.functions.stuck_for()) == ("", 0.0)

        rig.pass_time(4)
        assert len(caplog.messages) == 2
        said = f"{BLOCKING} cannot be interrupted; /livez fails, binds are refused until it returns"
        assert re.fullmatch(said, caplog.messages[1])
        said = f"{BLOCKING} has blocked all async functions for 13 s and cannot be interrupted"
        assert re.fullmatch(said, rig.functions.why_stuck())
        refused = await rig.bind("innocent")
        assert isinstance(refused, NotDecided)
        assert refused.kind == "stuck"
        assert re.fullmatch(f"{said}; no async function runs until it returns", str(refused))

        await rig.open_gate()
        await blocking
        rig.functions.look()
        assert rig.functions.why_stuck() == ""
        assert caplog.messages[2:] == [
            "the async function that was stuck has returned; others run again"
        ]

    run(main)


def test_a_process_that_was_stopped_has_blocked_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def main(rig: Rig) -> None:
        blocking = await rig.block()
        rig.pass_time(1)
        rig.now += 600
        rig.functions.look()
        assert rig.functions.why_stuck() == ""
        await rig.open_gate()
        await blocking

    run(main)
    assert caplog.messages == []
