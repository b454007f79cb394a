"""Best fit: the devices and the nodes that leave the least unused, only if the argument says so."""

from typing import Any

import pytest

from mooring.framework.cycle import Cycle
from mooring.model.meta import KubeObject
from mooring.model.pod import Pod
from mooring.plugins.devices.pod_devices import PodDevices
from mooring.state.cluster import Cluster
from mooring.testing import make_node
from tests.unit.plugins.devices.opt_in.device_world import (
    CLASS,
    DRIVER,
    claim,
    gpu,
    slice_of,
    using,
)
from tests.unit.plugins.devices.test_dynamic_resources import on
from tests.unit.plugins.one_plugin import cluster_of


def fitted(cluster: Cluster, pod: Pod, **args: Any) -> tuple[dict[str, list[str]], dict[str, int]]:
    """The devices that a pod would get on each node, and the raw scores."""
    plugin = on(cluster, **{"bestFit": True, **args})
    cycle = Cycle(pod, cluster)
    assert plugin.pre_filter(cycle) is None
    plugin.filter_nodes(pod, cycle.nodes)
    state: PodDevices = cycle.data[plugin.name]
    found = {node: state.allocation(node) for node in cycle.nodes.names}
    devices = {
        node: [one.device for result in one_node.results for one in result.devices.results or ()]
        for node, one_node in found.items()
        if one_node is not None
    }
    scores = plugin.score_nodes(pod, cycle.nodes).tolist()
    return devices, dict(zip(cycle.nodes.names, scores, strict=True))


def of(*things: KubeObject, nodes: str = "a") -> Cluster:
    return cluster_of(*(make_node(one) for one in nodes), CLASS, *things)


def asks(memory: str) -> dict[str, Any]:
    return {"capacity": {"requests": {"memory": memory}}}


class TestDevices:
    def test_the_smallest_that_is_large_enough_comes_first(self) -> None:
        cluster = of(
            slice_of("a", gpu("large", "80Gi"), gpu("small", "10Gi"), gpu("medium", "40Gi")),
            claim("any"), claim("some", **asks("20Gi")), claim("two", count=2),
        )  # fmt: skip
        pods = {name: using(name, name) for name in ("any", "some", "two")}
        found = {name: fitted(cluster, pod)[0]["a"] for name, pod in pods.items()}
        assert found == {"any": ["small"], "some": ["medium"], "two": ["small", "medium"]}

    def test_kube_schedulers_order_is_the_default(self) -> None:
        cluster = of(slice_of("a", gpu("large", "80Gi"), gpu("small", "10Gi")), claim("any"))
        assert fitted(cluster, using("any", "any"), bestFit=False)[0] == {"a": ["large"]}

    def test_equals_keep_their_order(self) -> None:
        cluster = of(slice_of("a", gpu("z", "8Gi"), gpu("y", "8Gi"), gpu("x")), claim("any"))
        # One without capacities wastes nothing.
        assert fitted(cluster, using("any", "any"))[0] == {"a": ["x"]}
        cluster.put(claim("other", "x"))
        assert fitted(cluster, using("any", "any"))[0] == {"a": ["z"]}

    def test_a_shared_device_is_filled_up_first(self) -> None:
        shared: dict[str, Any] = {"allowMultipleAllocations": True}
        part = {"shareID": "1", "consumedCapacity": {"memory": "30Gi"}}
        used = claim("used", "used")
        results = [{"request": "gpu", "driver": DRIVER, "pool": "a", "device": "used", **part}]
        raw = {**used.raw, "status": {"allocation": {"devices": {"results": results}}}}
        cluster = of(
            slice_of("a", gpu("fresh", "80Gi", **shared), gpu("used", "80Gi", **shared)),
            type(used).from_dict(raw), claim("mine", **asks("40Gi")), claim("more", **asks("60Gi")),
        )  # fmt: skip
        assert fitted(cluster, using("p", "mine"))[0] == {"a": ["used"]}
        assert fitted(cluster, using("p", "more"))[0] == {"a": ["fresh"]}

    def test_a_started_partition_comes_before_a_whole_device(self) -> None:
        def part(name: str, counter_set: str, memory: str) -> dict[str, Any]:
            uses = [{"counterSet": counter_set, "counters": {"memory": {"value": memory}}}]
            return gpu(name, consumesCounters=uses)

        limits = [
            {"name": one, "counters": {"memory": {"value": "80Gi"}}} for one in ("gpu-0", "gpu-1")
        ]
        pool = {"name": "a", "generation": 1, "resourceSliceCount": 2}
        parts = [
            part(f"{kind}-{index}-{place}", f"gpu-{index}", memory)
            for index in (0, 1)
            for kind, memory, count in (("whole", "80Gi", 1), ("half", "40Gi", 2))
            for place in range(count)
        ]
        cluster = of(
            slice_of("a", *parts, pool=pool),
            slice_of("a", pool=pool, sharedCounters=limits),
            claim("one"), claim("used", "half-1-0"),
        )  # fmt: skip
        assert fitted(cluster, using("p", "one"))[0] == {"a": ["half-1-1"]}

    def test_failing_selectors_matter_last(self) -> None:
        selectors = [{"cel": {"expression": 'device.attributes["gpu.example.com"].model == "A"'}}]
        cluster = of(
            slice_of("a", gpu("broken"), gpu("good", attributes={"model": {"string": "A"}})),
            claim("mine", selectors=selectors),
        )
        assert fitted(cluster, using("p", "mine"))[0] == {"a": ["good"]}
        assert fitted(cluster, using("p", "mine"), bestFit=False)[0] == {}


class TestNodes:
    def test_the_node_that_keeps_the_fewest_free_is_best(self) -> None:
        cluster = of(
            *(slice_of(one, *(gpu(f"g-{n}") for n in range(count)))
              for one, count in (("a", 4), ("b", 1), ("c", 2))),
            claim("mine"), nodes="abcd",
        )  # fmt: skip
        # 50 for wasting nothing, and half of 100 / (1 + left): 3, 0 and 1 stay free.
        assert fitted(cluster, using("p", "mine"))[1] == {"a": 62, "b": 100, "c": 75, "d": 0}

    def test_devices_in_use_are_not_left_over(self) -> None:
        cluster = of(
            slice_of("a", gpu("g-0"), gpu("g-1")), slice_of("b", gpu("g-0"), gpu("g-1")),
            claim("mine"), claim("other", "g-1", pool="b"), nodes="ab",
        )  # fmt: skip
        assert fitted(cluster, using("p", "mine"))[1] == {"a": 75, "b": 100}

    def test_what_nobody_asked_for_is_wasted(self) -> None:
        cluster = of(
            slice_of("a", gpu("g", "80Gi")), slice_of("b", gpu("g", "20Gi")),
            claim("mine", **asks("20Gi")), claim("any"), nodes="ab",
        )  # fmt: skip
        # 60 of 80 are wasted on a, nothing on b: 50 x (1 - 3/4) + 50.
        assert fitted(cluster, using("p", "mine"))[1] == {"a": 62, "b": 100}
        assert fitted(cluster, using("p", "any"))[1] == {"a": 50, "b": 87}

    def test_only_devices_that_match_count(self) -> None:
        def model(name: str) -> dict[str, Any]:
            return {"attributes": {"model": {"string": name}}}

        selectors = [{"cel": {"expression": 'device.attributes["gpu.example.com"].model == "A"'}}]
        cluster = of(
            slice_of("a", gpu("g-0", **model("A")), gpu("g-1", **model("B"))),
            claim("mine", selectors=selectors), claim("any"),
        )  # fmt: skip
        assert fitted(cluster, using("p", "mine"))[1] == {"a": 100}
        assert fitted(cluster, using("p", "any"))[1] == {"a": 75}

    def test_claims_that_have_their_devices_say_nothing(self) -> None:
        cluster = of(slice_of("a", gpu("g")), claim("mine", "g"))
        assert fitted(cluster, using("p", "mine"))[1] == {"a": 0}

    def test_the_preferred_way_is_worth_more_than_any_fit(self) -> None:
        ways = [
            {
                "name": name, "deviceClassName": DRIVER, "allocationMode": "ExactCount", "count": 1,
                "selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}" && {test}'}}],
            }
            for name, test in (
                ("first", 'device.attributes["gpu.example.com"].good'),
                ("second", '!device.attributes["gpu.example.com"].good'),
            )
        ]  # fmt: skip
        raw = claim("mine").raw
        spec = {"devices": {"requests": [{"name": "gpu", "firstAvailable": ways}]}}
        mine = type(claim("mine")).from_dict({**raw, "spec": spec})
        good: dict[str, Any] = {"attributes": {"good": {"bool": True}}}
        bad: dict[str, Any] = {"attributes": {"good": {"bool": False}}}
        cluster = of(
            slice_of("a", *(gpu(f"g-{n}", **good) for n in range(9))),
            slice_of("b", gpu("g", **bad)), slice_of("c", gpu("g", **good)), mine, nodes="abc",
        )  # fmt: skip
        assert fitted(cluster, using("p", "mine"), bestFit=False)[1] == {"a": 8, "b": 7, "c": 8}
        found = fitted(cluster, using("p", "mine"))[1]
        assert found == {"a": 8 * 101 + 55, "b": 7 * 101 + 100, "c": 8 * 101 + 100}
        assert found["c"] > found["a"] > found["b"]

    @pytest.mark.parametrize("free", [0, 1, 2, 9, 99])
    def test_scores_stay_between_0_and_100(self, free: int) -> None:
        cluster = of(slice_of("a", *(gpu(f"g-{n}", "1Gi") for n in range(free + 1))), claim("mine"))
        assert fitted(cluster, using("p", "mine"))[1] == {"a": int(50 / (1 + free))}


def test_the_best_node_gets_all_points() -> None:
    cluster = of(
        slice_of("a", gpu("g-0"), gpu("g-1")), slice_of("b", gpu("g")), claim("mine"), nodes="ab"
    )
    plugin = on(cluster, bestFit=True)
    pod = using("p", "mine")
    cycle = Cycle(pod, cluster)
    plugin.pre_filter(cycle)
    plugin.filter_nodes(pod, cycle.nodes)
    raw = plugin.score_nodes(pod, cycle.nodes)
    assert plugin.normalize(cycle, cycle.nodes, raw).tolist() == [75, 100]
