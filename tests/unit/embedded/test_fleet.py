"""Fake nodes, made up or read from a file."""

import json
from pathlib import Path

import pytest

from mooring.embedded.fleet import make_fleet, read_fleet, read_fleet_file
from mooring.embedded.resources import NODES
from mooring.errors import InputError
from mooring.model.node import Node
from tests.unit.embedded.fake_cluster import FakeCluster


def test_a_fleet_is_mixed_and_always_the_same() -> None:
    fleet = make_fleet(60)
    assert fleet == make_fleet(60)
    nodes = [Node.from_dict(one) for one in fleet]
    assert [node.name for node in nodes[:3]] == ["node-1", "node-2", "node-3"]
    assert {node.allocatable["cpu"] for node in nodes} == {4000, 8000, 16000}
    zones = [node.labels["topology.kubernetes.io/zone"] for node in nodes]
    assert {zone: zones.count(zone) for zone in zones} == dict.fromkeys(
        ["moor-1a", "moor-1b", "moor-1c"], 20
    )
    assert 0 < sum("disktype" in node.labels for node in nodes) < 60
    assert 0 < sum("nvidia.com/gpu" in node.allocatable for node in nodes) < 60
    assert 0 < sum(bool(node.images) for node in nodes) < 60
    assert all(node.ready and node.allocatable["pods"] == 110 for node in nodes)


def test_each_zone_has_every_size_and_some_devices() -> None:
    found = {
        (one["metadata"]["labels"]["topology.kubernetes.io/zone"], one["status"]["capacity"]["cpu"])
        for one in make_fleet(30)
    }
    assert len(found) == 9


def test_names_and_addresses_differ_in_a_large_fleet() -> None:
    fleet = make_fleet(5000, zones=30)
    assert len({one["metadata"]["name"] for one in fleet}) == 5000
    assert len({one["status"]["addresses"][0]["address"] for one in fleet}) == 5000
    assert len({one["spec"]["podCIDR"] for one in fleet}) == 5000
    zones = {one["metadata"]["labels"]["topology.kubernetes.io/zone"] for one in fleet}
    assert len(zones) == 30


def test_the_api_takes_them() -> None:
    cluster = FakeCluster()
    for node in make_fleet(20):
        cluster.api.create(NODES, node)
    cluster.settle()
    assert len(cluster.names(NODES)) == 20
    assert not any(node["spec"].get("taints") for node in cluster.all(NODES))


def read(tmp_path: Path, text: str, name: str = "nodes.yaml") -> list[dict[str, object]]:
    path = tmp_path / name
    path.write_text(text)
    return read_fleet(path)


SHORT = """
- {name: big, count: 2, cpu: 32, memory: 128Gi, labels: {disk: ssd},
   taints: [{key: own, effect: NoSchedule}], extended: {nvidia.com/gpu: 8}}
- name: alone
"""


def test_the_short_form(tmp_path: Path) -> None:
    first, second, alone = [Node.from_dict(one) for one in read(tmp_path, SHORT)]
    assert [first.name, second.name, alone.name] == ["big-1", "big-2", "alone"]
    assert first.allocatable["cpu"] == 32_000
    assert first.allocatable["nvidia.com/gpu"] == 8
    assert first.labels["disk"] == "ssd"
    assert [str(one) for one in first.taints] == ["own:NoSchedule"]
    assert alone.ready


WHOLE = """
apiVersion: v1
kind: Node
metadata: {name: a, uid: x, resourceVersion: "7"}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: v1
kind: List
items:
- kind: Node
  metadata: {name: b}
  status: {capacity: {cpu: 2}}
---
- {name: c, count: 1}
"""


def test_whole_nodes_and_lists(tmp_path: Path) -> None:
    nodes = read(tmp_path, WHOLE)
    assert [Node.from_dict(one).name for one in nodes] == ["a", "b", "c-1"]
    metadata = nodes[0]["metadata"]
    assert isinstance(metadata, dict)
    assert set(metadata) == {"name"}


def test_json_is_read_too(tmp_path: Path) -> None:
    node = {"kind": "Node", "metadata": {"name": "j"}, "status": {"capacity": {"cpu": 1}}}
    text = json.dumps({"kind": "List", "items": [node]})
    assert len(read(tmp_path, text, "nodes.json")) == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "contains no nodes"),
        ("- {", "is not valid YAML in line 2"),
        ("- 5", "entry 1 is not a node"),
        ("- {cpu: 4}", "entry 1 cannot be read: Object missing required field `name`"),
        ("- {name: a}\n- {name: b, cores: 4}", "entry 2 cannot be read: Object contains unknown"),
        ("- {name: a, memory: 4Gigs}", "entry 1: memory: '4Gigs' is not a valid quantity"),
        ("- {name: a, count: -1}", "entry 1: count is -1"),
        ("- {name: a}\n- {name: a}", "has two nodes named 'a'"),
        ("kind: Pod\nmetadata: {name: p}", "entry 1 is a Pod, where only nodes are expected"),
        ("kind: Node\nmetadata: {name: p}", "entry 1: the node has neither"),
        ("kind: Node\nmetadata: {}\nstatus: {capacity: {cpu: 1}}", "has no metadata.name"),
        ("kind: Node\nmetadata: {name: p}\nstatus: {capacity: {cpu: x}}", "entry 1: 'x' is no"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert problem in str(caught.value)
    assert str(tmp_path / "nodes.yaml") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read_fleet(tmp_path / "none.yaml")


def test_drivers_of_devices_belong_to_clusters_alone(tmp_path: Path) -> None:
    text = "nodes: [{name: a}]\ndrivers: []"
    with pytest.raises(InputError, match="has drivers of devices, which only moor cluster can use"):
        read(tmp_path, text)
    found = read_fleet_file(tmp_path / "nodes.yaml")
    assert len(found.nodes) == 1
    assert found.has_drivers
    (tmp_path / "nodes.yaml").write_text("- {name: a}")
    assert not read_fleet_file(tmp_path / "nodes.yaml").has_drivers
