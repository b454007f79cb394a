import asyncio

import numpy as np
import pytest

from mooring.config.plugin_entry import extension_points_of
from mooring.explaining.explainer import explain
from mooring.framework.binding import Binding
from mooring.framework.filtering import Filtering
from mooring.framework.hook import SKIP, Hook
from mooring.framework.verdict import Verdict
from mooring.model.devices.device_class import DeviceClass
from mooring.model.pod import Pod
from mooring.plugins.devices.device_classes import ExtendedResourceCache
from mooring.plugins.devices.dynamic_resources import DynamicResources
from mooring.plugins.resources.node_resources_fit import NodeResourcesFit
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod
from tests.unit.plugins.one_plugin import (
    accepted,
    begin,
    cluster_of,
    filtered,
    made,
    normalized,
    pre_filtered,
    problems,
    scored,
)
from tests.unit.plugins.requeueing import plugin_on, requeues
from tests.unit.scheduler.world import World

CLUSTER = cluster_of(make_node("a"), make_node("b"))
CLAIMING = make_pod(spec={"resourceClaims": [{"name": "gpu", "resourceClaimName": "x"}]})


def test_it_has_the_extension_points_of_kube_scheduler() -> None:
    assert extension_points_of(DynamicResources) == (
        "preEnqueue", "preFilter", "filter", "postFilter", "score", "reserve", "preBind",
    )  # fmt: skip


def test_pods_with_claims_are_rejected_with_a_reason() -> None:
    verdict = pre_filtered(DynamicResources(), CLUSTER, CLAIMING)
    assert isinstance(verdict, Verdict)
    assert verdict.code == "UnschedulableAndUnresolvable"
    assert verdict.reasons == ("dynamic resource claims are not supported by mooring yet",)


def test_other_pods_pass_through() -> None:
    plugin, pod = DynamicResources(), make_pod(spec={"resourceClaims": []})
    assert pre_filtered(plugin, CLUSTER, pod) is SKIP
    assert accepted(plugin, CLUSTER, pod) == ["a", "b"]
    assert scored(plugin, CLUSTER, pod) == {"a": 0, "b": 0}
    assert scored(plugin, CLUSTER, pod, ["b"]) == {"b": 0}
    assert normalized(plugin, CLUSTER, pod, [0, 0]) == [0, 0]
    cycle = begin(CLUSTER, pod)
    node = CLUSTER.nodes["a"]
    binding = Binding(namespace="default", name="pod", uid="1", node_name="a")
    # No word means yes.
    plugin.pre_enqueue(pod)
    plugin.reserve(cycle, node)
    plugin.unreserve(cycle, node)
    asyncio.run(plugin.pre_bind(binding))


def test_nothing_can_be_freed() -> None:
    plugin, cycle, none = DynamicResources(), begin(CLUSTER, make_pod()), np.zeros(2, np.bool_)
    # kube-scheduler's plugin has no state of a pod that another one rejected before.
    early = plugin.post_filter(cycle, Filtering(none))
    assert (early.code, early.reason) == ("Error", "not found")
    plugin.pre_filter(cycle)
    verdict = plugin.post_filter(cycle, Filtering(none))
    assert (verdict.code, verdict.reason) == ("Unschedulable", "no new claims to deallocate")


# -- extended resources that devices provide

GPU = "example.com/gpu"
IMPLICIT = "deviceclass.resource.kubernetes.io/small"


def device_class(
    name: str, resource: str = "", created: str = "2026-01-01T00:00:00Z"
) -> DeviceClass:
    spec = {"extendedResourceName": resource} if resource else {}
    return DeviceClass.from_dict(
        {"metadata": {"name": name, "creationTimestamp": created}, "spec": spec}
    )


def asking(*resources: str) -> Pod:
    return make_pod(requests=dict.fromkeys(resources, "1"))


DEVICES = cluster_of(
    make_node("plugged", extended={GPU: 4}),
    make_node("bare"),
    make_node("unplugged", extended={GPU: 0}),
    device_class("gpu.example.com", GPU),
    device_class("small"),
)


@pytest.mark.parametrize(
    ("resource", "name"), [(GPU, "gpu.example.com"), (IMPLICIT, "small")], ids=["named", "implicit"]
)
def test_a_resource_that_only_devices_could_provide_is_rejected_with_a_reason(
    resource: str, name: str
) -> None:
    pod = asking(resource)
    assert pre_filtered(DynamicResources(), DEVICES, pod) is None
    verdict = filtered(DynamicResources(), DEVICES, pod)["bare"]
    assert verdict.code == "UnschedulableAndUnresolvable"
    assert verdict.reasons == (
        f"devices of DeviceClass {name} for {resource} are not supported by mooring yet",
    )
    # Both of them are honest: it is not a lack of the resource.
    assert accepted(made(NodeResourcesFit), DEVICES, pod, ["bare"]) == ["bare"]
    assert accepted(made(NodeResourcesFit), DEVICES, pod)[1:] == ["bare", "unplugged"]


def test_a_node_with_a_device_plugin_offers_the_resource_as_any_other() -> None:
    pod = asking(GPU)
    assert accepted(DynamicResources(), DEVICES, pod) == ["plugged"]
    assert accepted(DynamicResources(), DEVICES, pod, ["bare"]) == []
    greedy = make_pod(requests={GPU: "5"})
    fit = made(NodeResourcesFit)
    assert filtered(fit, DEVICES, greedy)["plugged"].reasons == (f"Insufficient {GPU}",)
    assert filtered(fit, DEVICES, greedy, ["plugged"])["plugged"].code == (
        "UnschedulableAndUnresolvable"
    )


def test_pods_that_ask_for_other_things_are_left_alone() -> None:
    for pod in (make_pod(requests={"cpu": "1"}), asking("example.com/other"), asking()):
        assert pre_filtered(DynamicResources(), DEVICES, pod) is SKIP
    none = make_pod(requests={GPU: "0"})
    assert pre_filtered(DynamicResources(), DEVICES, none) is SKIP


def test_without_a_class_it_is_a_lack_of_the_resource() -> None:
    cluster = cluster_of(make_node("bare"))
    pod, plugin, fit = asking(GPU), DynamicResources(), made(NodeResourcesFit)
    assert pre_filtered(plugin, cluster, pod) is SKIP
    assert filtered(fit, cluster, pod)["bare"].reasons == (f"Insufficient {GPU}",)
    named = device_class("gpu", GPU)
    cluster.put(named)
    assert pre_filtered(plugin, cluster, pod) is None
    assert accepted(fit, cluster, pod) == ["bare"]
    cluster.remove(named)
    assert pre_filtered(plugin, cluster, pod) is SKIP
    assert filtered(fit, cluster, pod)["bare"].reasons == (f"Insufficient {GPU}",)


def test_of_several_classes_for_a_resource_the_newest_counts_then_the_first_name() -> None:
    resources = ExtendedResourceCache()
    cluster = cluster_of(
        device_class("old", GPU, "2025-01-01T00:00:00Z"),
        device_class("b", GPU),
        device_class("a", GPU),
        device_class("c", GPU),
    )
    assert resources.read(cluster.catalog)[GPU] == "a"
    # v1.36.4 forgets the implicit name of a class that came after a better one of the same name.
    implicit = {name.rpartition("/")[2] for name in resources.read(cluster.catalog) if name != GPU}
    assert implicit == {"old", "b", "a"}
    cluster.put(device_class("z", GPU, "2026-02-01T00:00:00Z"))
    assert resources.read(cluster.catalog)[GPU] == "z"
    assert set(resources.read(Cluster().catalog)) == set()


@pytest.mark.parametrize("kind", [DynamicResources, NodeResourcesFit])
def test_a_class_that_provides_the_resource_requeues_the_pod(kind: type[Hook]) -> None:
    plugin, pod = plugin_on(kind), asking(GPU)
    assert requeues(plugin, pod, None, device_class("gpu", GPU)) is True
    assert requeues(plugin, pod, device_class("gpu"), device_class("gpu", GPU)) is True
    assert requeues(plugin, pod, device_class("gpu", "x.io/y"), device_class("gpu", GPU)) is True
    assert requeues(plugin, pod, device_class("gpu", GPU), device_class("gpu", GPU)) is False
    assert requeues(plugin, pod, None, device_class("other", "x.io/y")) is False
    assert requeues(plugin, pod, device_class("gpu", GPU), None) is None
    assert requeues(plugin, asking(IMPLICIT), None, device_class("small")) is True
    assert requeues(plugin, asking(IMPLICIT), None, device_class("large")) is False
    claiming = make_pod(
        requests={GPU: "1"}, spec={"resourceClaims": [{"name": "g", "resourceClaimName": "x"}]}
    )
    helps = kind is NodeResourcesFit
    assert requeues(plugin, claiming, None, device_class("gpu", GPU)) is helps


def test_a_device_plugin_that_comes_to_a_node_requeues_the_pod() -> None:
    pod = asking(GPU)
    bare, plugged = make_node("n"), make_node("n", extended={GPU: 1})
    for kind in (DynamicResources, NodeResourcesFit):
        plugin = plugin_on(kind, device_class("gpu", GPU))
        assert requeues(plugin, pod, bare, plugged) is True
        assert requeues(plugin, pod, None, plugged) is True
        assert requeues(plugin, pod, bare, make_node("n", labels={"a": "b"})) is None
    plugin = plugin_on(DynamicResources)
    assert requeues(plugin, pod, None, bare) is False
    assert requeues(plugin, pod, plugged, bare) is False
    assert requeues(plugin, CLAIMING, None, plugged) is False


WHY = "devices of DeviceClass gpu.example.com for example.com/gpu are not supported by mooring yet"


def test_the_scheduler_says_why_and_places_the_pod_when_a_device_plugin_comes() -> None:
    world = World(make_node("bare"), make_pod("p", requests={GPU: "1"}))
    world.run()
    assert f"1 Insufficient {GPU}." in world.events[-1][2]
    # NodeResourcesFit requeues the pod: now it is no lack of the resource any more.
    world.put(device_class("gpu.example.com", GPU))
    world.wait(60)
    assert world.events[-1][2].startswith(f"0/1 nodes are available: 1 {WHY}.")
    recorded = len(world.events)
    world.put(device_class("other"))
    world.wait(60)
    assert len(world.events) == recorded
    world.put(make_node("plugged", extended={GPU: 1}))
    world.wait(60)
    assert world.where("p") == "plugged"


def test_an_explanation_says_why() -> None:
    record = explain(
        {
            "nodes": [{"metadata": {"name": "bare"}, "status": {"allocatable": {"pods": "9"}}}],
            "deviceClasses": [
                {
                    "metadata": {"name": "gpu.example.com"},
                    "spec": {"extendedResourceName": GPU},
                }
            ],
        },
        make_pod("p", requests={GPU: "1"}),
    )
    assert record.feasible == []
    assert WHY in str(record.to_dict())


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"filterTimeout": "10s", "bindingTimeout": "10m"}, []),
        ({"filterTimeout": "0s", "bindingTimeout": "1s"}, []),
        ({"filterTimeout": "-1s"}, ["args.filterTimeout: -1s is negative: must be at least 0s"]),
        (
            {"bindingTimeout": "999ms"},
            ["args.bindingTimeout: 999ms is too short: must be at least 1s"],
        ),
    ],
)
def test_arguments(args: dict[str, str], expected: list[str]) -> None:
    assert problems(DynamicResources, **args) == expected
