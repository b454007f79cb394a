"""``moor simulate`` and ``moor scenario check``: what they print, and their exit codes."""

import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from mooring.simulator.result import from_json

SCENARIO = """
cluster: {nodeGroups: [{name: n, count: 1, cpu: 2, zones: [a]}]}
workloads:
  - {name: p, count: 3, pod: {cpu: 1}, arrival: {every: 10s}, duration: 15s}
"""
FULL = SCENARIO.replace("duration: 15s", "duration: 1h").replace("count: 3", "count: 4")
ENDLESS = SCENARIO.replace("count: 3", "count: 2000000").replace("15s", "1s")


def moor(*args: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "mooring.cli", *args]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_table_fits_80_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "s.yaml").write_text(SCENARIO)
    told = moor("simulate", str(tmp_path / "s.yaml"))
    assert (told.returncode, told.stderr) == (0, "")
    lines = told.stdout.splitlines()
    assert lines[0] == "✓ 3 pods, none pending after 36s"
    assert lines[1] == "  scenario s, scheduler default, seed 0"
    assert max(map(len, lines)) <= 80


def test_pending_pods_are_an_exit_code_and_a_reason(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(FULL)
    told = moor("simulate", str(tmp_path / "s.yaml"), "--until", "30m")
    assert told.returncode == 1
    assert "2 of 4 pods pending after 30m" in told.stdout
    assert "2  0/1 nodes are available: 1 Insufficient cpu." in told.stdout


def test_json_is_the_whole_result(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(FULL)
    told = moor("simulate", str(tmp_path / "s.yaml"), "--until", "30m", "--seed", "4", "-o", "json")
    result = from_json(told.stdout.encode())
    assert (result.seed, result.end, result.pending, len(result.pods)) == (4, 1800.0, 2, 4)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (SCENARIO + "utnil: 3s", "s.yaml:5:1: utnil: there is no such field; expected one of"),
        ("\tcluster: 1", "s.yaml:1:1: it is not valid YAML"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "s.yaml").write_text(text)
    for command in (("simulate",), ("scenario", "check")):
        told = moor(*command, str(tmp_path / "s.yaml"))
        assert (told.returncode, told.stdout) == (2, "")
        assert sentence in told.stderr
        assert told.stderr.count("\n") == 1


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    told = moor("simulate", str(tmp_path / "none.yaml"))
    assert told.returncode == 2
    assert told.stderr.endswith("none.yaml does not exist; specify a file\n")


def test_a_good_scenario_is_called_one(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO)
    told = moor("scenario", "check", str(tmp_path / "s.yaml"))
    assert told.returncode == 0
    assert told.stdout.endswith("is a scenario with 1 node group, 1 workload and 0 events\n")


def test_ctrl_c_prints_what_there_is(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(ENDLESS)
    code = (
        "import os, signal, sys\n"
        "from mooring.cli.simulate import progress\n"
        "def show(self, now):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    return True\n"
        "progress.VirtualTimeBar.show = show\n"
        "from mooring.cli.main import main\n"
        f"sys.argv = ['moor', 'simulate', {str(tmp_path / 's.yaml')!r}, '-o', 'json']\n"
        "main()\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert told.returncode == 128 + signal.SIGINT
    result = msgspec.json.decode(told.stdout)
    assert result["interrupted"] is True
    assert result["placed"] > 0


def test_a_policy_that_hangs_is_interrupted(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO.replace("count: 3", "count: 1") + "until: 500ms\n")
    (tmp_path / "policy.py").write_text(
        "import mooring as mr\n"
        "policy = mr.Policy('slow')\n"
        "@policy.filter\n"
        "def slow(pod: mr.Pod, node: mr.Node) -> bool:\n"
        "    while True:\n"
        "        pass\n"
    )
    policy = str(tmp_path / "policy.py")
    told = moor("simulate", str(tmp_path / "s.yaml"), "--policy", policy, "--hook-timeout", "0.1")
    assert told.returncode == 1
    assert "slow" in told.stdout
    assert "was interrupted on node n-1" in told.stdout


def test_a_report_is_written_beside_the_table(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO)
    told = moor("simulate", str(tmp_path / "s.yaml"), "--report", str(tmp_path / "out.html"))
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.startswith("✓ 3 pods")
    page = (tmp_path / "out.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert '"placed",3' in page


def test_a_report_that_cannot_be_written_is_said_before_anything_is_played(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(ENDLESS)
    told = moor("simulate", str(tmp_path / "s.yaml"), "--report", str(tmp_path / "no" / "out.html"))
    assert (told.returncode, told.stdout) == (2, "")
    assert "cannot be written: there is no folder" in told.stderr
    assert told.stderr.count("\n") == 1


PRINTING = """
import random
import numpy
import mooring as mr

policy = mr.Policy("printing")
print("loaded")


@policy.filter
def fits(pod: mr.Pod, node: mr.Node) -> bool:
    print("asked about", pod.name)
    if pod.name == "p-3":
        raise ValueError("no")
    return True


@policy.score
def draw(pod: mr.Pod, node: mr.Node) -> float:
    return 50 * random.random() + 50 * numpy.random.random()
"""


def test_what_policies_print_is_beside_the_result_and_what_they_draw_is_seeded(
    tmp_path: Path,
) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO.replace("count: 1", "count: 9").replace("10s", "1s"))
    (tmp_path / "policy.py").write_text(PRINTING)
    arguments = [str(tmp_path / "s.yaml"), "--policy", str(tmp_path / "policy.py"), "-o", "json"]
    first, again = moor("simulate", *arguments), moor("simulate", *arguments)
    result = from_json(first.stdout.encode())
    assert (result.placed, result.pending) == (2, 1)
    assert "loaded\nasked about p-1" in first.stderr
    assert first.stderr.count("moor: plugin printing failed in filter for pod default/p-3") == 10
    assert first.stderr.rstrip().endswith("more warnings like these")
    assert first.stdout == again.stdout
    compared = moor("compare", *arguments, "--seeds", "1", "--jobs", "2")
    assert compared.stdout.startswith("{")


def test_a_comparison_that_is_killed_leaves_no_process_behind(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(ENDLESS)
    (tmp_path / "policy.py").write_text(
        "import os\nimport mooring as mr\nprint(os.getpid(), flush=True)\npolicy = mr.Policy('p')\n"
        "@policy.filter\ndef fits(pod: mr.Pod, node: mr.Node) -> bool:\n    return True\n"
    )
    arguments = [str(tmp_path / "s.yaml"), "--policy", str(tmp_path / "policy.py"), "--jobs", "2"]
    command = [sys.executable, "-m", "mooring.cli", "compare", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as main:
        assert main.stderr is not None
        pids = [int(main.stderr.readline())]  # it is checked before processes are started
        while pids[-1] == pids[0]:
            pids.append(int(main.stderr.readline()))
        main.kill()
        main.stderr.read()  # ends when nobody has the other end of the pipe any more
