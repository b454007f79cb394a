"""Turns with a clock and a decision thread of the test's own: nothing here waits for real time."""

import asyncio
import gc
import re
import threading
import weakref
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from mooring.errors import MooringError, PolicyError
from mooring.extender import decision_turns
from mooring.extender.decision_thread import DecisionQueue
from mooring.extender.decision_turn import NotDecided, WaitingCaller
from mooring.extender.decision_turns import Turns
from mooring.extender.in_progress import InProgress, in_progress
from mooring.framework.rules import FilterRule
from mooring.http.load_limits import LoadLimits
from mooring.testing import make_node, make_pod
from tests.unit.extender.asgi import eventually


@dataclass
class Interrupt:
    """What would interrupt functions."""

    limits: list[float | None] = field(default_factory=list)
    expired: list[str] = field(default_factory=list)

    def begin(self, seconds: float | None = None) -> None:
        self.limits.append(seconds)

    def expire(self, why: str) -> None:
        self.expired.append(why)


class Rig:
    """Turns, with everything around them in the hands of the test."""

    def __init__(self, limit: int = 3) -> None:
        self.now = 100.0
        self.interrupt = Interrupt()
        self.decisions = DecisionQueue()
        self.before = 0
        self.load_limits = LoadLimits(1000)
        self.turns = Turns(
            self.decisions,
            timeout=10.0,
            limit=limit,
            before=self._count,
            clock=lambda: self.now,
            interrupt=self.interrupt,
        )

    def _count(self) -> None:
        self.before += 1

    def caller(self, size: int = 0) -> WaitingCaller:
        memory = self.load_limits.open()
        memory.add(size)
        return WaitingCaller(self.now, memory)

    async def ask(self, work: Callable[[], object], caller: WaitingCaller | None = None) -> object:
        """Ask as the application does: its hold on the bytes ends with the answer."""
        caller = caller if caller is not None else self.caller()
        try:
            return await self.turns.run(caller, work)
        except MooringError as error:
            return error
        finally:
            assert caller.memory is not None
            caller.memory.release()

    def start(self, work: Callable[[], object], caller: WaitingCaller | None = None) -> "Asked":
        return asyncio.ensure_future(self.ask(work, caller))

    async def settle(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)

    def decide_all(self) -> None:
        """Let the decision thread do all that waits for it, on this thread."""
        self.decisions.stop()
        self.decisions.run()

    def decide_elsewhere(self) -> threading.Thread:
        thread = threading.Thread(target=self.decisions.run, daemon=True)
        thread.start()
        return thread


Asked = asyncio.Future[object]


def run(test: Callable[[Rig], Awaitable[None]], **options: int) -> None:
    async def main() -> None:
        rig = Rig(**options)
        await test(rig)
        await rig.settle()
        assert rig.turns.waiting == 0
        assert rig.load_limits.bytes == 0

    asyncio.run(main())


def kind(error: object) -> str:
    assert isinstance(error, NotDecided), error
    return error.kind


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
            "3 requests wait already, as many as may (--max-waiting); ask again later"
        )
        rig.decide_all()
        assert [await one for one in asked] == [1, 1, 1]

    run(main)


def test_one_request_waits_and_two_wait() -> None:
    async def main(rig: Rig) -> None:
        asked = rig.start(lambda: 1)
        await rig.settle()
        assert str(await rig.ask(lambda: 1)).startswith("1 request waits already, as many as may")
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


class TestAFunctionThatHangs:
    def hang(
        self, rig: Rig, size: int = 0, after: Callable[[], object] = lambda: None
    ) -> tuple[threading.Event, Asked]:
        """Ask for something that hangs in a policy's function until the event is set."""
        started, go_on = threading.Event(), threading.Event()

        def check(pod: object, node: object) -> None:
            started.set()
            go_on.wait(20)
            after()

        rule = FilterRule(kind="filter", name="check", function=check)
        nodes = [make_node("a"), make_node("b")]
        asked = rig.start(lambda: rule.rejections(make_pod("web"), nodes), rig.caller(size))
        rig.decide_elsewhere()
        self.started = started
        return go_on, asked

    def test_is_named_while_it_hangs_and_answered_for_in_time(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def main(rig: Rig) -> None:
            stuck: list[str] = []
            rig.turns.on_stuck = lambda found: stuck.append(str(found))
            go_on, asked = self.hang(rig, 500)
            await asyncio.to_thread(self.started.wait, 20)
            behind = rig.start(lambda: 1, rig.caller(300))
            await rig.settle()
            for _ in range(51):
                rig.now += 0.1
                rig.turns.check_timeouts()
            assert len(caplog.records) == 1
            assert caplog.messages[0].startswith(
                "filter 'check' on node a has not returned 5.1 s after the decision began "
                "(pod default/web, at test_decision_turns.py:"
            )
            for _ in range(44):
                rig.now += 0.1
                rig.turns.check_timeouts()
            error = await asked
            assert isinstance(error, PolicyError)
            assert (error.function, error.node) == ("check", "a")
            assert str(error).startswith("filter 'check' on node a has not returned 9.")
            assert stuck == ["filter 'check' on node a"]  # as soon as it is to blame
            late = await behind
            assert kind(late) == "late"
            assert "for its turn behind filter 'check' on node a (pod default/web, at " in str(late)
            assert rig.load_limits.bytes == 500  # the function has them
            assert rig.turns.why_stuck() == ""

            for _ in range(10):
                rig.now += 0.1
                rig.turns.check_timeouts()
            assert stuck == ["filter 'check' on node a"]
            assert "cannot be interrupted; /livez fails" in caplog.messages[-1]
            assert rig.turns.stuck_for() > 10
            rejected = await rig.ask(lambda: 1)
            assert kind(rejected) == "stuck"
            assert "10 s after the decision began and cannot be interrupted" in str(rejected)

            go_on.set()
            await eventually(lambda: not rig.turns.stuck_for())
            rig.turns.check_timeouts()
            assert "requests are decided again" in caplog.messages[-1]
            assert await rig.ask(lambda: 2) == 2
            assert len(caplog.records) == 3

        run(main)

    def test_is_counted_once_although_its_caller_has_left(self) -> None:
        async def main(rig: Rig) -> None:
            stuck: list[str] = []
            rig.turns.on_stuck = lambda found: stuck.append(str(found))
            blamed: list[bool] = []
            go_on, asked = self.hang(rig, after=lambda: blamed.append(rig.turns.is_blamed()))
            await asyncio.to_thread(self.started.wait, 20)
            asked.cancel()
            await rig.settle()
            for _ in range(120):
                rig.now += 0.1
                rig.turns.check_timeouts()
            assert stuck == ["filter 'check' on node a"]
            assert not rig.turns.is_blamed()  # on this thread nobody is
            go_on.set()
            await eventually(lambda: bool(blamed))
            assert blamed[0]
            await eventually(lambda: not rig.turns.stuck_for())

        run(main)

    def test_is_named_to_those_who_came_together_with_it(self) -> None:
        """Their time is over, too, when it is interrupted at last."""

        async def main(rig: Rig) -> None:
            go_on, asked = self.hang(rig)
            together = rig.start(lambda: 1)
            await asyncio.to_thread(self.started.wait, 20)
            await rig.settle()
            for _ in range(81):
                rig.now += 0.1
                rig.turns.check_timeouts()
            later = rig.start(lambda: 2)
            go_on.set()
            await asked
            error = await together
            assert kind(error) == "late"
            assert re.fullmatch(
                r"the request waited 8.1 s for its turn behind filter 'check' on node a "
                r"\(pod default/web, at test_decision_turns.py:\d+\), too long for the caller's "
                r"timeout of 10 s",
                str(error),
            )
            assert await later == 2

        run(main)

    def test_is_no_more_to_blame_once_it_has_returned(self) -> None:
        async def main(rig: Rig) -> None:
            go_on, asked = self.hang(rig)
            await asyncio.to_thread(self.started.wait, 20)
            for _ in range(81):
                rig.now += 0.1
                rig.turns.check_timeouts()
            go_on.set()
            await asked
            rig.now += 1
            rig.turns.check_timeouts()
            await self.wait_behind_another(rig)

        run(main)

    async def wait_behind_another(self, rig: Rig) -> None:
        """Be late for a reason that has nothing to do with what hung before."""
        blocked, gate = threading.Event(), threading.Event()

        def wait_for_gate() -> None:
            blocked.set()
            gate.wait(20)

        before = rig.start(wait_for_gate)
        await asyncio.to_thread(blocked.wait, 20)
        behind = rig.start(lambda: 1)
        await rig.settle()
        rig.now += 8
        gate.set()
        await before
        assert str(await behind) == (
            "the request waited 8.0 s for its turn, too long for the caller's timeout of 10 s"
        )

    def test_is_not_to_blame_if_it_returns_while_it_is_looked_at(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def main(rig: Rig) -> None:
            go_on, asked = self.hang(rig)
            await asyncio.to_thread(self.started.wait, 20)

            def returns_meanwhile(thread_id: int | None) -> InProgress | None:
                found, over = in_progress(thread_id), threading.Event()
                go_on.set()
                rig.decisions.put(over.set)
                assert over.wait(20)
                return found

            monkeypatch.setattr(decision_turns, "in_progress", returns_meanwhile)
            rig.turns.check_timeouts()
            for _ in range(51):
                rig.now += 0.1
                rig.turns.check_timeouts()
            assert await asked == []
            assert caplog.messages == []
            rig.now += 600
            await self.wait_behind_another(rig)

        run(main)

    def test_a_process_that_was_stopped_has_hung_nothing(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def main(rig: Rig) -> None:
            go_on, asked = self.hang(rig)
            await asyncio.to_thread(self.started.wait, 20)
            rig.turns.check_timeouts()
            rig.now += 600
            rig.turns.check_timeouts()
            assert rig.turns.why_stuck() == ""
            assert caplog.messages == []
            go_on.set()
            assert isinstance(await asked, MooringError)  # its caller is gone

        run(main)

    def test_is_interrupted_at_the_end_and_the_others_are_told(self) -> None:
        async def main(rig: Rig) -> None:
            go_on, asked = self.hang(rig)
            await asyncio.to_thread(self.started.wait, 20)
            behind = rig.start(lambda: 1)
            await rig.settle()
            rig.turns.stop("the server is shutting down")
            assert rig.interrupt.expired == ["the server is shutting down"]
            assert kind(await behind) == "stopping"
            assert kind(await rig.ask(lambda: 1)) == "stopping"
            assert not asked.done()
            rig.turns.abandon()
            assert kind(await asked) == "stopping"
            go_on.set()

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
