"""`moor run` ends although a policy left threads behind that never do, or never comes back."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mooring.testing import TestCluster, cluster, make_node
from mooring.testing.child_process import WaitError, wait_for

POLICY = """
import threading
from concurrent.futures import ThreadPoolExecutor

import mooring as mr

policy = mr.Policy("threads")
pool = ThreadPoolExecutor(1)
never = threading.Event()


@policy.filter
def asks(pod, node):
    pool.submit(never.wait)
    return True
"""


HANGING = """
import logging
import time
from pathlib import Path

import mooring as mr

policy = mr.Policy("hanging")


@policy.filter
def hangs(pod, node):
    for number in range(23):
        logging.warning("line %d", number)
    Path(__file__).with_name("reached").touch()
    time.sleep(3600)
"""


LEAVING = """
import asyncio
import sys

import mooring as mr

policy = mr.Policy("leaving")
kept = []


@policy.bind
async def leaves(binding):
    async def end():
        sys.exit(7)

    if binding.name == "web":
        kept.append(asyncio.create_task(end()))
    else:
        asyncio.get_running_loop().call_soon(sys.exit, 8)
"""


class Started(NamedTuple):
    """`moor run` with a policy, on a cluster with one pod."""

    cluster: TestCluster
    process: "subprocess.Popen[bytes]"
    log: Path


@contextlib.contextmanager
def started(folder: Path, policy: str, *options: str) -> Iterator[Started]:
    (folder / "policy.py").write_text(policy)
    log = folder / "log"
    with cluster([make_node("a", cpu="4")], scheduler=False) as made, log.open("w") as out:
        made.create_pod("web")
        command = [
            sys.executable, "-m", "mooring.cli", "run", "policy.py", "--no-leader-elect",
            "--kubeconfig", str(made.kubeconfig), "--port", "0", *options,
        ]  # fmt: skip
        with subprocess.Popen(command, cwd=folder, stdout=out, stderr=out) as process:
            try:
                yield Started(made, process, log)
            finally:
                process.kill()


def test_sigterm_ends_it_with_zero(tmp_path: Path) -> None:
    with started(tmp_path, POLICY) as (made, process, log):
        wait_for(lambda: made.placements().get("web") or None, "the pod to be bound", 60)
        process.send_signal(signal.SIGUSR2)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, log.read_text()
    assert "1 thread of the policy did not end: exiting without waiting for it" in log.read_text()


def test_a_second_signal_ends_it_inside_a_hook(tmp_path: Path) -> None:
    with started(tmp_path, HANGING, "--hook-timeout", "3600") as (_, process, log):
        wait_for((tmp_path / "reached").exists, "the hook to be reached", 60)
        process.send_signal(signal.SIGTERM)
        said = "SIGTERM: stopping once plugin hanging in filter 'hangs' for pod"
        with contextlib.suppress(WaitError):
            wait_for(lambda: said in log.read_text(), "the first signal to be told", 60)
        assert said in log.read_text()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 1, log.read_text()
    assert "the second signal: exiting immediately" in log.read_text()
    assert "3 more like this in the last" in log.read_text()


def test_what_a_hook_left_behind_does_not_end_it(tmp_path: Path) -> None:
    with started(tmp_path, LEAVING) as (made, process, log):
        for name, code in (("web", 7), ("other", 8)):
            if name != "web":
                made.create_pod(name)

            def is_over(name: str = name) -> bool:
                return bool(made.placements().get(name)) or process.poll() is not None

            wait_for(is_over, f"pod {name} to be bound", 60)
            assert made.placements().get(name) == "a", log.read_text()
            said = f"tried to end the process (SystemExit: {code}); it continues"
            assert said in log.read_text()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, log.read_text()
