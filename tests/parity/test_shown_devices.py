"""What ``node.devices`` shows agrees with the allocator, in every recorded case with devices.

A free device is one that the allocator gives to a claim for exactly this device, and no other is:
apart from taints, which policies see and judge themselves.
"""

import gzip
from typing import Any

import msgspec
import pytest

from mooring.model.devices.allocation import AllocationResult
from mooring.model.devices.device_class import DeviceClass
from mooring.model.devices.device_info import DeviceInfo
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.node import Node
from mooring.plugins.devices.allocator import Allocator
from mooring.plugins.devices.claim_tracker import ClaimTracker, tracker_of
from mooring.snapshot.object_reader import ObjectReader
from mooring.snapshot.snapshot import Snapshot
from mooring.state.cluster import Cluster
from tools.parity import VECTORS

CLASS = DeviceClass.from_dict({"metadata": {"name": "any"}, "spec": {}})
CASES = [
    msgspec.json.decode(line)["case"]
    for line in gzip.decompress((VECTORS / "dra.ndjson.gz").read_bytes()).splitlines()
]


def cluster_of(case: dict[str, Any]) -> Cluster:
    snapshot = Snapshot(strict=False)
    ObjectReader(snapshot).read(case["objects"])
    return snapshot.build()


def is_allocatable(one: DeviceInfo, node: Node, tracker: ClaimTracker) -> bool:
    """Whether a claim for this very device gets it."""
    expression = f'device.driver == "{one.driver}"'
    tolerations = [{"operator": "Exists"}]
    exactly = {
        "deviceClassName": "any", "allocationMode": "ExactCount", "count": 1,
        "selectors": [{"cel": {"expression": expression}}], "tolerations": tolerations,
    }  # fmt: skip
    claim = ResourceClaim.from_dict(
        {
            "metadata": {"name": "c"},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
        }
    )
    allocator = Allocator(
        [claim], {"any": CLASS}.get, tracker.inventory, tracker.selectors, tracker.state
    )
    allocator.order = lambda devices, request, candidates: [  # noqa: ARG005
        found
        for found in candidates
        if (found.device.driver, found.device.pool, found.device.device.name)
        == (one.driver, one.pool, one.name)
    ]
    found: list[AllocationResult] | None = allocator.allocate(node, lambda: "share")
    return found is not None


@pytest.mark.parametrize("part", range(4))
def test_free_devices_are_those_that_can_be_allocated(part: int) -> None:
    compared = 0
    for case in CASES[part::4]:
        cluster = cluster_of(case)
        tracker = tracker_of(cluster)
        for node in cluster.columns.nodes:
            pools = tracker.inventory.pools(node)
            if any(pool.problem for pool in pools):
                continue  # a driver contradicts itself: nothing can be had there
            for one in node.devices:
                if one.shareable and one.claims and one.free:
                    continue  # whether what is left is enough depends on the claim
                compared += 1
                assert one.free == is_allocatable(one, node, tracker), (case["id"], node, one)
    assert compared > 100
