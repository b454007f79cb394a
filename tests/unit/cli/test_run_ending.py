"""`moor run` ends although a policy left threads behind that never do, or never comes back."""

import contextlib
import signal
import subprocess
import sys
from pathlib import Path

from mooring.testing import cluster, make_node
from mooring.testing.process import WaitError, free_port, wait_for

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
import time
from pathlib import Path

import mooring as mr

policy = mr.Policy("hanging")


@policy.filter
def hangs(pod, node):
    Path(__file__).with_name("reached").touch()
    time.sleep(3600)
"""


def test_sigterm_ends_it_with_zero(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text(POLICY)
    log = tmp_path / "log"
    with cluster([make_node("a", cpu="4")], scheduler=False) as made, log.open("w") as out:
        made.create_pod("web")
        command = [
            sys.executable, "-m", "mooring.cli", "run", "policy.py", "--no-leader-elect",
            "--kubeconfig", str(made.kubeconfig), "--port", str(free_port()),
        ]  # fmt: skip
        with subprocess.Popen(command, cwd=tmp_path, stdout=out, stderr=out) as process:
            try:
                wait_for(lambda: made.placements().get("web") or None, "the pod to be bound", 60)
                process.send_signal(signal.SIGUSR2)
                process.send_signal(signal.SIGTERM)
                assert process.wait(60) == 0, log.read_text()
            finally:
                process.kill()
    assert "1 thread of the policy did not end: ending without waiting" in log.read_text()


def test_a_second_signal_ends_it_inside_a_hook(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text(HANGING)
    log = tmp_path / "log"
    with cluster([make_node("a", cpu="4")], scheduler=False) as made, log.open("w") as out:
        made.create_pod("web")
        command = [
            sys.executable, "-m", "mooring.cli", "run", "policy.py", "--no-leader-elect",
            "--kubeconfig", str(made.kubeconfig), "--port", str(free_port()),
            "--hook-timeout", "3600",
        ]  # fmt: skip
        with subprocess.Popen(command, cwd=tmp_path, stdout=out, stderr=out) as process:
            try:
                wait_for((tmp_path / "reached").exists, "the hook to be reached", 60)
                process.send_signal(signal.SIGTERM)
                said = "SIGTERM: the process stops once plugin hanging in filter 'hangs' for pod"
                with contextlib.suppress(WaitError):
                    wait_for(lambda: said in log.read_text(), "the first signal to be told", 60)
                assert said in log.read_text()
                process.send_signal(signal.SIGTERM)
                assert process.wait(60) == 1, log.read_text()
            finally:
                process.kill()
    assert "the second signal: the process ends at once" in log.read_text()
