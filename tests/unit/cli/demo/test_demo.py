import codecs
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from fcntl import ioctl
from pathlib import Path
from typing import Any

import pytest

from mooring.cli.demo.progress import DemoNode, DemoPod, Progress
from mooring.cli.demo.view import picture, zones
from mooring.cli.demo.workload import GPU, IMAGE, equip, steps
from mooring.embedded.fleet import make_fleet
from mooring.embedded.resources import PODS
from mooring.embedded.store import Store
from mooring.testing.child_process import wait_for
from tests.unit.cli.moor import environment

POLICY = """
import mooring as mr

policy = mr.Policy("odd-nodes")


@policy.score
def odd(pod: mr.Pod, node: mr.Node) -> float:
    return 100.0 * (int(node.name.rpartition("-")[2]) % 2)
"""
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def demo(folder: Path, *arguments: str, **env: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "mooring.cli", "demo", *arguments],
        capture_output=True, text=True, check=False, timeout=120,
        cwd=folder, env=environment(folder, **env),
    )  # fmt: skip


class TestInAPipe:
    def test_the_demo_tells_its_story_in_plain_lines(self, tmp_path: Path) -> None:
        done = demo(tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        text = done.stdout
        assert "\x1b" not in text
        assert "\r" not in text
        assert re.search(r"✓ web +50 replicas, spread over 3 zones → 1[67] \+ 1[67] \+ 1[67]", text)
        assert re.search(r"✓ db +8 replicas, at most one per node → 8 nodes", text)
        assert re.search(r"✓ training +a low-priority Job of 8 pods with one GPU each → ", text)
        assert re.search(r"✓ llm .* → node-7\n", text)
        assert re.search(r"✓ burst +\d+ pods at once → placed in [\d.]+s", text)
        assert re.search(r"✓ urgent .* → node-\d+, where training-\w+ was preempted", text)
        assert re.search(r"✗ giant .* → 0/20 nodes are available: ", text)
        assert len(re.findall(r"^node-\d+ +\S+ +[wdtlbu·]+ +\d+% +\d+$", text, re.MULTILINE)) == 20
        assert "demo/llm is on node-7, which is still the best node for it" in text
        assert "ImageLocality gives" in text
        assert "What would help, smallest change first" in text
        assert re.search(r"\d+ pods were created, placed and bound in [\d.]+s: \d+ pods/s", text)
        assert "moor cluster --scheduler" in text
        assert "docs/" not in text  # who installed a wheel has no repository
        assert list(tmp_path.iterdir()) == []

    def test_a_policy_takes_part_and_is_in_the_explanation(self, tmp_path: Path) -> None:
        file = tmp_path / "policy.py"
        file.write_text(POLICY)
        done = demo(tmp_path, "--nodes", "6", "--pods", "30", "--policy", "policy.py")
        assert (done.returncode, done.stderr) == (0, "")
        assert "with the policy odd-nodes" in done.stdout
        llm = done.stdout.partition("Why llm is there")[2]
        explained = llm.partition("Why giant is pending")[0]
        assert "odd" in explained

    def test_one_small_node_is_enough(self, tmp_path: Path) -> None:
        done = demo(tmp_path, "--nodes", "1", "--pods", "20")
        assert (done.returncode, done.stderr) == (0, "")
        assert "✗ giant" in done.stdout

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["--policy", "none.py"], "moor: none.py does not exist"),
            (["--nodes", "0"], "moor: invalid value for '--nodes'"),
        ],
    )
    def test_wrong_usage_is_one_sentence(
        self, tmp_path: Path, arguments: list[str], sentence: str
    ) -> None:
        done = demo(tmp_path, *arguments, COLUMNS="200")
        assert done.returncode == 2
        assert sentence in done.stderr
        assert "Traceback" not in done.stderr


RAISING = """
import mooring as mr

policy = mr.Policy("raising")


@policy.filter
def bad(pod, node):
    raise ValueError("boom")
"""
HANGING = """
import time
from pathlib import Path

import mooring as mr

policy = mr.Policy("hanging")


@policy.filter
def stuck(pod, node):
    Path(__file__).with_name("reached").touch()
    time.sleep(3600)
"""
STUBBORN = HANGING.replace(
    "    time.sleep(3600)",
    """    while True:
        try:
            time.sleep(3600)
        except BaseException:
            pass""",
)


class TestAPolicyThatFails:
    def test_one_that_raises_is_told_once_and_the_page_is_complete(self, tmp_path: Path) -> None:
        (tmp_path / "raising.py").write_text(RAISING)
        done = demo(tmp_path, "--nodes", "6", "--pods", "60", "--policy", "raising.py")
        assert done.returncode == 2
        assert done.stderr.count(" ERROR ") == 1
        assert done.stderr.count("ValueError: boom") == 3  # the line, its traceback, the end
        *_, last = done.stderr.splitlines()
        assert re.match(r"moor: scheduling failed for \d+ pods, first: plugin raising ", last)
        assert last.endswith("ValueError: boom; fix the policy")
        assert re.search(r"✗ web .* → plugin raising failed in filter for pod", done.stdout)
        giant = done.stdout.partition("Why giant is pending")[2]
        assert "calls the policy for every node" in giant
        assert "ValueError: boom" in giant
        assert "0 pods were created" not in done.stdout
        assert "moor cluster --scheduler" in done.stdout

    def test_one_that_hangs_ends_the_demo(self, tmp_path: Path) -> None:
        (tmp_path / "hanging.py").write_text(HANGING)
        done = demo(tmp_path, "--policy", "hanging.py", "--hook-timeout", "0.5")
        assert done.returncode == 2
        assert "Where the pods went" not in done.stdout
        *_, last = done.stderr.splitlines()
        assert re.match(
            (
                r"moor: the demo was stopped: after \d+s, only \d+ of 50 pods of web "
                r"had"
            ),
            last,
        )
        assert "plugin hanging failed in filter for pod demo/web-" in last
        assert "took longer than 0.5 seconds (it was called for 1 of 20 nodes)" in last
        assert last.endswith("; fix the policy, or raise --hook-timeout")

    def test_one_that_cannot_be_interrupted_ends_it_and_nothing_remains(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "stubborn.py").write_text(STUBBORN)
        files = tmp_path / "tmp"
        files.mkdir()
        limit = ("--hook-timeout", "0.1")
        done = demo(tmp_path, "--policy", "stubborn.py", *limit, TMPDIR=str(files))
        assert done.returncode == 2
        assert "plugin hanging in filter 'stuck' for pod demo/web-" in done.stderr
        assert (
            f"ignored 5 interruptions and is still running at {tmp_path / 'stubborn.py'}:"
            in done.stderr
        )
        assert list(files.iterdir()) == []

    def test_ctrl_c_ends_it_inside_a_hook(self, tmp_path: Path) -> None:
        (tmp_path / "stubborn.py").write_text(STUBBORN)
        files = tmp_path / "tmp"
        files.mkdir()
        limit = ("--hook-timeout", "3600")
        terminal = Terminal(tmp_path, "--policy", "stubborn.py", *limit, TMPDIR=str(files))

        def reached() -> bool:
            terminal.read()
            return (tmp_path / "reached").exists()

        wait_for(reached, "the hook to be reached", 60)
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.end() == 130
        assert "\x1b[?25h" in terminal.text  # the cursor is seen again
        assert list(files.iterdir()) == []


class Terminal:
    """The demo on a terminal of 80 columns."""

    def __init__(self, folder: Path, *arguments: str, **env: str) -> None:
        self._own, theirs = pty.openpty()
        ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        variables = environment(folder, TERM="xterm-256color", **env)
        for name in ("COLUMNS", "LINES", "NO_COLOR", "CI"):
            if name not in env:
                variables.pop(name, None)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mooring.cli", "demo", *arguments],
            stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=variables,
            start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self.text = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read(self) -> bool:
        """Take what is there; false at the end."""
        ended = self.process.poll() is not None  # before looking: it may write a last word
        ready, _, _ = select.select([self._own], [], [], 0.05)
        if not ready:
            return not ended
        try:
            self.text += self._decoder.decode(os.read(self._own, 65536))
        except OSError:
            return False
        return True

    def until(self, pattern: str) -> None:
        def look() -> bool:
            return not self.read() or re.search(pattern, self.text) is not None

        wait_for(look, pattern, 60)
        assert re.search(pattern, self.text), self.text

    def end(self) -> int:
        """Its exit code."""
        deadline = time.monotonic() + 60
        while self.read() and time.monotonic() < deadline:
            pass
        os.close(self._own)
        return self.process.wait(20)


class TestOnATerminal:
    def test_a_picture_moves_and_lines_stay_within_the_width(self, tmp_path: Path) -> None:
        terminal = Terminal(tmp_path, "--nodes", "30", "--pods", "60")
        assert terminal.end() == 0
        assert "█" in terminal.text  # the bars that fill up
        assert "\x1b[1A" in terminal.text  # and are drawn again
        plain = CONTROL.sub("", terminal.text).replace("\r", "")
        assert "and 6 more nodes" in plain
        last = plain.rpartition("Where the pods went")[2]
        assert max(map(len, last.splitlines())) <= 80

    def test_without_colours_if_one_wants_none(self, tmp_path: Path) -> None:
        terminal = Terminal(tmp_path, "--nodes", "3", "--pods", "20", NO_COLOR="1")
        assert terminal.end() == 0
        codes = re.findall(r"\x1b\[([0-9;]*)m", terminal.text)
        colours = {str(number) for base in (30, 90) for number in range(base, base + 8)}
        assert not colours & {part for code in codes for part in code.split(";")}

    def test_ctrl_c_ends_it_at_once(self, tmp_path: Path) -> None:
        terminal = Terminal(tmp_path, "--pods", "1000")  # it is not done before it hears of it
        terminal.until("▸ ")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.end() == 130
        assert "Traceback" not in terminal.text
        assert "Where the pods went" not in terminal.text
        assert "\x1b[?25h" in terminal.text  # the cursor is seen again


class TestWorkload:
    @pytest.mark.parametrize("nodes", [1, 2, 7, 20, 41])
    def test_some_nodes_have_gpus_and_some_the_image(self, nodes: int) -> None:
        fleet = make_fleet(nodes)
        equip(fleet)
        assert fleet[0]["status"]["allocatable"][GPU] == "2"
        carriers = [
            one for one in fleet
            if any(IMAGE in image["names"] for image in one["status"].get("images", ()))
        ]  # fmt: skip
        assert len(carriers) >= 1

    @pytest.mark.parametrize("pods", [20, 100, 1000])
    def test_there_are_about_as_many_pods_as_asked_for(self, pods: int) -> None:
        fleet = make_fleet(20)
        equip(fleet)
        planned = steps(fleet, pods)
        assert pods <= sum(step.pods for step in planned) <= pods + 15
        assert len({step.letter for step in planned}) == len(planned)


def node(name: str, zone: str = "a", cpu: str = "4") -> dict[str, Any]:
    labels = {"topology.kubernetes.io/zone": zone}
    return {
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": {"cpu": cpu, "pods": "110"}},
    }


def pod(name: str, app: str, on: str = "", cpu: str = "1", **status: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "demo", "labels": {"app": app}},
        "spec": {
            "containers": [{"resources": {"requests": {"cpu": cpu}}}],
            **({"nodeName": on} if on else {}),
        },
        "status": {"phase": "Running" if on else "Pending", **status},
    }


class TestProgress:
    def test_nodes_fill_up_and_empty(self) -> None:
        store = Store()
        progress = Progress(store, [node("n1"), node("n2", "b")])
        store.put(PODS, pod("a", "web"))
        counts = progress.all
        assert (counts.pods, counts.placed, counts.running) == (1, 0, 0)
        store.put(PODS, pod("a", "web", "n1"))
        store.put(PODS, pod("b", "web", "n2", cpu="500m"))
        assert (counts.pods, counts.placed, counts.running) == (2, 2, 2)
        assert progress.nodes["n1"].share == 0.25
        assert progress.nodes["n2"].apps["web"] == 500
        assert zones(progress, "web") == "1 + 1"
        store.remove(PODS, "demo", "a")
        assert (progress.nodes["n1"].share, progress.nodes["n1"].pods) == (0.0, 0)
        assert (progress.counts("web").pods, progress.counts("db").pods) == (1, 0)
        assert progress.preempted == []

    def test_a_pod_that_made_room_is_remembered(self) -> None:
        store = Store()
        progress = Progress(store, [node("n1")])
        victim = pod("v", "low", "n1", conditions=[{"type": "DisruptionTarget", "status": "True"}])
        store.put(PODS, victim)
        store.remove(PODS, "demo", "v")
        assert [(one.name, one.node) for one in progress.preempted] == [("v", "n1")]

    def test_why_a_pod_waits(self) -> None:
        condition = {"type": "PodScheduled", "status": "False", "message": "0/1 nodes"}
        assert DemoPod(pod("p", "web", conditions=[condition])).rejected == "0/1 nodes"
        assert DemoPod(pod("p", "web", "n1", conditions=[condition])).rejected == ""


def test_every_workload_on_a_node_is_drawn_however_small(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from rich.console import Console

    fleet = make_fleet(2)
    equip(fleet)
    store = Store()
    progress = Progress(store, [node("n1", cpu="100"), node("n2")])
    store.put(PODS, pod("w", "web", "n1", cpu="1m"))
    store.put(PODS, pod("d", "db", "n1", cpu="50"))
    store.put(PODS, pod("l", "llm", "n1", cpu="1m"))
    store.put(PODS, pod("b", "burst", "n2", cpu="100"))  # more than there is
    Console(width=60).print(picture(progress, steps(fleet, 20), 60))
    lines = capsys.readouterr().out.splitlines()
    first, second = (line.split() for line in lines[1:3])
    assert re.fullmatch(r"wd+l·+", first[2])
    assert (first[3], first[4]) == ("50%", "3")
    assert re.fullmatch(r"b+", second[2])
    assert len(first[2]) == len(second[2])
    assert "w web   d db   l llm   b burst   · free" in lines[3]
    assert isinstance(progress.nodes["n1"], DemoNode)
