"""Every placement of a simulation is one of the best nodes at that moment.

The judge is the full record of a decision, as `moor explain` makes it and as it is compared with
kube-scheduler's own answers: every plugin is asked about every node, and nothing is remembered.
"""

from mooring.config.runtimes import build_profiles, build_runtime
from mooring.embedded.resources import PODS
from mooring.framework.decisions.recording import record_decision
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.plugins.in_tree import default_registry
from mooring.seeds import seeded_streams
from mooring.simulator.engine.simulation import Simulation
from mooring.simulator.scheduler_setup import set_up_scheduler
from mooring.state.cluster import Cluster
from tests.unit.simulator import mixed_pods

COUNT, NODES = 400, 40


def test_every_placement_is_one_of_the_best() -> None:
    simulation = Simulation(set_up_scheduler(), seeded_streams(3))
    for node in mixed_pods.nodes(NODES):
        simulation.add_node(node)
    stored: dict[str, Pod] = {}
    for obj in mixed_pods.pods(COUNT, seed=5):
        item = simulation.cluster.api.create(PODS, obj, "default")
        pod = Pod.from_json(item.body)
        stored[pod.key] = pod
    simulation.run()
    placed = [one for one in simulation.result().pods if one.bound is not None]
    assert len(placed) > COUNT * 0.8

    cluster = Cluster()
    for obj in mixed_pods.nodes(NODES):
        cluster.put_node(Node.from_dict(obj))
    registry = default_registry()
    (profile,) = build_profiles(None, registry).values()
    runtime = build_runtime(profile, registry, cluster, lambda: 0)
    for one in sorted(placed, key=lambda one: one.bound or 0.0):
        record = record_decision(runtime, stored[one.pod])
        best = [record.nodes[row] for row in record.best]
        assert one.node in best, (one, best)
        cluster.assume(stored[one.pod], one.node)
