"""What ``node.devices`` shows: what drivers publish, and who has it."""

from typing import Any

import pytest

from mooring import Devices, NotAvailable, Quantity, parse_quantity
from mooring.model.devices.allocation import AllocationResult
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.devices.resource_slice import ResourceSlice
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod

DRIVER = "gpu.example.com"
MEMORY = f"{DRIVER}/memory"


def published(*devices: dict[str, Any], pool: str = "a", **fields: Any) -> ResourceSlice:
    """A slice of a pool; it is for the node of that name if nothing else is said."""
    spec = {
        "driver": DRIVER,
        "pool": {"name": pool, "generation": 1, "resourceSliceCount": 1},
        "devices": list(devices),
        **({"nodeName": pool} if not fields else {}),
        **fields,
    }
    return ResourceSlice.from_dict({"metadata": {"name": f"{pool}-slice"}, "spec": spec})


def device(name: str, memory: str = "", **fields: Any) -> dict[str, Any]:
    capacity = {"capacity": {"memory": {"value": memory}}} if memory else {}
    return {"name": name, **capacity, **fields}


def allocation(*devices: str, pool: str = "a", **fields: Any) -> dict[str, Any]:
    results = [
        {"request": "gpu", "driver": DRIVER, "pool": pool, "device": one, **fields}
        for one in devices
    ]
    return {"devices": {"results": results}}


def claim(name: str, *devices: str, pods: tuple[str, ...] = (), **fields: Any) -> ResourceClaim:
    """A claim that has devices; it has none if none are named."""
    users = [{"resource": "pods", "name": one, "uid": f"uid-{one}"} for one in pods]
    status = {"allocation": allocation(*devices, **fields), "reservedFor": users}
    return ResourceClaim.from_dict(
        {
            "metadata": {"name": name, "namespace": "team", "uid": f"uid-{name}"},
            "status": status if devices else {},
        }
    )


def of(*things: Any) -> Cluster:
    cluster = Cluster()
    for name in ("a", "b"):
        cluster.put_node(make_node(name, labels={"zone": name}))
    for one in things:
        cluster.put(one)
    return cluster


def names(devices: Devices) -> list[str]:
    return [one.name for one in devices]


def on(cluster: Cluster, node: str = "a") -> Devices:
    return cluster.nodes[node].devices


class TestDevices:
    def test_there_are_none_without_slices(self) -> None:
        devices = on(of())
        assert list(devices) == list(devices.free) == list(devices.of(DRIVER)) == []
        assert not devices

    def test_a_device_is_what_its_driver_publishes(self) -> None:
        gpu = device(
            "gpu-0",
            "80Gi",
            attributes={
                "model": {"string": "A100"},
                "index": {"int": 0},
                "healthy": {"bool": False},
                "driverVersion": {"version": "1.2.3"},
                "resource.kubernetes.io/pcieRoot": {"string": "pci0"},
            },
            taints=[{"key": "broken", "effect": "NoSchedule"}],
        )
        (one,) = on(of(published(gpu)))
        assert (one.driver, one.pool, one.name, str(one)) == (
            DRIVER, "a", "gpu-0", f"{DRIVER}/a/gpu-0",
        )  # fmt: skip
        assert dict(one.attributes) == {
            f"{DRIVER}/model": "A100", f"{DRIVER}/index": 0, f"{DRIVER}/healthy": False,
            f"{DRIVER}/driverVersion": "1.2.3", "resource.kubernetes.io/pcieRoot": "pci0",
        }  # fmt: skip
        assert one.capacity == one.free_capacity == {MEMORY: parse_quantity("80Gi")}
        assert one.capacity["other"] == Quantity(0)
        assert [taint.key for taint in one.taints] == ["broken"]
        assert (one.free, one.allocated, one.shareable, one.claims, one.pods) == (
            True, False, False, (), (),
        )  # fmt: skip

    def test_nothing_can_be_changed(self) -> None:
        (one,) = on(of(published(device("gpu", "1Gi", attributes={"a": {"int": 1}}))))
        with pytest.raises(TypeError):
            one.attributes["a"] = 2  # type: ignore[index]
        with pytest.raises(TypeError, match="read-only"):
            one.capacity[MEMORY] = Quantity(0)  # type: ignore[index]
        with pytest.raises(AttributeError):
            one.free = False  # type: ignore[misc]

    def test_they_are_a_sequence(self) -> None:
        devices = on(of(published(device("x"), device("y"), device("z"))))
        assert names(devices) == ["x", "y", "z"]
        assert names(devices[1:]) == ["y", "z"]
        assert devices[-1].name == "z"
        assert devices == Devices(devices)
        assert len({devices, Devices(devices)}) == 1
        assert repr(devices[:1]) == f"<Devices {DRIVER}/a/x>"
        assert repr(Devices()) == "<Devices none>"

    def test_they_can_be_selected(self) -> None:
        other = ResourceSlice.from_dict(
            {
                "metadata": {"name": "nics"},
                "spec": {
                    "driver": "nic", "nodeName": "a", "devices": [{"name": "nic-0"}],
                    "pool": {"name": "a", "generation": 1, "resourceSliceCount": 1},
                },
            }
        )  # fmt: skip
        cluster = of(published(device("x"), device("y")), other, claim("c", "x"))
        assert names(on(cluster)) == ["x", "y", "nic-0"]
        assert names(on(cluster).of(DRIVER)) == ["x", "y"]
        assert names(on(cluster).of(DRIVER).free) == names(on(cluster).free.of(DRIVER)) == ["y"]
        assert names(on(cluster).allocated) == ["x"]
        assert names(on(cluster).of("none")) == []


class TestWhoHasThem:
    def test_a_claim_has_a_device_and_its_pods_use_it(self) -> None:
        cluster = of(published(device("x", "80Gi")), claim("c", "x", pods=("p", "q")))
        (one,) = on(cluster)
        assert (one.claims, one.pods) == (("team/c",), ("team/p", "team/q"))
        assert (one.free, one.allocated) == (False, True)
        assert one.free_capacity[MEMORY] == Quantity(0)
        cluster.remove(claim("c", "x"))
        assert on(cluster)[0].free

    def test_who_uses_a_claim_is_followed(self) -> None:
        cluster = of(published(device("x"), device("y")), claim("c"))
        assert names(on(cluster).free) == ["x", "y"]
        cluster.put(claim("c", "x"))
        assert on(cluster)[0].pods == ()
        cluster.put(claim("c", "x", pods=("p",)))
        assert on(cluster)[0].pods == ("team/p",)
        cluster.put(claim("c", "y", pods=("p",)))
        assert names(on(cluster).free) == ["x"]
        cluster.put(claim("c"))
        assert names(on(cluster).free) == ["x", "y"]

    def test_what_is_being_written_counts(self) -> None:
        cluster = of(published(device("x"), device("y")), claim("c"))
        assert names(on(cluster).free) == ["x", "y"]
        flying, place = cluster.assume_cache.in_flight, (ResourceClaim, "team/c")
        flying[place] = allocation_of("x")
        assert on(cluster).allocated[0].claims == ("team/c",)
        del flying[place]
        assert names(on(cluster).free) == ["x", "y"]
        flying[place] = allocation_of("y")
        assert names(on(cluster).free) == ["x"]
        # The API server knows better.
        cluster.put(claim("c", "x"))
        assert names(on(cluster).free) == ["y"]
        flying.pop(place)
        assert names(on(cluster).free) == ["y"]

    def test_admin_access_takes_nothing(self) -> None:
        assert on(of(published(device("x")), claim("c", "x", adminAccess=True)))[0].free

    def test_a_shared_device_is_free_while_something_is_left(self) -> None:
        gpu = device("x", "10Gi", allowMultipleAllocations=True)
        part: dict[str, Any] = {"shareID": "1", "consumedCapacity": {"memory": "4Gi"}}
        cluster = of(published(gpu), claim("c", "x", **part))
        (one,) = on(cluster)
        assert (one.shareable, one.free, one.allocated) == (True, True, True)
        assert one.free_capacity[MEMORY] == parse_quantity("6Gi")
        cluster.put(claim("d", "x", shareID="2", consumedCapacity={"memory": "6Gi"}))
        (one,) = on(cluster)
        assert (one.free, one.claims) == (False, ("team/c", "team/d"))
        cluster.remove(claim("c", "x"))
        assert on(cluster)[0].free_capacity[MEMORY] == parse_quantity("4Gi")

    def test_partitions_share_counters(self) -> None:
        def part(name: str, memory: str) -> dict[str, Any]:
            uses = [{"counterSet": "gpu-0", "counters": {"memory": {"value": memory}}}]
            return device(name, consumesCounters=uses)

        limits = [{"name": "gpu-0", "counters": {"memory": {"value": "80Gi"}}}]
        pool = {"name": "a", "generation": 1, "resourceSliceCount": 2}
        devices = [part("whole", "80Gi"), part("half-0", "40Gi"), part("half-1", "40Gi")]
        fields: dict[str, Any] = {"driver": DRIVER, "nodeName": "a", "pool": pool}
        cluster = of(
            ResourceSlice.from_dict(
                {"metadata": {"name": "s-0"}, "spec": {**fields, "sharedCounters": limits}}
            ),
            ResourceSlice.from_dict(
                {"metadata": {"name": "s-1"}, "spec": {**fields, "devices": devices}}
            ),
        )
        assert names(on(cluster).free) == ["whole", "half-0", "half-1"]
        cluster.put(claim("c", "half-0"))
        assert names(on(cluster).free) == ["half-1"]
        cluster.put(claim("c", "whole"))
        assert names(on(cluster).free) == []
        cluster.put(claim("c"))
        assert names(on(cluster).free) == ["whole", "half-0", "half-1"]


class TestWhereTheyAre:
    def test_a_slice_says_which_nodes_can_use_it(self) -> None:
        selector = {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}
            ]
        }
        cluster = of(
            published(device("mine")),
            published(device("everywhere"), pool="net", allNodes=True),
            published(device("there"), pool="rack", nodeSelector=selector),
            published(
                device("each-a", nodeName="a"), device("each", allNodes=True),
                pool="mixed", perDeviceNodeSelection=True,
            ),
        )  # fmt: skip
        assert names(on(cluster)) == ["mine", "everywhere", "each-a", "each"]
        assert names(on(cluster, "b")) == ["everywhere", "there", "each"]
        cluster.put_node(make_node("a", labels={"zone": "b"}))
        assert "there" in names(on(cluster))

    def test_a_pool_on_several_nodes_changes_on_all(self) -> None:
        cluster = of(published(device("x"), pool="net", allNodes=True))
        assert names(on(cluster).free) == names(on(cluster, "b").free) == ["x"]
        cluster.put(claim("c", "x", pool="net"))
        assert names(on(cluster).free) == names(on(cluster, "b").free) == []

    def test_only_the_newest_generation_counts_once_it_is_complete(self) -> None:
        def slice_(name: str, generation: int, of_slices: int, *devices: str) -> ResourceSlice:
            pool = {"name": "a", "generation": generation, "resourceSliceCount": of_slices}
            spec = {
                "driver": DRIVER, "pool": pool, "nodeName": "a",
                "devices": [{"name": one} for one in devices],
            }  # fmt: skip
            return ResourceSlice.from_dict({"metadata": {"name": name}, "spec": spec})

        cluster = of(slice_("s", 1, 1, "old"))
        assert names(on(cluster)) == ["old"]
        cluster.put(slice_("t", 2, 2, "new-1"))
        assert names(on(cluster)) == []
        cluster.put(slice_("s", 2, 2, "new-0"))
        assert names(on(cluster)) == ["new-0", "new-1"]
        cluster.remove(slice_("t", 2, 2))
        assert names(on(cluster)) == []


class TestForks:
    def test_both_sides_see_their_own(self) -> None:
        cluster = of(published(device("x"), device("y")))
        assert len(on(cluster).free) == 2
        fork = cluster.fork()
        fork.put(claim("c", "x"))
        assert names(on(fork).free) == ["y"]
        assert names(fork.columns.nodes[0].devices.free) == ["y"]
        assert names(on(cluster).free) == ["x", "y"]
        cluster.put(claim("d", "y"))
        assert names(on(fork).free) == ["y"]
        assert names(on(cluster).free) == ["x"]

    def test_they_follow_pods_that_come(self) -> None:
        cluster = of(published(device("x")))
        fork = cluster.fork()
        fork.put_pod(make_pod(requests={"cpu": 1}, node="a"))
        fork.put(claim("c", "x"))
        assert (names(on(fork).free), fork.nodes["a"].used["cpu"]) == ([], 1000)
        assert (names(on(cluster).free), cluster.nodes["a"].used["cpu"]) == (["x"], 0)


class TestWhoDoesNotKnow:
    def test_a_node_by_itself_says_so(self) -> None:
        with pytest.raises(NotAvailable, match="devices needs"):
            _ = make_node().devices
        with pytest.raises(NotAvailable, match="devices needs"):
            _ = make_node(pods=[]).devices

    def test_a_cluster_may_know_neither_or_one_of_both(self) -> None:
        neither, devices = Cluster(has_pods=False, has_devices=False), Cluster(has_pods=False)
        pods = Cluster(has_devices=False)
        for one in (neither, devices, pods):
            one.put_node(make_node("a"))
            one.put(published(device("x")))
        assert names(on(devices)) == ["x"]
        assert list(pods.nodes["a"].pods) == []
        for one in (neither, pods):
            with pytest.raises(NotAvailable):
                on(one)
        for one in (neither, devices):
            with pytest.raises(NotAvailable):
                _ = one.nodes["a"].pods
        assert names(on(devices.fork())) == ["x"]

    def test_nothing_of_it_is_part_of_the_node(self) -> None:
        cluster = of(published(device("x")))
        assert set(cluster.nodes["a"].raw) == set(make_node("a").raw)


def allocation_of(*devices: str) -> AllocationResult:
    found = claim("c", *devices).status.allocation
    assert found is not None
    return found
