import subprocess
import sys
import threading
import weakref

import pytest

from mooring.extender.decision_thread import DecisionQueue, DecisionThread
from mooring.testing.real_kubernetes import wait_for


def test_calls_run_one_after_the_other_in_order() -> None:
    thread = DecisionThread()
    seen: list[int] = []
    names: list[str] = []
    done = threading.Event()
    for number in range(100):
        thread.put(lambda number=number: seen.append(number))  # type: ignore[misc]
    thread.put(lambda: names.append(threading.current_thread().name))
    thread.put(done.set)
    assert done.wait(20)
    assert seen == list(range(100))
    assert names == ["decide"]
    thread.stop()


def test_any_thread_may_decide() -> None:
    decisions = DecisionQueue()
    assert decisions.thread_id is None
    seen: list[int] = []
    decisions.put(lambda: seen.append(threading.get_ident()))
    decisions.stop()
    decisions.run()
    assert seen == [threading.get_ident()] == [decisions.thread_id]


def test_a_fault_of_our_own_does_not_end_it(caplog: pytest.LogCaptureFixture) -> None:
    decisions, seen = DecisionQueue(), []
    decisions.put(lambda: seen.append(1 // 0))
    decisions.put(lambda: seen.append(2))
    decisions.stop()
    decisions.run()
    assert seen == [2]
    assert "a decision failed: internal error" in caplog.text


def test_what_was_called_is_forgotten_before_the_next_call() -> None:
    class Body:
        def call(self) -> None: ...

    decisions, alive = DecisionQueue(), []
    body = Body()
    gone = weakref.ref(body)
    decisions.put(body.call)
    decisions.put(lambda: alive.append(gone() is not None))
    decisions.stop()
    del body
    decisions.run()
    assert alive == [False]


def test_the_thread_ends_after_its_work() -> None:
    before = set(threading.enumerate())
    thread = DecisionThread()
    (worker,) = set(threading.enumerate()) - before
    done = threading.Event()
    thread.put(done.set)
    thread.stop()
    assert done.wait(20)
    wait_for(lambda: not worker.is_alive(), "the thread to end")


def test_a_function_that_never_returns_does_not_keep_the_process_alive() -> None:
    script = """
import asyncio, threading
import mooring as mr
from mooring.extender.service import ExtenderService

async def main():
    started = threading.Event()
    def stuck():
        started.set()
        threading.Event().wait()
    async with ExtenderService(mr.Policy("stuck")) as service:
        task = asyncio.create_task(service.decide(stuck))
        await asyncio.to_thread(started.wait)
        task.cancel()

asyncio.run(main())
print("over")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "over\n", "")
