"""Forms of devices become slices and classes as the API wants them."""

from typing import Any

import pytest

from mooring.embedded.devices.device_pools import (
    device_classes,
    device_count,
    has_pool,
    node_slices,
    shared_slices,
)
from mooring.embedded.devices.forms import DriverForm
from mooring.embedded.resources import RESOURCE_SLICES, Obj
from mooring.embedded.validation.validation import validate
from mooring.typed_yaml import convert
from tests.unit.embedded.devices.device_files import NAME, driver

NODE: Obj = {"metadata": {"name": "n1", "uid": "u", "labels": {"gpu": "yes"}}}


def devices(slices: list[Obj]) -> list[Any]:
    return [device for one in slices for device in one["spec"].get("devices", ())]


def test_a_node_has_a_pool_of_its_own() -> None:
    (found,) = node_slices(driver({"name": "gpu", "count": 2}), NODE)
    assert found["metadata"] == {
        "name": "n1-gpu.example.com-0",
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u", "controller": True}
        ],
    }
    assert found["spec"] == {
        "driver": NAME,
        "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
        "nodeName": "n1",
        "devices": [{"name": "gpu-0"}, {"name": "gpu-1"}],
    }


def test_a_device_has_all_that_the_file_says() -> None:
    form = {
        "name": "gpu",
        "attributes": {"model": "A", "index": 1, "mig": True, "v": {"version": "1.2.3"}},
        "capacity": {"memory": "1Gi", "rate": {"value": 5, "requestPolicy": {"default": "1"}}},
        "allowMultipleAllocations": True,
        "bindsToNode": True,
        "bindingConditions": ["a"],
        "bindingFailureConditions": ["b"],
        "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}],
    }
    (device,) = devices(node_slices(driver(form), NODE))
    assert device == {
        "name": "gpu",
        "attributes": {
            "model": {"string": "A"},
            "index": {"int": 1},
            "mig": {"bool": True},
            "v": {"version": "1.2.3"},
        },
        "capacity": {
            "memory": {"value": "1Gi"},
            "rate": {"value": "5", "requestPolicy": {"default": "1"}},
        },
        "allowMultipleAllocations": True,
        "bindsToNode": True,
        "bindingConditions": ["a"],
        "bindingFailureConditions": ["b"],
        "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}],
    }


def test_partitions_share_counters() -> None:
    form = {
        "name": "gpu", "count": 2, "attributes": {"model": "A"}, "counters": {"memory": "80Gi"},
        "partitions": [
            {"name": "half", "count": 2, "uses": {"memory": "40Gi"}, "attributes": {"half": True}},
            {"name": "most", "uses": {"memory": "60Gi"}},
        ],
    }  # fmt: skip
    made = driver(form)
    counters, parts = node_slices(made, NODE)
    assert counters["spec"]["pool"]["resourceSliceCount"] == 2
    assert counters["spec"]["sharedCounters"] == [
        {"name": f"gpu-{number}", "counters": {"memory": {"value": "80Gi"}}} for number in (0, 1)
    ]
    found = parts["spec"]["devices"]
    assert [one["name"] for one in found] == [
        "gpu-0", "gpu-0-half-0", "gpu-0-half-1", "gpu-0-most",
        "gpu-1", "gpu-1-half-0", "gpu-1-half-1", "gpu-1-most",
    ]  # fmt: skip
    assert found[1] == {
        "name": "gpu-0-half-0",
        "attributes": {"model": {"string": "A"}, "half": {"bool": True}},
        "consumesCounters": [{"counterSet": "gpu-0", "counters": {"memory": {"value": "40Gi"}}}],
    }
    whole = [{"counterSet": "gpu-1", "counters": {"memory": {"value": "80Gi"}}}]
    assert found[4]["consumesCounters"] == whole
    assert device_count(made.pools[0].devices[0]) == len(found)


@pytest.mark.parametrize(
    ("form", "sizes"),
    [
        ({"count": 300}, [128, 128, 44]),
        ({"count": 100, "taints": [{"key": "a", "effect": "NoSchedule"}]}, [64, 36]),
        ({"count": 70, "counters": {"m": 1}}, [0] * 9 + [64, 6]),
    ],
)
def test_large_pools_have_several_slices(form: dict[str, Any], sizes: list[int]) -> None:
    slices = node_slices(driver({"name": "gpu", **form}), NODE)
    assert [len(one["spec"].get("devices", ())) for one in slices] == sizes
    assert {one["spec"]["pool"]["resourceSliceCount"] for one in slices} == {len(sizes)}
    assert len({one["metadata"]["name"] for one in slices}) == len(sizes)
    for one in slices:
        one["metadata"].pop("ownerReferences")
        assert validate(RESOURCE_SLICES, one, None) == []


@pytest.mark.parametrize(
    ("pool", "has"),
    [
        ({}, True),
        ({"nodes": ["n1"]}, True),
        ({"nodes": ["m1", "n*"]}, True),
        ({"nodes": ["n"]}, False),
        ({"nodeLabels": {"gpu": "yes"}}, True),
        ({"nodeLabels": {"gpu": "no"}}, False),
        ({"nodes": ["n1"], "nodeLabels": {"disk": "ssd"}}, False),
    ],
)
def test_pools_are_for_some_nodes(pool: dict[str, Any], has: bool) -> None:
    made = driver({"name": "gpu"}, **pool)
    assert has_pool(made.pools[0], "n1", NODE["metadata"]["labels"]) is has
    assert bool(node_slices(made, NODE)) is has


def test_a_pool_with_a_name_is_for_several_nodes() -> None:
    form = {"name": "port"}
    (found,) = shared_slices(driver(form, name="fabric/one"))
    assert found["spec"]["allNodes"] is True
    assert found["spec"]["pool"]["name"] == "fabric/one"
    assert found["metadata"]["name"].startswith("fabric-one-gpu.example.com-0-")
    (found,) = shared_slices(driver(form, name="fabric", nodeLabels={"rack": "r1"}))
    expression = {"key": "rack", "operator": "In", "values": ["r1"]}
    terms = [{"matchExpressions": [expression]}]
    assert found["spec"]["nodeSelector"] == {"nodeSelectorTerms": terms}
    assert found["metadata"]["name"] == "fabric-gpu.example.com-0"
    assert node_slices(driver(form, name="fabric"), NODE) == []


def test_long_names_of_nodes_are_cut() -> None:
    names = set()
    for end in "ab":
        node = {"metadata": {"name": "n" * 250 + end}}
        (found,) = node_slices(driver({"name": "gpu"}), node)
        name = found["metadata"]["name"]
        assert len(name) <= 253
        names.add(name)
    assert len(names) == 2


def test_a_driver_has_a_class_of_its_name_unless_it_says_otherwise() -> None:
    (found,) = device_classes(driver({"name": "gpu"}))
    assert found["metadata"]["name"] == NAME
    expression = f'device.driver == "{NAME}"'
    assert found["spec"] == {"selectors": [{"cel": {"expression": expression}}]}
    form = {"name": "a", "selector": "x || y", "extendedResourceName": "example.com/gpu"}
    pools = [{"devices": [{"name": "gpu"}]}]
    made = convert({"name": NAME, "pools": pools, "classes": [form]}, DriverForm)
    (found,) = device_classes(made)
    assert found["spec"] == {
        "selectors": [{"cel": {"expression": f"{expression} && (x || y)"}}],
        "extendedResourceName": "example.com/gpu",
    }
    assert device_classes(convert({"name": NAME, "pools": pools, "classes": []}, DriverForm)) == []
