"""The scheduler on a fork: it settles, victims come back, the cluster itself stays as it is."""

from typing import Any

import pytest

from mooring.errors import InputError
from mooring.explaining.explainer import Explainer
from mooring.framework.policy import Policy
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.simulator.forked_scheduler import Deciders, ForkedScheduler
from mooring.testing import make_node, make_pod
from tests.unit.plugins.devices.device_objects import (
    DRIVER,
    GPUS,
    allocated,
    claim,
    claiming,
    device,
    device_class,
    published,
    template,
)

OWNER = {"kind": "ReplicaSet", "name": "web-1", "uid": "r", "controller": True}


def pod(name: str, cpu: str, *, node: str = "", priority: int = 0, owned: bool = True) -> Any:
    made = make_pod(name, requests={"cpu": cpu}, node=node, priority=priority).raw
    if owned:
        made["metadata"]["ownerReferences"] = [OWNER]
    return {"apiVersion": "v1", "kind": "Pod", **made}


def node(name: str) -> Any:
    return {"apiVersion": "v1", "kind": "Node", **make_node(name, cpu="2").raw}


def forked(*objects: Any, policy: Policy | None = None) -> tuple[Explainer, ForkedScheduler]:
    explainer = Explainer(list(objects), policy=policy)
    deciders = Deciders(explainer.profiles, explainer.registry)
    return explainer, ForkedScheduler(explainer.cluster.fork(), deciders)


def places(scheduler: ForkedScheduler) -> dict[str, str]:
    return {one.name: one.node_name for one in scheduler.cluster.all_pods()}


def test_pending_pods_are_placed_and_the_cluster_stays_as_it_is() -> None:
    explainer, scheduler = forked(node("n1"), pod("a", "1"), pod("b", "1"), pod("c", "1"))
    scheduler.settle()
    assert sorted(places(scheduler).values()) == ["", "n1", "n1"]
    assert all(not one.node_name for one in explainer.cluster.all_pods())
    assert list(scheduler.messages) == ["default/c"]


def test_a_victim_with_a_controller_comes_back() -> None:
    _, scheduler = forked(node("n1"), pod("low", "2", node="n1"), pod("high", "2", priority=10))
    scheduler.settle()
    assert places(scheduler) == {"low": "", "high": "n1"}
    assert scheduler.preempted == {"default/low": "default/high"}
    assert scheduler.lost == []


def test_a_victim_without_a_controller_is_lost() -> None:
    _, scheduler = forked(
        node("n1"), pod("low", "2", node="n1", owned=False), pod("high", "2", priority=10)
    )
    scheduler.settle()
    assert places(scheduler) == {"high": "n1"}
    assert [one.key for one in scheduler.lost] == ["default/low"]


def test_pods_that_are_evicted_go_elsewhere() -> None:
    _, scheduler = forked(node("n1"), node("n2"), pod("a", "1", node="n1"))
    scheduler.settle()
    evicted = scheduler.cluster.pod("default", "a")
    assert evicted is not None
    assert scheduler.evict([evicted]) == []
    scheduler.settle()
    again = scheduler.cluster.pod("default", "a")
    assert again is not None
    assert again.node_name
    assert again.uid != evicted.uid


def test_pods_of_files_without_unique_ids_are_told_apart() -> None:
    objects = [node("n1"), pod("low1", "1", node="n1"), pod("low2", "1", node="n1")]
    objects.append(pod("high", "2", priority=10))
    for one in objects[1:]:
        one["metadata"].pop("uid", None)
    _, scheduler = forked(*objects)
    scheduler.settle()
    assert places(scheduler) == {"low1": "", "low2": "", "high": "n1"}


def test_a_scheduler_name_without_a_profile_is_assumed() -> None:
    other = pod("a", "1")
    other["spec"]["schedulerName"] = "other"
    _, scheduler = forked(node("n1"), other)
    scheduler.settle()
    assert places(scheduler) == {"a": "n1"}
    assert list(scheduler.deciders.assumed) == ["other"]


def test_a_gated_pod_stays_where_it_is() -> None:
    gated = pod("a", "1")
    gated["spec"]["schedulingGates"] = [{"name": "wait"}]
    _, scheduler = forked(node("n1"), gated)
    scheduler.settle()
    assert places(scheduler) == {"a": ""}


def test_a_plugin_that_fails_ends_it_with_a_sentence() -> None:
    policy = Policy("bad")

    @policy.filter
    def bad(pod: object, node: object) -> bool:
        raise KeyError("x")

    _, scheduler = forked(node("n1"), pod("a", "1"), policy=policy)
    with pytest.raises(InputError, match="KeyError"):
        scheduler.settle()


def claims(scheduler: ForkedScheduler) -> dict[str, ResourceClaim]:
    found = scheduler.cluster.catalog.all(ResourceClaim).values()
    return {one.name: one for one in found}


def of_template(name: str, node: str = "") -> Any:
    """A pod that comes back, and whose claim is made from a template."""
    made = claiming(name, templates=["gpu"], node=node).raw
    made["metadata"]["ownerReferences"] = [OWNER]
    return {"apiVersion": "v1", "kind": "Pod", **made}


def test_claims_of_templates_are_made_for_new_pods_and_go_with_them() -> None:
    devices = published("n1", device("g0")), published("n2", device("g0"))
    _, scheduler = forked(
        node("n1"), node("n2"), GPUS, template("gpu"), *devices,
        of_template("a"), of_template("b"), of_template("c"),
    )  # fmt: skip
    scheduler.settle()
    assert sorted(places(scheduler).values()) == ["", "n1", "n2"]
    gone = next(one for one in scheduler.cluster.all_pods() if one.node_name == "n1")
    scheduler.delete(gone)
    scheduler.settle()
    assert sorted(places(scheduler).values()) == ["n1", "n2"]
    assert len(claims(scheduler)) == 2


def test_devices_of_extended_resources_are_released_with_their_pod() -> None:
    gpu = "example.com/gpu"
    _, scheduler = forked(
        node("n1"), device_class(DRIVER, resource=gpu), published("n1", device("g0")),
        make_pod("a", requests={gpu: "1"}), make_pod("b", requests={gpu: "1"}),
    )  # fmt: skip
    scheduler.settle()
    [first] = [one for one in scheduler.cluster.all_pods() if one.node_name]
    [made] = claims(scheduler).values()
    assert made.for_extended_resources
    scheduler.delete(first)
    scheduler.settle()
    assert list(places(scheduler).values()) == ["n1"]


def test_an_evicted_pod_gets_devices_elsewhere() -> None:
    made = claim("a-from-gpu-x", status=allocated("n1/g0", to=["a"], only_on="n1")).raw
    owner = {"kind": "Pod", "name": "a", "uid": "uid-default-a", "controller": True}
    made["metadata"]["ownerReferences"] = [owner]
    placed = of_template("a", "n1")
    statuses = [{"name": "from-gpu", "resourceClaimName": "a-from-gpu-x"}]
    placed["status"] = {**placed.get("status", {}), "resourceClaimStatuses": statuses}
    _, scheduler = forked(
        node("n1"), GPUS, template("gpu"), ResourceClaim.from_dict(made), placed,
        published("n1", device("g0")), published("n2", device("g0")),
    )  # fmt: skip
    scheduler.evict(list(scheduler.cluster.all_pods()))
    scheduler.remove_node("n1")
    scheduler.put_node(make_node("n2"))
    scheduler.settle()
    assert places(scheduler) == {"a": "n2"}
    assert list(claims(scheduler)) == ["a-from-gpu"]


def test_a_claim_is_released_when_its_last_user_is_gone() -> None:
    shared = claim("shared", status=allocated("n1/g0", to=["one", "two"], only_on="n1"))
    one, two = claiming("one", "shared", node="n1"), claiming("two", "shared", node="n1")
    _, scheduler = forked(
        node("n1"), GPUS, shared, published("n1", device("g0")), one, two,
        claim("other"), claiming("other", "other"),
    )  # fmt: skip
    scheduler.delete(one)
    scheduler.settle()
    assert places(scheduler) == {"two": "n1", "other": ""}
    assert [user.name for user in claims(scheduler)["shared"].status.reserved_for or ()] == ["two"]
    scheduler.delete(two)
    scheduler.settle()
    assert places(scheduler) == {"other": "n1"}
    assert claims(scheduler)["shared"].status.allocation is None
