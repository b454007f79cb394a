"""Policies and hooks in virtual time: what they decide, and what comes of those that fail."""

import mooring as mr
from mooring.seeds import seeded_streams
from mooring.simulator.engine.simulation import Simulation
from mooring.simulator.result import SimulationResult
from mooring.simulator.scenario.reader import read_scenario
from mooring.simulator.scenario.scenario_run import ScenarioFiles, ScenarioRun
from mooring.simulator.scheduler_setup import set_up_scheduler

TEXT = """
cluster: {nodeGroups: [{name: n, count: 3, cpu: 4}]}
workloads: [{name: p, count: 4, pod: {cpu: 1}, duration: 1m}]
"""


def play(policy: mr.Policy) -> SimulationResult:
    files = ScenarioFiles(lambda _: b"", lambda _: [], lambda _: [])
    setup = set_up_scheduler(None, (policy,))
    run = ScenarioRun(read_scenario(TEXT, "s.yaml"), setup, seeded_streams(1), files)
    assert run.run()
    return run.result("s", 1)


def test_a_policy_decides() -> None:
    policy = mr.Policy("third")

    @policy.filter
    def third(pod: mr.Pod, node: mr.Node) -> bool:
        return node.name == "n-3"

    result = play(policy)
    assert {one.node for one in result.pods} == {"n-3"}
    assert result.configuration == "third"


def test_a_policy_that_fails_does_not_go_on_for_ever() -> None:
    policy = mr.Policy("broken")

    @policy.filter
    def broken(pod: mr.Pod, node: mr.Node) -> bool:
        raise ValueError("out of order")

    result = play(policy)
    assert (result.pending, result.placed) == (4, 0)
    assert 580 <= result.end < 620
    assert "out of order" in result.pending_reasons[0].message


def test_a_bind_function_runs_in_virtual_time() -> None:
    policy = mr.Policy("marks")

    @policy.bind
    def mark(binding: mr.Binding) -> mr.Binding:
        return binding.annotate({"mark": binding.node_name})

    assert play(policy).completed == 4


def test_a_simulation_without_nodes_has_pending_pods() -> None:
    simulation = Simulation(set_up_scheduler(), seeded_streams(1))
    assert simulation.run()
    assert simulation.result().created == 0
