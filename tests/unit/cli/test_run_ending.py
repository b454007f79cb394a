"""`moor run` ends although a policy left threads behind that never do."""

import signal
import subprocess
import sys
from pathlib import Path

from mooring.testing import cluster, make_node
from mooring.testing.process import free_port, wait_for

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
    assert "1 threads of the policy have not ended: ending without them" in log.read_text()
