"""A simulation places pods where ``moor run --seed`` places them on an API server."""

from pathlib import Path

from mooring.embedded.resources import PODS
from mooring.seeds import seeded_streams
from mooring.simulator.engine.simulation import Simulation
from mooring.simulator.scheduler_setup import set_up_scheduler
from mooring.testing.embedded_control_plane import EmbeddedControlPlane
from mooring.testing.moor_run import MoorRun
from tests.unit.simulator import mixed_pods

COUNT, NODES, SEED = 1000, 100, 11


def simulated() -> dict[str, str]:
    simulation = Simulation(set_up_scheduler(), seeded_streams(SEED))
    for node in mixed_pods.nodes(NODES):
        simulation.add_node(node)
    for pod in mixed_pods.pods(COUNT):
        simulation.cluster.api.create(PODS, pod, "default")
    simulation.run()
    return {one.pod: one.node for one in simulation.result().pods}


def test_a_simulation_places_pods_as_moor_run_does(tmp_path: Path) -> None:
    expected = simulated()
    placed = sum(1 for node in expected.values() if node)
    assert placed > COUNT * 0.9
    with EmbeddedControlPlane(tmp_path) as plane:
        for node in mixed_pods.nodes(NODES):
            plane.create(node)
        for pod in mixed_pods.pods(COUNT):
            plane.create(pod)

        def bound() -> dict[str, str]:
            found = {}
            for one in plane.list_objects("Pod"):
                meta = one["metadata"]
                found[f"{meta['namespace']}/{meta['name']}"] = one["spec"].get("nodeName", "")
            return found

        with MoorRun(plane, args=["--seed", str(SEED)]):
            plane.wait_for(
                lambda: sum(1 for one in bound().values() if one) >= placed, "bindings", 120
            )
        assert bound() == expected
