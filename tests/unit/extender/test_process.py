"""The main thread decides until serving is over, and tells what came of it; no process is made."""

import asyncio
import logging
import threading

import pytest

import mooring as mr
from mooring.extender.decision_thread import DecisionQueue
from mooring.extender.process import SignalSocket, decide_and_serve
from mooring.extender.service import ExtenderService
from mooring.process.deadline import Deadline


async def serve_and_look(decisions: DecisionQueue, deadline: Deadline) -> bool:
    """Run a service to its end; whether the main thread still decides then."""
    async with ExtenderService(mr.Policy("mine"), decisions=decisions, interrupt=deadline):
        pass
    decided = threading.Event()
    decisions.put(decided.set)
    return await asyncio.to_thread(decided.wait, 20)


def test_the_exit_code_is_that_of_serving(caplog: pytest.LogCaptureFixture) -> None:
    async def main(decisions: DecisionQueue, deadline: Deadline, _: SignalSocket) -> int:
        assert await serve_and_look(decisions, deadline)
        return 3

    with caplog.at_level(logging.INFO, "mooring.extender"):
        assert decide_and_serve(main, 4.0) == 3
    assert caplog.messages == ["stopped"]


def test_what_ends_serving_is_raised() -> None:
    async def main(decisions: DecisionQueue, deadline: Deadline, _: SignalSocket) -> int:
        assert await serve_and_look(decisions, deadline)
        raise ValueError("boom")

    with pytest.raises(ValueError, match="boom"):
        decide_and_serve(main, 4.0)


def test_the_thread_that_serves_has_ended() -> None:
    async def main(decisions: DecisionQueue, deadline: Deadline, _: SignalSocket) -> int:
        return 0

    before = set(threading.enumerate())
    assert decide_and_serve(main, 4.0) == 0
    assert set(threading.enumerate()) <= before
