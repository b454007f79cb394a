"""``moor explain`` as a process, with a policy that nothing seems to end."""

import json
import signal
import subprocess
import sys
from pathlib import Path

from mooring.testing import make_node, make_pod
from mooring.testing.child_process import wait_for
from tests.unit.cli.moor import environment

STUBBORN = """
import time
from pathlib import Path

import mooring as mr

policy = mr.Policy("stubborn")


@policy.filter
def stuck(pod, node):
    Path(__file__).with_name("reached").touch()
    while True:
        try:
            time.sleep(3600)  # the line to be named
        except BaseException:
            pass
"""


def started(folder: Path, hook_timeout: str) -> "subprocess.Popen[str]":
    (folder / "stubborn.py").write_text(STUBBORN)
    items = [
        {"apiVersion": "v1", "kind": one.kind_name, **one.raw}
        for one in (make_node("a"), make_pod("web"))
    ]
    (folder / "dump.json").write_text(json.dumps({"kind": "List", "items": items}))
    return subprocess.Popen(
        [
            sys.executable, "-m", "mooring.cli", "explain", "default/web", "-s", "dump.json",
            "--policy", "stubborn.py", "--hook-timeout", hook_timeout,
        ],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
        env=environment(folder), start_new_session=True,
    )  # fmt: skip


def test_the_fifth_interruption_that_is_ignored_is_the_last(tmp_path: Path) -> None:
    with started(tmp_path, "0.1") as process:
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (2, "")
    line = STUBBORN.splitlines().index("            time.sleep(3600)  # the line to be named") + 1
    assert err == (
        "moor: plugin stubborn in filter 'stuck' for pod default/web ignored 5 interruptions and "
        f"is still running at {tmp_path / 'stubborn.py'}:{line}; fix it\n"
    )


def test_ctrl_c_ends_it_inside_a_hook(tmp_path: Path) -> None:
    with started(tmp_path, "3600") as process:
        wait_for((tmp_path / "reached").exists, "the hook to be reached", 60)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (130, "", "moor: interrupted\n")
