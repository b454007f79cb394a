"""Scores that count devices are not kept: devices come, go and are taken while no node changes."""

from typing import Any

import pytest

from mooring.framework.decisions.observer import NOBODY, Observer
from mooring.framework.runtime import Runtime
from mooring.model.devices.device_class import DeviceClass
from mooring.model.devices.resource_slice import ResourceSlice
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod
from tests.unit.framework.deciding import decide_alone, runtime_with

GPU = "example.com/gpu"
#: Another profile has DynamicResources, so classes and slices are watched.
WITHOUT_DEVICES = {"multiPoint": {"disabled": [{"name": "DynamicResources"}]}}
MOST = {
    "name": "NodeResourcesFit",
    "args": {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": GPU}]}},
}
BALANCED = {
    "name": "NodeResourcesBalancedAllocation",
    "args": {"resources": [{"name": "cpu"}, {"name": GPU}]},
}


class EveryScore(Observer):
    """Has every plugin asked."""

    each_score = True


def slice_of(node: str, devices: int) -> ResourceSlice:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    named = [{"name": f"d{number}"} for number in range(devices)]
    spec = {"driver": "gpu.example.com", "nodeName": node, "pool": pool, "devices": named}
    return ResourceSlice.from_dict({"metadata": {"name": f"slice-{node}"}, "spec": spec})


def made_with(args: dict[str, Any]) -> Runtime:
    """A cluster of nodes with devices of a class; the last one has such a resource of its own."""
    cluster = Cluster()
    spec = {"extendedResourceName": GPU}
    cluster.put(DeviceClass.from_dict({"metadata": {"name": "gpus"}, "spec": spec}))
    for number, devices in enumerate((4, 2, 8)):
        cluster.put(make_node(f"n{number}", cpu="8"))
        cluster.put(slice_of(f"n{number}", devices))
    cluster.put(make_node("own", cpu="8", extended={GPU: 5}))
    return runtime_with(cluster, {"plugins": WITHOUT_DEVICES, "pluginConfig": [args]})


def best(made: Runtime, pod: Pod, observer: Observer) -> list[str]:
    return [made.cluster.columns.names[row] for row in decide_alone(made, pod, observer).best]


@pytest.mark.parametrize("args", [MOST, BALANCED])
def test_devices_count_as_they_are_now(args: dict[str, Any]) -> None:
    made = made_with(args)
    changes = [slice_of("n1", 7), slice_of("n0", 1), slice_of("n2", 0), slice_of("n0", 3)]
    for number in range(12):
        pod = make_pod(f"p{number}", requests={"cpu": "1", GPU: "1"})
        made.cluster.put(pod)
        found = best(made, pod, NOBODY)
        assert found == best(made, pod, EveryScore())
        if number % 3 == 2:
            made.cluster.put(changes[number // 3])
        else:
            made.cluster.assume(pod, "own" if number % 3 else found[0])
