import numpy as np
import pytest

from mooring import Nodes, NotAvailable
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.devices.resource_slice import ResourceSlice
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod

GPU = "nvidia.com/gpu"


def three() -> Nodes:
    pod = make_pod(requests={"cpu": "500m", GPU: 1})
    return Nodes(
        [
            make_node("a", cpu="1", extended={GPU: 2}, labels={"zone": "x"}, pods=[pod]),
            make_node("b", cpu="2", pods=[]),
            make_node("c", cpu="3", extended={GPU: 1}, labels={"zone": "y"}, pods=[pod]),
        ]
    )


def test_nodes_are_a_sequence() -> None:
    nodes = three()
    assert len(nodes) == 3
    assert [node.name for node in nodes] == nodes.names == ["a", "b", "c"]
    assert nodes[-1].name == "c"
    assert nodes[1] in nodes
    assert repr(nodes) == "<Nodes 3>"
    with pytest.raises(IndexError):
        nodes[3]


def test_a_slice_has_columns_of_its_own() -> None:
    some = three()[1:]
    assert isinstance(some, Nodes)
    assert some.names == ["b", "c"]
    assert some.allocatable["cpu"].tolist() == [2000, 3000]


def test_columns_have_one_amount_for_each_node() -> None:
    nodes = three()
    assert nodes.allocatable[GPU].tolist() == [2, 0, 1]
    assert nodes.used[GPU].tolist() == [1, 0, 1]
    assert nodes.free[GPU].tolist() == [1, 0, 0]
    assert nodes.free["cpu"].tolist() == [500, 2000, 2500]
    assert nodes.free["unheard.of/thing"].tolist() == [0, 0, 0]
    assert nodes.free["cpu"].dtype == np.int64


def test_columns_agree_with_the_single_nodes() -> None:
    nodes = three()
    for resource in ("cpu", "memory", "pods", GPU):
        assert nodes.free[resource].tolist() == [node.free[resource] for node in nodes]


def test_columns_are_made_once_and_cannot_be_written() -> None:
    nodes = three()
    assert nodes.free["cpu"] is nodes.free["cpu"]
    with pytest.raises(ValueError, match="read-only"):
        nodes.allocatable["cpu"][0] = 7


def test_labels_have_a_default_where_a_node_has_none() -> None:
    assert three().labels("zone") == ["x", "", "y"]
    assert three().labels("zone", "?") == ["x", "?", "y"]


def test_usage_is_not_available_without_a_cluster() -> None:
    nodes = Nodes([make_node()])
    assert nodes.allocatable["cpu"].tolist() == [8000]
    with pytest.raises(NotAvailable):
        _ = nodes.free["cpu"]


def test_devices_are_counted_by_driver() -> None:
    cluster = Cluster()
    for name in "abc":
        cluster.put_node(make_node(name))
    for name, count in (("a", 2), ("c", 1)):
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        devices = [{"name": f"gpu-{number}"} for number in range(count)]
        spec = {"driver": "gpu", "nodeName": name, "pool": pool, "devices": devices}
        cluster.put(ResourceSlice.from_dict({"metadata": {"name": name}, "spec": spec}))
    result = {"request": "r", "driver": "gpu", "pool": "a", "device": "gpu-1"}
    status = {"allocation": {"devices": {"results": [result]}}}
    cluster.put(ResourceClaim.from_dict({"metadata": {"name": "c"}, "status": status}))
    nodes = Nodes(cluster.columns.nodes, cluster.columns)
    assert nodes.devices.free["gpu"].tolist() == [1, 0, 1]
    assert nodes.devices.allocated["gpu"].tolist() == [1, 0, 0]
    assert nodes.devices.free["none"].tolist() == [0, 0, 0]
    assert nodes[1:].devices.free["gpu"].tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        nodes.devices.free["gpu"][0] = 7
    with pytest.raises(NotAvailable):
        _ = Nodes([make_node()]).devices.free["gpu"]


def test_no_nodes_have_empty_columns() -> None:
    nodes = Nodes([])
    assert (len(nodes), nodes.names, nodes.labels("zone")) == (0, [], [])
    assert nodes.free["cpu"].shape == (0,)
