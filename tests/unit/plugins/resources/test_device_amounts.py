"""Resources that devices provide, for scores that are kept from one decision to the next."""

import pytest

from mooring.config.runtimes import build_profiles, build_runtime
from mooring.framework.decisions.observer import Observer
from mooring.model.pod import Pod
from mooring.plugins.in_tree import default_registry
from mooring.testing import make_node, make_pod
from tests.unit.framework.deciding import decide_alone
from tests.unit.plugins.devices.test_dynamic_resources import (
    DRIVER,
    GPU,
    allocated,
    claim,
    device_class,
    published,
)
from tests.unit.plugins.one_plugin import cluster_of

COUNTED = [{"name": GPU, "weight": 1}, {"name": "cpu", "weight": 1}]


class EveryScore(Observer):
    """Has every plugin asked."""

    each_score = True


@pytest.mark.parametrize(
    "config",
    [
        {
            "name": "NodeResourcesFit",
            "args": {"scoringStrategy": {"type": "LeastAllocated", "resources": COUNTED}},
        },
        {"name": "NodeResourcesBalancedAllocation", "args": {"resources": COUNTED}},
    ],
    ids=lambda one: str(one["name"]),
)
def test_scores_follow_the_devices_in_use_in_a_profile_without_dynamic_resources(
    config: dict[str, object],
) -> None:
    registry = default_registry()
    plugins = {"multiPoint": {"disabled": [{"name": "DynamicResources"}]}}
    (profile,) = build_profiles(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"plugins": plugins, "pluginConfig": [config]}],
        },
        registry,
    ).values()
    cluster = cluster_of(
        make_node("a", cpu="8"), make_node("b", cpu="8"), device_class(DRIVER, GPU),
        published("a", "a-0", "a-1", "a-2"), published("b", "b-0", "b-1", "b-2"),
    )  # fmt: skip
    made = build_runtime(profile, registry, cluster, lambda: 0)

    def best(pod: Pod, *observer: Observer) -> list[str]:
        return [cluster.columns.nodes[row].name for row in decide_alone(made, pod, *observer).best]

    for number in range(6):
        pod = make_pod(f"p{number}", requests={GPU: "1", "cpu": "7"})
        cluster.put(pod)
        assert best(pod) == best(pod, EveryScore())
        if number == 3:
            # No node changes, and no pod comes to one.
            cluster.put(claim("c", **allocated("b-0", "b")))
