"""What becomes of turns when a policy's function does not return."""

import asyncio
import re
import threading
from collections.abc import Callable

import pytest

from mooring.errors import MooringError, PolicyError
from mooring.extender import decision_turns
from mooring.extender.in_progress import InProgress, in_progress
from mooring.framework.rules import FilterRule
from mooring.testing import make_node, make_pod
from tests.unit.extender.asgi import eventually
from tests.unit.extender.turns_rig import Asked, Rig, kind, run


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
                "filter 'check' on node a has not returned 5.1s after the decision began "
                "(pod default/web, at test_decision_turns_hanging.py:"
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
            assert "10s after the decision began and cannot be interrupted" in str(rejected)

            go_on.set()
            await eventually(lambda: not rig.turns.stuck_for())
            rig.turns.check_timeouts()
            assert "requests are processed again" in caplog.messages[-1]
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
                r"the request waited 8.1s for its turn behind filter 'check' on node a "
                r"\(pod default/web, at test_decision_turns_hanging.py:\d+\), too long for the "
                r"caller's timeout of 10s",
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
            "the request waited 8.0s for its turn, too long for the caller's timeout of 10s"
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
