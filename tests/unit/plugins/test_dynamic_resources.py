import asyncio

import numpy as np
import pytest

from mooring.framework.binding import Binding
from mooring.framework.filtering import Filtering
from mooring.framework.hook import SKIP
from mooring.framework.plugin_entry import points
from mooring.framework.verdict import Verdict
from mooring.plugins.dynamic_resources import DynamicResources
from mooring.testing import make_node, make_pod
from tests.unit.plugins.one_plugin import (
    accepted,
    begin,
    cluster_of,
    normalized,
    pre_filtered,
    problems,
    scored,
)

CLUSTER = cluster_of(make_node("a"), make_node("b"))
CLAIMING = make_pod(spec={"resourceClaims": [{"name": "gpu", "resourceClaimName": "x"}]})


def test_it_has_the_extension_points_of_kube_scheduler() -> None:
    assert points(DynamicResources) == (
        "preEnqueue", "preFilter", "filter", "postFilter", "score", "reserve", "preBind",
    )  # fmt: skip


def test_pods_with_claims_are_refused_with_a_reason() -> None:
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
    # kube-scheduler's plugin has no state of a pod that another one refused before.
    early = plugin.post_filter(cycle, Filtering(none))
    assert (early.code, early.reason) == ("Error", "not found")
    plugin.pre_filter(cycle)
    verdict = plugin.post_filter(cycle, Filtering(none))
    assert (verdict.code, verdict.reason) == ("Unschedulable", "no new claims to deallocate")


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"filterTimeout": "10s", "bindingTimeout": "10m"}, []),
        ({"filterTimeout": "0s", "bindingTimeout": "1s"}, []),
        ({"filterTimeout": "-1s"}, ["args.filterTimeout: -1s is negative, give 0s or more"]),
        ({"bindingTimeout": "999ms"}, ["args.bindingTimeout: 999ms is too short, give 1s or more"]),
    ],
)
def test_arguments(args: dict[str, str], expected: list[str]) -> None:
    assert problems(DynamicResources, **args) == expected
