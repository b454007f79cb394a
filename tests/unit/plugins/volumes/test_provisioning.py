from collections.abc import Sequence
from typing import Any

import pytest

from mooring.framework.verdict import fail
from mooring.model.meta import KubeObject
from mooring.model.storage import CSIStorageCapacity
from mooring.plugins.volumes.provisioning import provisioner_of
from mooring.state.cluster import Cluster
from mooring.testing import make_node
from tests.unit.plugins.one_plugin import cluster_of
from tests.unit.plugins.volumes.volume_objects import ZONE, capacity, claim, driver, storage_class

NODES = (
    make_node("a", labels={ZONE: "z1", "rack": "1"}),
    make_node("b", labels={ZONE: "z2", "rack": "1"}),
    make_node("c"),
)
CLASS = storage_class("c", provisioner="d")
COUNTS = driver("d", capacity=True)


def allowed(terms: Sequence[dict[str, list[str]]]) -> list[bool]:
    """The nodes for which a class with these topologies makes volumes."""
    topologies = [
        {"matchLabelExpressions": [{"key": key, "values": values} for key, values in term.items()]}
        for term in terms
    ]
    cluster = cluster_of(*NODES, storage_class("c", allowedTopologies=topologies))
    where = provisioner_of(cluster).check(cluster.columns, claim(of="c"))
    assert where.enough is None
    found: list[bool] = where.allowed.tolist()
    return found


@pytest.mark.parametrize(
    ("terms", "nodes"),
    [
        ([], [True, True, True]),
        ([{ZONE: ["z1"]}], [True, False, False]),
        ([{ZONE: ["z1", "z2"]}], [True, True, False]),
        ([{ZONE: ["z2"], "rack": ["1"]}], [False, True, False]),
        ([{ZONE: ["z2"], "rack": ["2"]}], [False, False, False]),
        ([{ZONE: ["z1"]}, {ZONE: ["z2"]}], [True, True, False]),
        ([{}], [False, False, False]),
        ([{}, {ZONE: ["z1"]}], [True, False, False]),
    ],
)
def test_topologies(terms: list[dict[str, list[str]]], nodes: list[bool]) -> None:
    assert allowed(terms) == nodes


def enough(*things: KubeObject, size: str | None = "5Gi") -> list[bool] | None:
    cluster = cluster_of(*NODES, CLASS, *things)
    return room(cluster, size)


def room(cluster: Cluster, size: str | None = "5Gi") -> list[bool] | None:
    where = provisioner_of(cluster).check(cluster.columns, claim(of="c", size=size))
    return None if where.enough is None else where.enough.tolist()


def test_nobody_counts_unless_the_driver_does() -> None:
    small = capacity("cap", "c", "1", {ZONE: "z1"})
    assert enough(small) is None
    assert enough(small, driver("d", capacity=False)) is None
    assert enough(small, COUNTS) == [False, False, False]
    assert enough(small, COUNTS, size=None) is None


def test_a_driver_that_counts_and_told_of_nothing_has_no_room() -> None:
    assert enough(COUNTS) == [False, False, False]
    assert enough(COUNTS, capacity("cap", "other", "9Gi", {})) == [False, False, False]


def test_the_largest_capacity_that_a_node_can_reach_counts() -> None:
    found = enough(
        COUNTS,
        capacity("one", "c", "1Gi", {ZONE: "z1"}),
        capacity("two", "c", "5Gi", {"rack": "1"}),
        capacity("three", "c", "4Gi", {}),
    )
    assert found == [True, True, False]


def test_the_largest_volume_counts_more_than_what_is_left() -> None:
    assert enough(COUNTS, capacity("cap", "c", "9Gi", {}, most="4Gi")) == [False] * 3
    assert enough(COUNTS, capacity("cap", "c", "1Gi", {}, most="5Gi")) == [True] * 3


def test_a_capacity_without_nodes_or_size_is_none() -> None:
    assert enough(COUNTS, capacity("cap", "c", "9Gi", None)) == [False] * 3
    assert enough(COUNTS, capacity("cap", "c", None, {})) == [False] * 3


def test_sizes_beyond_all_numbers_are_only_large() -> None:
    assert enough(COUNTS, capacity("cap", "c", "100E", {}), size="50E") == [True] * 3


def test_conditions_on_labels() -> None:
    body: dict[str, Any] = {
        "metadata": {"name": "cap"},
        "storageClassName": "c",
        "capacity": "9Gi",
        "nodeTopology": {"matchExpressions": [{"key": ZONE, "operator": "DoesNotExist"}]},
    }
    assert enough(COUNTS, CSIStorageCapacity.from_dict(body)) == [False, False, True]


def test_changes_are_followed() -> None:
    cluster = cluster_of(*NODES, CLASS, COUNTS, capacity("cap", "c", "9Gi", {ZONE: "z1"}))
    assert room(cluster) == [True, False, False]
    cluster.put(capacity("cap", "c", "1Gi", {ZONE: "z1"}))
    assert room(cluster) == [False, False, False]
    cluster.put(capacity("cap", "c", "8Gi", {ZONE: "z2"}))
    assert room(cluster) == [False, True, False]
    cluster.put(make_node("d", labels={ZONE: "z2"}))
    assert room(cluster) == [False, True, False, True]
    cluster.put(capacity("cap", "other", "8Gi", {ZONE: "z2"}))
    assert room(cluster) == [False, False, False, False]
    cluster.put(capacity("cap", "c", "8Gi", {}))
    assert room(cluster) == [True, True, True, True]
    cluster.remove(capacity("cap", "c", "8Gi", {}))
    assert room(cluster) == [False, False, False, False]


def test_a_claim_that_lost_its_class_is_an_error() -> None:
    cluster = cluster_of(*NODES)
    provisioner = provisioner_of(cluster)
    gone = provisioner.check(cluster.columns, claim(of="gone"))
    assert gone.failure == fail('failed to find storage class "gone"')
    none = provisioner.check(cluster.columns, claim())
    assert none.failure == fail('no class for claim "default/claim"')
