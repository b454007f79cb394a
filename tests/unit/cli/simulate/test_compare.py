"""``moor compare``: what it prints, its exit codes, its processes."""

import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from mooring.simulator.comparison.comparison import SchedulerComparison

SCENARIO = """
seed: 3
cluster: {nodeGroups: [{name: n, count: 3, cpu: 4, memory: 16Gi}]}
workloads:
  - name: p
    count: 40
    pod: {cpu: 1, memory: 1Gi}
    arrival: {poisson: 1/s}
    duration: {exponential: 8s}
  - {name: big, count: 3, pod: {cpu: 4}, arrival: {every: 10s}, duration: 20s}
"""
PACKING = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - pluginConfig:
      - {name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}
"""
#: Remembers across decisions: its choices would differ if runs shared it.
POLICY = """
import mooring as mr

policy = mr.Policy("counting")
asked = []


@policy.score(weight=5)
def first_ones(pod: mr.Pod, node: mr.Node) -> float:
    asked.append(node.name)
    return len(asked) % 100
"""


def moor(*args: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "mooring.cli", "compare", *args]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "s.yaml").write_text(SCENARIO)
    (tmp_path / "packing.yaml").write_text(PACKING)
    (tmp_path / "counting.py").write_text(POLICY)
    return tmp_path


def test_a_table_fits_80_columns(folder: Path) -> None:
    told = moor(str(folder / "s.yaml"), "--config", str(folder / "packing.yaml"), "--seeds", "3")
    assert (told.returncode, told.stderr) == (0, "")
    lines = told.stdout.splitlines()
    assert lines[0] == "✓ 2 schedulers, scenario s, seeds 3 to 5"
    assert "packing.yaml compared with default" in lines
    assert "pods land elsewhere, with seed 3 for example:" in told.stdout
    assert "NodeResourcesFit +" in told.stdout
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("output", ["json", "table"])
def test_two_processes_give_the_same_bytes(folder: Path, output: str) -> None:
    arguments = [str(folder / "s.yaml"), "--config", str(folder / "packing.yaml")]
    arguments += ["--policy", str(folder / "counting.py"), "--seeds", "3", "-o", output]
    one, two = moor(*arguments), moor(*arguments, "--jobs", "2")
    assert (one.returncode, one.stderr) == (two.returncode, two.stderr) == (0, "")
    assert one.stdout == two.stdout
    assert len(one.stdout) > 1000


def test_json_can_be_read(folder: Path) -> None:
    configs = ("--config", str(folder / "packing.yaml"), "--policy", str(folder / "counting.py"))
    told = moor(str(folder / "s.yaml"), *configs, "--seeds", "2", "-o", "json")
    found = msgspec.json.decode(told.stdout, type=SchedulerComparison)
    assert found.seeds == [3, 4]
    names = [one.scheduler for one in found.schedulers]
    assert names == ["packing.yaml", "packing.yaml + counting.py"]
    assert len(found.differences) == 1
    assert found.schedulers[0].metrics["created"].mean == 43


def test_a_condition_that_holds_is_an_exit_code(folder: Path) -> None:
    arguments = [str(folder / "s.yaml"), "--config", str(folder / "packing.yaml"), "--seeds", "1"]
    told = moor(*arguments, "--fail-if", "created > 42", "--fail-if", "pending > 0")
    assert told.returncode == 1
    assert "created > 42 holds for default, packing.yaml" in told.stdout
    assert "pending > 0 holds for none" in told.stdout
    assert moor(*arguments, "--fail-if", "pending > 0").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "has fewer than two schedulers, so there is nothing to compare"),
        (("--config", "none.yaml"), "none.yaml"),
        (("--config", "s.yaml", "--config", "s.yaml"), "there are two schedulers s.yaml"),
        (("--config", "packing.yaml", "--fail-if", "pendig > 0"), "did you mean pending?"),
        (("--config", "packing.yaml", "--until", "soon"), "--until: 'soon' is no duration"),
        (("--config", "packing.yaml", "--seeds", "0"), "--seeds"),
        (("--config", "packing.yaml", "--fail-if", "cost > 1"), "no node group of the scenario"),
    ],
)
def test_a_mistake_is_one_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.chdir(folder)
    told = moor("s.yaml", *arguments)
    assert (told.returncode, told.stdout) == (2, "")
    assert sentence in told.stderr
    assert told.stderr.count("\n") == 1


def test_a_policy_that_fails_does_so_in_every_process(folder: Path) -> None:
    failing = POLICY.replace("    asked.append(node.name)", '    raise ValueError("no")')
    (folder / "failing.py").write_text(failing)
    arguments = [str(folder / "s.yaml"), "--policy", str(folder / "failing.py"), "--seeds", "2"]
    arguments += ["--until", "1m"]
    one, two = moor(*arguments), moor(*arguments, "--jobs", "2")
    assert (one.returncode, one.stdout) == (two.returncode, two.stdout)
    for told in (one, two):
        assert "moor: plugin counting failed in score for pod default/big-1" in told.stderr
        assert "Traceback" not in told.stderr


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_prints_the_seeds_that_are_complete(folder: Path, jobs: str) -> None:
    code = (
        "import os, signal, sys\n"
        "from mooring.simulator.comparison.comparison import ComparisonBuilder\n"
        "add = ComparisonBuilder.add\n"
        "def added(self, seed, results):\n"
        "    add(self, seed, results)\n"
        "    if seed == 3:  # a second Ctrl-C ends everything at once\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "ComparisonBuilder.add = added\n"
        "from mooring.cli.main import main\n"
        f"sys.argv = ['moor', 'compare', {str(folder / 's.yaml')!r}, '--jobs', '{jobs}',\n"
        f"    '--config', {str(folder / 'packing.yaml')!r}, '--seeds', '900', '-o', 'json']\n"
        "if __name__ == '__main__':\n"
        "    main()\n"
    )
    file = folder / "main.py"
    file.write_text(code)
    told = subprocess.run([sys.executable, file], capture_output=True, check=False)
    assert told.returncode == 128 + signal.SIGINT
    found = msgspec.json.decode(told.stdout, type=SchedulerComparison)
    # With two processes, further seeds may be done by then.
    assert found.interrupted
    assert found.seeds == list(range(3, 3 + len(found.seeds)))
    assert 0 < len(found.seeds) < (2 if jobs == "1" else 900)
    assert b"Traceback" not in told.stderr
