"""Scenarios as texts, and playing them."""

from textwrap import dedent

from mooring.errors import InputError
from mooring.model.meta import KubeObject
from mooring.seeds import seeded_streams
from mooring.simulator.result import PodPlacement, SimulationResult
from mooring.simulator.scenario.reader import read_scenario
from mooring.simulator.scenario.scenario_run import ScenarioFiles, ScenarioRun
from mooring.simulator.scheduler_setup import set_up_scheduler

#: Three nodes of four cores in three zones.
CLUSTER = """
cluster:
  nodeGroups:
    - {name: n, count: 3, cpu: 4, memory: 16Gi, zones: [a, b, c], pricePerHour: 1.5}
"""


def prepare(text: str, seed: int = 1, files: dict[str, bytes] | None = None) -> ScenarioRun:
    given = files or {}

    def snapshot(_: str) -> list[KubeObject]:
        return []

    read = read_scenario(dedent(text), "s.yaml")

    def file(name: str) -> bytes:
        if name not in given:
            raise InputError(f"{name} does not exist; specify a file")
        return given[name]

    sources = ScenarioFiles(file, snapshot, lambda _: [])
    return ScenarioRun(read, set_up_scheduler(), seeded_streams(seed), sources)


def play(text: str, seed: int = 1, files: dict[str, bytes] | None = None) -> SimulationResult:
    run = prepare(text, seed, files)
    assert run.run()
    return run.result("test", seed)


def by_name(result: SimulationResult) -> dict[str, PodPlacement]:
    return {one.pod.removeprefix("default/"): one for one in result.pods}
