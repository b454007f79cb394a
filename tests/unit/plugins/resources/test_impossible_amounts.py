"""Pods that ask for more than there can be: sums of 64 bits wrap around, and scheduling goes on."""

from typing import Any

import pytest

from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod
from tests.unit.framework.deciding import decide_alone, runtime_with

SHAPE = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
STRATEGIES: list[dict[str, Any]] = [
    {"type": "LeastAllocated"},
    {"type": "MostAllocated"},
    {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": SHAPE}},
]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda one: str(one["type"]))
@pytest.mark.parametrize("room", ["32Gi", str(2**62)])
@pytest.mark.parametrize("count", range(1, 6))
def test_pods_of_one_tenant_do_not_end_all_scheduling(
    strategy: dict[str, Any], room: str, count: int
) -> None:
    # Anybody may name a node in a pod; until its kubelet rejects it, the amounts count.
    cluster = Cluster()
    for name in ("n0", "n1"):
        cluster.put(make_node(name, memory=room))
    for number in range(count):
        requests = {"memory": str(2**62 + number), "cpu": str(2**53 - 1)}
        cluster.put(make_pod(f"p{number}", requests=requests, node="n0"))
    args = {"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}
    runtime = runtime_with(cluster, {"pluginConfig": [args]})
    for number in range(6):
        pod = make_pod(f"new-{number}", requests={"cpu": "1", "memory": "1Gi"})
        cluster.put(pod)
        best = decide_alone(runtime, pod).best
        assert len(best)
        cluster.assume(pod, f"n{best[0]}")
