"""The same scenario and seed give the same bytes; another seed gives others."""

import subprocess
import sys
from pathlib import Path

import pytest

from mooring.simulator.result import from_json, to_json
from tests.unit.simulator.scenarios import play

EXAMPLES = sorted(Path("examples/scenarios").glob("*[!g].yaml"))
BUSY = """
cluster:
  nodeGroups:
    - {name: n, count: 4, cpu: 4, memory: 16Gi, zones: [a, b]}
workloads:
  - name: web
    kind: Deployment
    replicas: 6
    pod: {cpu: 500m}
  - name: batch
    pod: {cpu: 700m}
    count: 60
    arrival: {poisson: 1/s}
    duration: {exponential: 12s}
  - name: jobs
    kind: Job
    count: 3
    replicas: 4
    arrival: {every: 10s}
    duration: {uniform: [5s, 20s]}
events:
  - {at: 20s, drain: {zone: a, count: 1}}
  - {at: 30s, fail: {zone: b, count: 1}}
  - {at: 40s, scale: {workload: web, replicas: 9}}
"""


def test_twice_in_one_process() -> None:
    first, second = play(BUSY), play(BUSY)
    assert to_json(first) == to_json(second)
    assert first.placed > 60


def test_another_seed_is_another_result() -> None:
    assert to_json(play(BUSY, seed=1)) != to_json(play(BUSY, seed=2))


def test_a_result_can_be_read_again() -> None:
    result = play(BUSY)
    assert from_json(to_json(result)) == result


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_in_two_processes(tmp_path: Path, hash_seed: str) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(BUSY)
    command = [sys.executable, "-m", "mooring.cli", "simulate", str(file), "--seed", "1", "-ojson"]
    env = {"PYTHONHASHSEED": hash_seed, "PATH": "/usr/bin:/bin"}
    told = subprocess.run(command, capture_output=True, env=env, check=False)
    assert told.stderr == b""
    assert told.returncode in (0, 1)
    assert from_json(told.stdout).pods == play(BUSY).pods
    assert from_json(told.stdout).series == play(BUSY).series
