from typing import Any

import pytest

from mooring.embedded import pods
from mooring.embedded.refusals import Refused
from mooring.embedded.resources import NODES, POD_DISRUPTION_BUDGETS, PODS, Obj
from tests.unit.embedded.worlds import World, manifest


@pytest.fixture
def world() -> World:
    return World()


def refusal(action: Any, *args: Any, **kwargs: Any) -> Refused:
    with pytest.raises(Refused) as caught:
        action(*args, **kwargs)
    return caught.value


def binding(name: str = "web", node: str = "n1", **metadata: Any) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, **metadata},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }


def bind(world: World, sent: Obj, name: str = "web", **more: Any) -> Obj:
    pods.bind(world.api, "default", name, sent, **more)
    return world.api.get(PODS, "default", name).obj


def test_a_bound_pod_has_a_node_and_a_condition(world: World) -> None:
    item = world.pod("web")
    found = bind(world, binding(uid=item.uid, annotations={"why": "score 7"}))
    assert found["spec"]["nodeName"] == "n1"
    assert found["metadata"]["annotations"] == {"why": "score 7"}
    [condition] = found["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")
    assert condition["lastTransitionTime"] == "2026-01-01T00:00:00Z"


def test_a_bound_pod_takes_over_where_its_node_is(world: World) -> None:
    node = manifest("v1", "Node", "n1")
    node["metadata"]["labels"] = {"topology.kubernetes.io/zone": "a", "disk": "ssd"}
    world.api.create(NODES, node)
    world.pod("web", labels={"app": "web"})
    found = bind(world, binding())
    assert found["metadata"]["labels"] == {"app": "web", "topology.kubernetes.io/zone": "a"}


def test_a_nomination_ends_with_the_binding(world: World) -> None:
    obj = world.pod("web").obj
    obj["status"]["nominatedNodeName"] = "n1"
    world.api.update(PODS, obj, "default", "web", subresource="status")
    assert "nominatedNodeName" not in bind(world, binding())["status"]


def test_the_condition_of_an_earlier_failure_is_replaced(world: World) -> None:
    obj = world.pod("web").obj
    obj["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
    ]
    world.api.update(PODS, obj, "default", "web", subresource="status")
    world.now += 60
    [condition] = bind(world, binding())["status"]["conditions"]
    assert "reason" not in condition
    assert condition["lastTransitionTime"] == "2026-01-01T00:01:00Z"


def test_what_cannot_be_bound(world: World) -> None:
    refused = refusal(bind, world, binding())
    assert (refused.code, str(refused)) == (404, 'pods "web" not found')
    item = world.pod("web")
    refused = refusal(bind, world, binding(uid="another"))
    assert (refused.code, refused.status["reason"]) == (409, "Conflict")
    assert f"UID in object meta: {item.uid}" in str(refused)
    bind(world, binding())
    refused = refusal(bind, world, binding(node="n2"))
    assert refused.code == 409
    assert str(refused) == (
        'Operation cannot be fulfilled on pods/binding "web": '
        'pod web is already assigned to node "n1"'
    )
    world.pod("gated", schedulingGates=[{"name": "example.com/wait"}])
    refused = refusal(bind, world, binding("gated"), "gated")
    assert "pod gated has non-empty .spec.schedulingGates" in str(refused)


def test_a_pod_that_is_ending_cannot_be_bound(world: World) -> None:
    obj = world.pod("web").obj
    obj["metadata"]["finalizers"] = ["example.com/hold"]
    world.api.update(PODS, obj, "default", "web")
    world.api.delete(PODS, "default", "web")
    refused = refusal(bind, world, binding())
    assert "pod web is being deleted, cannot be assigned to a host" in str(refused)


def test_a_binding_must_make_sense(world: World) -> None:
    world.pod("web")
    refused = refusal(bind, world, binding("other"))
    assert (refused.code, str(refused)) == (
        400, "name in URL does not match name in Binding object",
    )  # fmt: skip
    assert "target.name: Required value" in str(refusal(bind, world, binding(node="")))


def test_a_dry_run_binds_nothing(world: World) -> None:
    world.pod("web")
    assert "nodeName" not in bind(world, binding(), dry_run=True)["spec"]


# -- eviction


def eviction(name: str = "web", **options: Any) -> Obj:
    obj = manifest("policy/v1", "Eviction", name)
    return {**obj, "deleteOptions": options} if options else obj


def running(world: World, name: str) -> None:
    obj = world.bound_pod(name, labels={"app": "web"}).obj
    obj["status"]["phase"] = "Running"
    obj["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    world.api.update(PODS, obj, "default", name, subresource="status")


def budget(world: World, name: str = "budget", **status: Any) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    created = world.api.create(
        POD_DISRUPTION_BUDGETS,
        manifest("policy/v1", "PodDisruptionBudget", name, spec=spec),
        "default",
    ).obj
    created["status"] = {
        "observedGeneration": 1, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1,
        "disruptionsAllowed": 0, **status,
    }  # fmt: skip
    world.api.update(POD_DISRUPTION_BUDGETS, created, "default", name, subresource="status")


def evict(world: World, sent: Obj | None = None) -> None:
    pods.evict(world.api, "default", "web", sent or eviction())


def test_an_evicted_pod_ends_and_says_why(world: World) -> None:
    running(world, "web")
    evict(world, eviction(gracePeriodSeconds=5))
    found = world.api.get(PODS, "default", "web").obj
    assert found["metadata"]["deletionGracePeriodSeconds"] == 5
    [told] = [one for one in found["status"]["conditions"] if one["type"] == "DisruptionTarget"]
    assert told["reason"] == "EvictionByEvictionAPI"


def test_a_budget_without_disruptions_refuses(world: World) -> None:
    running(world, "web")
    budget(world)
    refused = refusal(evict, world)
    assert (refused.code, refused.status["reason"]) == (429, "TooManyRequests")
    assert str(refused) == "Cannot evict pod as it would violate the pod's disruption budget."
    [cause] = refused.status["details"]["causes"]
    assert cause["message"] == (
        "The disruption budget budget needs 1 healthy pods and has 1 currently"
    )
    assert "deletionTimestamp" not in world.api.get(PODS, "default", "web").obj["metadata"]


def test_a_budget_is_used_up(world: World) -> None:
    running(world, "web")
    budget(world, currentHealthy=2, disruptionsAllowed=1)
    evict(world)
    status = world.api.get(POD_DISRUPTION_BUDGETS, "default", "budget").obj["status"]
    assert status["disruptionsAllowed"] == 0
    assert list(status["disruptedPods"]) == ["web"]


def test_a_budget_that_nobody_looked_at_yet_refuses(world: World) -> None:
    running(world, "web")
    budget(world, observedGeneration=0, disruptionsAllowed=1)
    [cause] = refusal(evict, world).status["details"]["causes"]
    assert "is still being processed by the server" in cause["message"]


def test_two_budgets_are_one_too_many(world: World) -> None:
    running(world, "web")
    budget(world)
    budget(world, "second")
    refused = refusal(evict, world)
    assert refused.code == 500
    assert "more than one PodDisruptionBudget" in str(refused)


def test_a_pending_pod_needs_no_budget(world: World) -> None:
    world.pod("web", labels={"app": "web"})
    budget(world)
    evict(world)
    assert world.store.get(PODS, "default", "web") is None


def test_preconditions_of_an_eviction(world: World) -> None:
    running(world, "web")
    refused = refusal(evict, world, eviction(preconditions={"uid": "other"}))
    assert refused.code == 409
    refused = refusal(pods.evict, world.api, "default", "web", eviction("other"))
    assert refused.code == 400
