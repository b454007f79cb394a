"""Async functions that block their loop, with a clock of the test's own."""

import asyncio
import re
import threading
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from mooring.extender.async_functions import AsyncFunctions, NotFinished
from mooring.extender.decision_turn import NotDecided
from mooring.framework.binding import Binding
from mooring.framework.rules import BindRule
from tests.unit.extender.asgi import eventually

BLOCKING = r"bind 'note' on node a \(pod ns/blocking, at test_async_functions.py:\d+\)"


class Rig:
    """An async bind function that blocks for the pod ``blocking`` until the gate opens."""

    def __init__(self) -> None:
        self.now = 100.0
        self.gate = threading.Event()
        self.reached = threading.Event()
        self.waiting = threading.Event()
        self.ended = threading.Event()
        self.stubborn = 0
        self.leave: Callable[[], object] = lambda: None
        self.functions = AsyncFunctions(lambda: self.now, timeout=10.0)
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
        if binding.name == "leaving":
            self.leave()
            await asyncio.sleep(0)
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
            self.functions.check_blocked()

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
        rig.functions.check_blocked()
        await eventually(lambda: not rig.functions.blocked_for())
        await blocking

    run(main)


def shown(error: NotFinished) -> list[str | None]:
    """The lines of the traceback, the innermost last."""
    return [frame.line for frame in traceback.extract_tb(error.where)]


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
            f"the request waited 3.1s for its turn behind {BLOCKING}, "
            "too long for the caller's timeout of 10s",
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
        error = await waiting
        assert isinstance(error, NotFinished)
        assert shown(error)[-1] == "await asyncio.get_running_loop().create_future()"
        assert await asyncio.to_thread(rig.ended.wait, 20)
        await eventually(lambda: not rig.functions.blocked_for())

    run(main)


def test_one_that_blocks_is_shown_where_it_does() -> None:
    async def main(rig: Rig) -> None:
        blocking = asyncio.create_task(rig.bind("blocking", seconds=3))
        await asyncio.to_thread(rig.reached.wait, 20)
        rig.pass_time(3.1)
        error = await blocking
        assert isinstance(error, NotFinished)
        assert "self.gate.wait(20)" in shown(error)
        await rig.open_gate()

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
            assert {type(await one) for one in binds} == {NotFinished}
            await eventually(lambda: not rig.functions.blocked_for())

        await leave_behind(99)
        assert caplog.messages == []
        await leave_behind(1)
        rig.functions.check_blocked()
        assert caplog.messages == [f"{what}; binds are rejected until one ends"]
        rejected = await rig.bind("innocent")
        assert isinstance(rejected, NotDecided)
        assert (rejected.kind, str(rejected)) == (
            "stuck",
            (f"{what}; no other is called until one ends"),
        )
        assert rig.stubborn == 100

        rig.gate.set()
        await eventually(lambda: not rig.functions.left_behind)
        rig.functions.check_blocked()
        assert caplog.messages[1:] == [
            "async functions that were cancelled have ended; others run again"
        ]
        assert not isinstance(await rig.bind("innocent"), Exception)

    run(main)


class OddError(BaseException):
    pass


def leave_task(error: BaseException) -> None:
    async def end() -> None:
        raise error

    TASKS.append(asyncio.create_task(end()))


def leave_callback(error: BaseException) -> None:
    def end() -> None:
        raise error

    asyncio.get_running_loop().call_soon(end)


#: Somebody has to keep them, or they might be collected before they run.
TASKS: list[asyncio.Task[None]] = []


@pytest.mark.parametrize("leave", [leave_task, leave_callback])
@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), OddError("odd")])
def test_what_one_leaves_behind_cannot_end_the_loop(
    leave: Callable[[BaseException], None],
    error: BaseException,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main(rig: Rig) -> None:
        waiting = asyncio.create_task(rig.bind("waiting"))
        await asyncio.to_thread(rig.waiting.wait, 20)
        rig.leave = lambda: leave(error)
        for _ in range(3):
            assert not isinstance(await rig.bind("leaving"), Exception)
        rig.leave = lambda: None
        assert not isinstance(await rig.bind("innocent"), Exception)
        assert not waiting.done()
        waiting.cancel()
        if not isinstance(error, OddError):  # asyncio logs those that end nothing
            ends = f"tried to end the process ({type(error).__name__}"
            assert [ends in line for line in caplog.messages[:3]] == [True] * 3
            assert "in end\n    raise error" in caplog.text
        TASKS.clear()

    run(main)


def test_one_that_stops_the_loop_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    async def main(rig: Rig) -> None:
        rig.leave = lambda: asyncio.get_running_loop().stop()
        for _ in range(3):
            assert not isinstance(await rig.bind("leaving"), Exception)
        assert not isinstance(await rig.bind("innocent"), Exception)
        assert caplog.messages[0] == (
            "an async function of the policy stopped its event loop; the loop continues"
        )

    run(main)


def test_a_loop_that_is_broken_is_made_anew(caplog: pytest.LogCaptureFixture) -> None:
    """As when a policy closes files that are not its own."""

    async def main(rig: Rig) -> None:
        def break_it() -> None:
            loop: Any = asyncio.get_running_loop()

            def select(*_: object) -> None:
                raise OSError("bad file descriptor")

            loop._selector.select = select

        rig.leave = break_it
        broken = asyncio.create_task(rig.bind("leaving", seconds=3))
        await eventually(lambda: "it is replaced" in caplog.text)
        await eventually(lambda: all(one.name != "wait" for one in threading.enumerate()))
        rig.leave = lambda: None
        assert not isinstance(await rig.bind("innocent"), Exception)
        assert rig.functions.left_behind == 0
        rig.pass_time(3.1)
        await broken
        assert rig.functions.why_stuck() == ""

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
        said = f"{BLOCKING} has blocked all async functions for 5.1s"
        assert re.fullmatch(said, caplog.messages[0])
        assert (rig.functions.why_stuck(), rig.functions.stuck_for()) == ("", 0.0)

        rig.pass_time(4)
        assert len(caplog.messages) == 2
        said = (
            f"{BLOCKING} cannot be interrupted; /livez fails and binds are rejected until it "
            "returns"
        )
        assert re.fullmatch(said, caplog.messages[1])
        said = f"{BLOCKING} has blocked all async functions for 13s and cannot be interrupted"
        assert re.fullmatch(said, rig.functions.why_stuck())
        rejected = await rig.bind("innocent")
        assert isinstance(rejected, NotDecided)
        assert rejected.kind == "stuck"
        assert re.fullmatch(f"{said}; no async function runs until it returns", str(rejected))

        await rig.open_gate()
        await blocking
        rig.functions.check_blocked()
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
        rig.functions.check_blocked()
        assert rig.functions.why_stuck() == ""
        await rig.open_gate()
        await blocking

    run(main)
    assert caplog.messages == []
