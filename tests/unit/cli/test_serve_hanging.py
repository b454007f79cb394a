"""A real ``moor serve`` whose policy hangs: answers in time, honest health, an end that comes."""

import json
import re
import signal
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from mooring.testing.real_kubernetes import wait_for
from tests.unit.cli.conftest import Serve
from tests.unit.cli.moor import Moor, Reply, filter_body
from tests.unit.extender.asgi import sample

#: What the function does is the name of the pod.
POLICY = """
import ctypes
import os
import re
import socket
import threading
import time
from pathlib import Path

import mooring as mr

policy = mr.Policy("hanging", usage=False)
GATE = Path(__file__).with_name("gate")


@policy.filter
def check(pod, node):
    if pod.name in WAYS:
        GATE.with_name("reached").touch()
        WAYS[pod.name]()
    return node.name != "b" or f"worker {os.getpid()}"


@policy.score
def rate(pod, node):
    return 50


def sleeps():
    time.sleep(600)


def spins():
    while True:
        pass


def reads():
    ours, theirs = socket.socketpair()
    ours.recv(1)


def backtracks():
    re.fullmatch("(a|a)*b", "a" * 60)


def catches():
    while not GATE.exists():
        try:
            time.sleep(0.05)
        except BaseException:
            pass


def deaf():
    # A mutex that is locked already: no signal reaches Python before somebody opens it.
    libc = ctypes.CDLL(None)
    mutex = ctypes.create_string_buffer(64)
    libc.pthread_mutex_lock(mutex)

    def open_it():
        while not GATE.exists():
            time.sleep(0.01)
        libc.pthread_mutex_unlock(mutex)

    threading.Thread(target=open_it, daemon=True).start()
    libc.pthread_mutex_lock(mutex)


def leaks():
    threading.Thread(target=sleeps).start()


WAYS = {way.__name__: way for way in (sleeps, spins, reads, backtracks, catches, deaf, leaks)}
"""
LATE = "it had not finished 1.6 seconds after the request came"
HANGING = ["sleeps", "spins", "reads"]
STUCK = ["catches", "deaf"]


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    file = tmp_path / "hanging.py"
    file.write_text(POLICY)
    return file


def error_of(reply: Reply) -> str:
    assert reply.status == 200
    return str(reply.json()["Error"])


def hangs(moor: Moor) -> float:
    return sample(
        moor.get("/metrics").body, "mooring_policy_function_hangs_total", function="check"
    )


def failures(moor: Moor) -> float:
    return sample(
        moor.get("/metrics").body, "mooring_policy_function_errors_total", function="check"
    )


def count_waiting(moor: Moor) -> float:
    return sample(moor.get("/metrics").body, "mooring_extender_waiting_requests")


def ask(pool: ThreadPoolExecutor, moor: Moor, policy: Path, way: str) -> Future[Reply]:
    """Ask something that hangs, and come back when it does."""
    asked = pool.submit(moor.post, "/filter", filter_body(way))
    wait_for(policy.with_name("reached").exists, "the function to be reached")
    return asked


@pytest.mark.parametrize("way", HANGING)
def test_a_function_that_hangs_is_interrupted(serve: Serve, policy: Path, way: str) -> None:
    moor = serve(policy, "--timeout", "4", "--drain", "0")
    assert error_of(moor.post("/filter", filter_body(way))) == (
        "filter 'check' was interrupted on node a: the decision took longer than 3.2 seconds "
        "(it was called for 1 of 2 nodes)"
    )
    reply = moor.post("/filter", filter_body())
    assert (error_of(reply), reply.json()["NodeNames"]) == ("", ["a"])
    assert moor.get("/livez").body == moor.get("/readyz").body == b"ok"
    assert hangs(moor) == 1
    log = moor.log()
    assert "filter 'check' on node a has not returned " in log
    assert f"(pod default/{way}, at hanging.py:" in log
    assert "in check\n    WAYS[pod.name]()" in log  # where it was, in a traceback


def test_a_function_that_lets_nobody_else_run_is_interrupted(serve: Serve, policy: Path) -> None:
    """A search that goes astray keeps Python's lock, so the event loop stands still, too."""
    moor = serve(policy, "--timeout", "4", "--drain", "0")
    assert "was interrupted on " in error_of(moor.post("/filter", filter_body("backtracks")))
    assert moor.post("/filter", filter_body()).json()["NodeNames"] == ["a"]
    moor.signal(signal.SIGTERM)
    assert moor.wait() == 0


@pytest.mark.parametrize("way", STUCK)
def test_a_function_that_cannot_be_interrupted_is_answered_for(
    serve: Serve, policy: Path, way: str
) -> None:
    moor = serve(policy, "--timeout", "2", "--drain", "0")
    with ThreadPoolExecutor(2) as pool:
        asked = ask(pool, moor, policy, way)
        waiting = pool.submit(moor.post, "/prioritize", filter_body())
        hangs_there = "filter 'check' on node a has not returned "
        assert error_of(asked.result(30)).startswith(hangs_there)
        late = waiting.result(30)
        assert late.status == 503
        # It waited, or came when there was nothing to wait for any more.
        behind = r" behind filter 'check' on node a \(pod default/"
        assert re.search(f"{behind}|^{hangs_there}", late.json()["error"])
    wait_for(lambda: moor.get("/livez").status == 503, "livez to turn red")
    assert moor.get("/livez").body.startswith(b"filter 'check' on node a has not returned ")
    assert moor.get("/readyz").status == 503
    assert moor.get("/healthz").status == 200
    assert ("no request can be processed until it does") in error_of(
        moor.post("/filter", filter_body())
    )
    moor.wait_log(r"filter 'check' on node a \(pod default/\w+, at hanging.py:\d+\) cannot be int")
    assert (hangs(moor), failures(moor)) == (1, 1)
    policy.with_name("gate").touch()
    wait_for(lambda: moor.get("/livez").status == 200, "livez to turn green again")
    assert moor.get("/readyz").status == 200
    assert moor.post("/filter", filter_body()).json()["NodeNames"] == ["a"]
    moor.wait_log("requests are processed again")
    assert (hangs(moor), failures(moor)) == (1, 1)  # although it was interrupted after all


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("way", [*HANGING, *STUCK])
def test_the_end_comes_all_the_same(
    serve: Serve, policy: Path, way: str, number: signal.Signals
) -> None:
    moor = serve(policy, "--timeout", "300", "--drain", "0")
    with ThreadPoolExecutor(2) as pool:
        asked = ask(pool, moor, policy, way)
        waiting = pool.submit(moor.post, "/filter", filter_body())
        wait_for(lambda: count_waiting(moor) == 2, "the other one to wait")
        moor.signal(number)
        assert moor.wait() == 0
        assert "the server is shutting down" in error_of(asked.result(30))
        assert error_of(waiting.result(30)) == "the server is shutting down"
    assert "Traceback" not in moor.log()
    assert moor.log().rstrip().endswith("mooring.extender: stopped")
    left_behind = "cannot be interrupted: exiting without waiting for it" in moor.log()
    assert left_behind == (way in STUCK)


def test_threads_that_a_policy_left_behind_do_not_keep_it_alive(serve: Serve, policy: Path) -> None:
    moor = serve(policy, "--drain", "0")
    assert moor.post("/filter", filter_body("leaks")).json()["NodeNames"] == ["a"]
    moor.signal(signal.SIGTERM)
    assert moor.wait() == 0
    assert "2 threads of the policy did not end: exiting without waiting for it" in moor.log()
    assert "Traceback" not in moor.log()


ASYNC_POLICY = """
import time
from pathlib import Path

import mooring as mr

policy = mr.Policy("blocking", usage=False)


@policy.bind
async def note(binding):
    if binding.name == "blocks":
        Path(__file__).with_name("reached").touch()
        while not Path(__file__).with_name("gate").exists():
            time.sleep(0.01)


@policy.filter
def check(pod, node):
    return True
"""


def bind_body(pod: str) -> bytes:
    named = {"PodName": pod, "PodNamespace": "default", "PodUID": "u", "Node": "a"}
    return json.dumps(named).encode()


def test_an_async_function_that_blocks_is_named_to_those_behind_it(
    serve: Serve, policy: Path
) -> None:
    policy.write_text(ASYNC_POLICY)
    moor = serve(policy, "--timeout", "2", "--drain", "0")
    blocking = r"bind 'note' on node a \(pod default/blocks, at hanging.py:\d+\)"
    with ThreadPoolExecutor(2) as pool:
        asked = pool.submit(moor.post, "/bind", bind_body("blocks"))
        wait_for(policy.with_name("reached").exists, "the function to be reached")
        innocent = error_of(moor.post("/bind", bind_body("web")))
        assert re.search(f" behind {blocking}, too long for |^{blocking} has blocked ", innocent)
        assert error_of(asked.result(30)) == "bind 'note' failed on node a: " + LATE
    wait_for(lambda: moor.get("/livez").status == 503, "livez to turn red")
    assert re.match(f"{blocking} has blocked ", moor.get("/livez").body.decode())
    assert re.match(f"{blocking} has blocked ", error_of(moor.post("/bind", bind_body("web"))))
    assert moor.post("/filter", filter_body()).json()["NodeNames"] == ["a", "b"]
    moor.wait_log(f"{blocking} cannot be interrupted; /livez fails")
    policy.with_name("gate").touch()
    wait_for(lambda: moor.get("/livez").status == 200, "livez to turn green again")
    assert "this server has no cluster" in error_of(moor.post("/bind", bind_body("web")))
    moor.wait_log("others run again")


class TestWorkers:
    @pytest.mark.parametrize("way", ["sleeps", "deaf"])
    def test_end_although_a_function_hangs(self, serve: Serve, policy: Path, way: str) -> None:
        moor = serve(policy, "--workers", "2", "--timeout", "300", "--drain", "0")
        wait_for(lambda: moor.log().count("listening on 127.0.0.1:") == 2, "both workers")
        with ThreadPoolExecutor(1) as pool:
            asked = ask(pool, moor, policy, way)
            moor.signal(signal.SIGTERM)
            assert moor.wait() == 0
            assert "the server is shutting down" in error_of(asked.result(30))
        assert "Traceback" not in moor.log()

    def test_that_are_stuck_are_replaced(self, serve: Serve, policy: Path) -> None:
        # It is answered for after 0.94 of the time-out, and ends after twice the time-out: a busy
        # machine needs a while in between, and for answers that take no time at all.
        moor = serve(policy, "--workers", "2", "--timeout", "6", "--drain", "0")
        wait_for(lambda: moor.log().count("listening on 127.0.0.1:") == 2, "both workers")
        assert "has not returned" in error_of(moor.post("/filter", filter_body("deaf")))
        found = moor.wait_log(r"worker (\d+) exited with code 1; starting another")
        wait_for(lambda: len(moor.workers) == 3, "another worker")
        assert "this worker is stuck: filter 'check' on node a has not returned" in moor.log()
        stuck = int(found[1])

        def answered() -> set[int]:
            reply = moor.post("/filter", filter_body())
            assert error_of(reply) == ""
            return {int(reply.json()["FailedNodes"]["b"].removeprefix("worker "))}

        def all_others() -> bool:
            seen.update(answered())
            return seen == set(moor.workers) - {stuck}

        seen: set[int] = set()
        wait_for(all_others, "both workers to answer, and nobody else")


@pytest.mark.parametrize("way", ["sleeps", "spins"])
def test_an_edited_policy_helps(serve: Serve, policy: Path, way: str) -> None:
    moor = serve(policy, "--timeout", "4", "--drain", "0", "--reload")
    with ThreadPoolExecutor(1) as pool:
        asked = ask(pool, moor, policy, way)
        policy.write_text(POLICY.replace("WAYS[pod.name]()", "pass"))
        assert "was interrupted on node a: " in error_of(asked.result(30))
    moor.wait_log("reloaded policy hanging")
    assert moor.post("/filter", filter_body(way)).json()["NodeNames"] == ["a"]


def test_a_policy_file_that_hangs_when_it_is_loaded_again_keeps_the_old_one(
    serve: Serve, policy: Path
) -> None:
    moor = serve(policy, "--drain", "0", "--reload")
    assert moor.get("/readyz").status == 200
    loading = policy.with_name("loading")
    policy.write_text(
        f"import pathlib, time\npathlib.Path({str(loading)!r}).touch()\ntime.sleep(600)\n"
    )
    wait_for(loading.exists, "the file to be loaded")
    assert moor.post("/filter", filter_body()).json()["NodeNames"] == ["a"]
    moor.signal(signal.SIGTERM)
    assert moor.wait() == 0
    assert "Traceback" not in moor.log()
