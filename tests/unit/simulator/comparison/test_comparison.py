"""Results of several schedulers side by side: numbers, pods that land elsewhere, and why."""

import pytest

from mooring.errors import InputError
from mooring.model.meta import KubeObject
from mooring.seeds import seeded_streams
from mooring.simulator.comparison.comparison import ComparisonBuilder, SchedulerComparison
from mooring.simulator.comparison.condition import parse_condition
from mooring.simulator.comparison.decision_reasons import PlacementQuestion, decision_reasons
from mooring.simulator.comparison.moved_pods import moves_between
from mooring.simulator.result import SimulationResult
from mooring.simulator.scenario.reader import ReadScenario, read_scenario
from mooring.simulator.scenario.scenario_run import ScenarioFiles, ScenarioRun
from mooring.simulator.scheduler_setup import SchedulerSetup, set_up_scheduler

SCENARIO = """
cluster:
  nodeGroups:
    - {name: n, count: 3, cpu: 4, memory: 16Gi, pricePerHour: 1}
workloads:
  - {name: small, count: 6, pod: {cpu: 500m, memory: 2Gi}, arrival: {every: 10s}}
  - {name: large, count: 2, pod: {cpu: 4, memory: 8Gi}, arrival: {at: 2m}}
until: 5m
"""
PACKING = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "pluginConfig": [
                {
                    "name": "NodeResourcesFit",
                    "args": {"scoringStrategy": {"type": "MostAllocated"}},
                }
            ]
        }
    ],
}


def nothing(_: str) -> list[KubeObject]:
    return []


def prepare(setup: SchedulerSetup, seed: int) -> tuple[ReadScenario, ScenarioRun]:
    read = read_scenario(SCENARIO, "s.yaml")
    sources = ScenarioFiles(lambda _: b"", nothing, lambda _: [])
    return read, ScenarioRun(read, setup, seeded_streams(seed), sources)


def play(setup: SchedulerSetup, seed: int) -> SimulationResult:
    _, run = prepare(setup, seed)
    assert run.run()
    return run.result("s", seed)


DEFAULT = set_up_scheduler()
PACKED = set_up_scheduler(PACKING, (), "packing")


def compared(seeds: int, *conditions: str) -> SchedulerComparison:
    builder = ComparisonBuilder(["default", "packing"])
    for seed in range(seeds):
        builder.add(seed, [play(DEFAULT, seed), play(PACKED, seed)])
    return builder.build([parse_condition(text) for text in conditions])


def test_packing_leaves_room_for_large_pods() -> None:
    found = compared(3)
    default, packing = found.schedulers
    assert default.metrics["pending"].mean == 2
    assert packing.metrics["pending"].mean == 0
    difference = found.differences[0]
    assert (difference.scheduler, difference.baseline) == ("packing", "default")
    pending = difference.metrics["pending"]
    assert (pending.mean, pending.low, pending.high) == (-2, -2, -2)
    assert pending.differs_from_zero
    assert difference.metrics["cost"].mean == 0
    assert not difference.metrics["cost"].differs_from_zero


def test_values_are_those_of_the_results() -> None:
    values = compared(2).schedulers[0].values
    results = [play(DEFAULT, 0), play(DEFAULT, 1)]
    assert values["waiting.max"] == [one.waiting.max for one in results]
    assert values["utilization.cpu"] == [one.utilization["cpu"] for one in results]


def test_conditions_name_the_schedulers_they_hold_for() -> None:
    found = compared(1, "pending > 0", "pending > 5", "created == 8")
    assert [one.holds_for for one in found.conditions] == [["default"], [], ["default", "packing"]]


def test_a_condition_about_a_resource_that_nobody_requests() -> None:
    with pytest.raises(InputError, match="no pod requests x"):
        compared(1, "utilization.x > 0")


def test_nothing_complete_is_no_numbers() -> None:
    builder = ComparisonBuilder(["a", "b"])
    found = builder.build([parse_condition("pending > 0")], interrupted=True)
    assert (found.seeds, found.schedulers, found.interrupted) == ([], [], True)


def test_the_same_scheduler_moves_no_pod() -> None:
    moves = moves_between(play(DEFAULT, 1), play(DEFAULT, 1))
    assert (moves.moved, moves.unmatched) == ([], 0)


def test_pods_that_land_elsewhere_are_found_in_the_order_of_time() -> None:
    one, other = play(DEFAULT, 1), play(PACKED, 1)
    moved = moves_between(one, other).moved
    nodes = {pod.pod: pod.node for pod in one.pods}
    expected = {pod.pod for pod in other.pods if pod.node != nodes[pod.pod]}
    assert {pair.other.pod for pair in moved} == expected
    assert {"default/large-1", "default/large-2"} <= expected


def test_why_pods_land_elsewhere() -> None:
    one, other = play(DEFAULT, 1), play(PACKED, 1)
    moved = moves_between(one, other).moved
    read, run = prepare(PACKED, 1)
    questions = [PlacementQuestion(pair.other, pair.baseline.node) for pair in moved]
    why = decision_reasons(read, PACKED, run, questions)
    assert set(why) == {pair.other.pod for pair in moved}
    assert all(why.values())
    scored = [text for text in why.values() if " scores " in text]
    assert scored
    assert all("NodeResourcesFit +" in text for text in scored)
    node = next(pair.other.node for pair in moved if pair.other.pod == "default/large-1")
    assert why["default/large-1"] == f"{node} fits"
    read, run = prepare(DEFAULT, 1)
    back = decision_reasons(
        read, DEFAULT, run, [PlacementQuestion(p.baseline, p.other.node) for p in moved]
    )
    assert back["default/large-1"].startswith("0/3 nodes are available: 3 Insufficient cpu")


def test_a_node_that_does_not_fit_is_named_with_its_reason() -> None:
    result = play(PACKED, 1)
    pods = {one.pod: one for one in result.pods}
    full = pods["default/large-1"].node
    read, run = prepare(PACKED, 1)
    question = PlacementQuestion(pods["default/large-2"], full)
    why = decision_reasons(read, PACKED, run, [question])["default/large-2"]
    assert why == f"{full} does not fit: Insufficient cpu (NodeResourcesFit)"
