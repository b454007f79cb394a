"""A real ``moor serve`` with hostile callers and a leaking policy: memory, files, workers."""

import contextlib
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mooring.testing.real_kubernetes import wait_for
from tests.unit.cli.conftest import Serve
from tests.unit.cli.moor import Moor, exchange, filter_body
from tests.unit.extender.asgi import sample

POLICY = """
import os
import resource
import time
from pathlib import Path

import mooring as mr

policy = mr.Policy("hostile", usage=False)
GATE = Path(__file__).with_name("gate")
held = []


@policy.filter
def check(pod, node):
    if pod.name == "slow":
        GATE.with_name("reached").touch()
        while not GATE.exists():
            time.sleep(0.01)
    if pod.name == "few":
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
    if pod.name == "leak":
        try:
            while True:
                held.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            pass
    if pod.name == "free":
        while held:
            os.close(held.pop())
    return True
"""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    file = tmp_path / "hostile.py"
    file.write_text(POLICY)
    return file


def memory(moor: Moor) -> int:
    """Bytes in memory."""
    for line in Path(f"/proc/{moor.process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) << 10
    raise AssertionError("no VmRSS")


def gauge(moor: Moor, name: str) -> float:
    return sample(moor.get("/metrics").body, f"mooring_extender_{name}")


def large(pod: str, size: int) -> bytes:
    body = filter_body(pod)[:-1] + b',"Padding":"' + b"x" * size + b'"}'
    head = f"POST /filter HTTP/1.1\r\nHost: [::1]\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


@contextlib.contextmanager
def hung_up(moor: Moor, data: bytes) -> Iterator[None]:
    """A caller that sends something, and hangs up at the end of the block."""
    with socket.create_connection(("127.0.0.1", moor.port), timeout=120) as raw:
        raw.sendall(data)
        yield


def test_memory_is_bounded_whatever_callers_leave_behind(serve: Serve, policy: Path) -> None:
    """As was seen: 30 bodies of 20 MB made 600 MB until the function returned."""
    moor = serve(
        policy, "--timeout", "300", "--drain", "0", "--max-held", "64Mi", "--max-body", "64Mi"
    )
    assert moor.post("/filter", filter_body()).json()["NodeNames"] == ["a", "b"]
    size = 20 << 20
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(moor.post, "/filter", filter_body("slow"))
        wait_for(policy.with_name("reached").exists, "the function to hang")
        start = memory(moor)
        for _ in range(30):
            with hung_up(moor, large("gone", size)):
                wait_for(lambda: gauge(moor, "held_bytes") > size, "the body to be there")
            wait_for(lambda: gauge(moor, "held_bytes") < size, "the body to be gone")
        assert gauge(moor, "waiting_requests") == 1
        assert memory(moor) < start + 5 * size
        policy.with_name("gate").touch()
        assert slow.result(60).json()["NodeNames"] == ["a", "b"]
    gone = sample(moor.get("/metrics").body, "mooring_extender_errors_total", kind="gone")
    assert gone == 30


def test_many_at_once_find_no_more_room_than_there_is(serve: Serve, policy: Path) -> None:
    moor = serve(
        policy, "--timeout", "300", "--drain", "0", "--max-held", "64Mi", "--max-body", "32Mi"
    )
    assert moor.post("/filter", filter_body()).json()["NodeNames"] == ["a", "b"]
    with ThreadPoolExecutor(31) as pool:
        slow = pool.submit(moor.post, "/filter", filter_body("slow"))
        wait_for(policy.with_name("reached").exists, "the function to hang")
        start = memory(moor)
        body = large("many", 20 << 20).partition(b"\r\n\r\n")[2]
        asked = [pool.submit(moor.post, "/filter", body) for _ in range(30)]
        wait_for(lambda: sum(one.done() for one in asked) >= 27, "most to be rejected")
        assert memory(moor) < start + (200 << 20)
        policy.with_name("gate").touch()
        assert slow.result(60).json()["NodeNames"] == ["a", "b"]
        problems = [str(one.result(60).json()["Error"]) for one in asked]
    rejected = [problem for problem in problems if problem]
    assert len(rejected) >= 27
    assert all("(--max-held); try again later" in problem for problem in rejected)


def test_no_file_descriptor_left(serve: Serve, policy: Path) -> None:
    """A policy that leaks them harms new connections while it holds them, and nothing else."""
    moor = serve(policy, "--drain", "0")
    with contextlib.closing(moor.connect()) as old:
        for pod in ("few", "leak"):
            assert exchange(old, "POST", "/filter", filter_body(pod)).status == 200
        for _ in range(20):
            with pytest.raises(ConnectionError):
                moor.get("/livez")
        moor.wait_log(
            r"no file descriptors are left \(the limit is 100\): new connections are closed"
        )
        assert exchange(old, "POST", "/filter", filter_body()).json()["NodeNames"] == ["a", "b"]
        assert exchange(old, "POST", "/filter", filter_body("free")).status == 200
    assert moor.get("/livez").status == 200
    assert len(moor.log().splitlines()) < 10
    assert moor.log().count("file descriptor") == 1
    moor.stop()
    assert moor.process.returncode == 0


def test_workers_bear_it_together(serve: Serve, policy: Path) -> None:
    moor = serve(policy, "--workers", "2", "--timeout", "2", "--drain", "0", "--max-waiting", "5")
    wait_for(lambda: moor.log().count("listening on 127.0.0.1:") == 2, "both workers")
    with contextlib.ExitStack() as stack:
        for number in range(90):
            # Half a body, half of the headers, or a request that nobody waits for.
            data = large("web", 100_000)[: (50_000, 20, 200_000)[number % 3]]
            stack.enter_context(hung_up(moor, data))
        for _ in range(20):
            reply = moor.post("/filter", filter_body())
            assert reply.status == 200
            assert reply.json()["NodeNames"] or "try again later" in reply.json()["Error"]
    wait_for(lambda: gauge(moor, "held_bytes") == 0, "all bodies to be gone")
    assert "ended with" not in moor.log()
    assert "Traceback" not in moor.log()
    assert moor.post("/filter", filter_body()).json()["NodeNames"] == ["a", "b"]
