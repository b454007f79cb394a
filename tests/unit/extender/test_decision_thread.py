import asyncio
import subprocess
import sys
import threading

import pytest

from mooring.extender.decision_thread import DecisionThread
from mooring.testing.kube import wait_for


def test_calls_run_one_after_the_other_in_order() -> None:
    thread = DecisionThread()
    seen: list[int] = []
    futures = [thread.submit(seen.append, number) for number in range(100)]
    assert thread.submit(sorted, [2, 1], reverse=False).result(20) == [1, 2]
    assert thread.submit(lambda: threading.current_thread().name).result(20) == "decide"
    assert seen == list(range(100))
    assert all(future.done() for future in futures)
    thread.shutdown()


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(3), KeyboardInterrupt()])
def test_errors_are_raised_where_the_result_is_awaited(error: BaseException) -> None:
    def fail() -> None:
        raise error

    thread = DecisionThread()
    assert thread.submit(fail).exception(20) is error
    assert thread.submit(lambda: "goes on").result(20) == "goes on"
    thread.shutdown()


def test_what_is_cancelled_before_its_turn_does_not_run() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        gate = threading.Event()
        thread = DecisionThread()
        ran: list[str] = []
        first = loop.run_in_executor(thread, gate.wait, 20)
        second = loop.run_in_executor(thread, ran.append, "second")
        second.cancel()
        await asyncio.sleep(0)  # until then the thread does not know
        third = loop.run_in_executor(thread, ran.append, "third")
        gate.set()
        await asyncio.gather(first, third)
        assert ran == ["third"]
        thread.shutdown()

    asyncio.run(main())


def test_the_thread_ends_after_its_work() -> None:
    before = set(threading.enumerate())
    thread = DecisionThread()
    (worker,) = set(threading.enumerate()) - before
    last = thread.submit(lambda: "done")
    thread.shutdown()
    assert last.result(20) == "done"
    wait_for(lambda: not worker.is_alive(), "the thread to end")


def test_a_function_that_never_returns_does_not_keep_the_process_alive() -> None:
    script = """
import asyncio, threading
import mooring as mr
from mooring.extender.service import Service

async def main():
    started = threading.Event()
    def stuck():
        started.set()
        threading.Event().wait()
    async with Service(mr.Policy("stuck")) as service:
        task = asyncio.create_task(service.decide(stuck))
        await asyncio.to_thread(started.wait)
        task.cancel()

asyncio.run(main())
print("over")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "over\n", "")
