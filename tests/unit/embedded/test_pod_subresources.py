from typing import Any

import pytest

from mooring.embedded import pod_subresources
from mooring.embedded.resources import NODES, POD_DISRUPTION_BUDGETS, PODS, Obj
from mooring.embedded.status_errors import StatusError
from tests.unit.embedded.fake_api_server import FakeApiServer, manifest


@pytest.fixture
def server() -> FakeApiServer:
    return FakeApiServer()


def rejection(action: Any, *args: Any, **kwargs: Any) -> StatusError:
    with pytest.raises(StatusError) as caught:
        action(*args, **kwargs)
    return caught.value


def binding(name: str = "web", node: str = "n1", **metadata: Any) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, **metadata},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }


def bind(server: FakeApiServer, sent: Obj, name: str = "web", **more: Any) -> Obj:
    pod_subresources.bind(server.api, "default", name, sent, **more)
    return server.api.get(PODS, "default", name).obj


def test_a_bound_pod_has_a_node_and_a_condition(server: FakeApiServer) -> None:
    item = server.pod("web")
    found = bind(server, binding(uid=item.uid, annotations={"why": "score 7"}))
    assert found["spec"]["nodeName"] == "n1"
    assert found["metadata"]["annotations"] == {"why": "score 7"}
    [condition] = found["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")
    assert condition["lastTransitionTime"] == "2026-01-01T00:00:00Z"


def test_a_bound_pod_takes_over_where_its_node_is(server: FakeApiServer) -> None:
    node = manifest("v1", "Node", "n1")
    node["metadata"]["labels"] = {"topology.kubernetes.io/zone": "a", "disk": "ssd"}
    server.api.create(NODES, node)
    server.pod("web", labels={"app": "web"})
    found = bind(server, binding())
    assert found["metadata"]["labels"] == {"app": "web", "topology.kubernetes.io/zone": "a"}


def test_a_nomination_ends_with_the_binding(server: FakeApiServer) -> None:
    obj = server.pod("web").obj
    obj["status"]["nominatedNodeName"] = "n1"
    server.api.update(PODS, obj, "default", "web", subresource="status")
    assert "nominatedNodeName" not in bind(server, binding())["status"]


def test_the_condition_of_an_earlier_failure_is_replaced(server: FakeApiServer) -> None:
    obj = server.pod("web").obj
    obj["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
    ]
    server.api.update(PODS, obj, "default", "web", subresource="status")
    server.now += 60
    [condition] = bind(server, binding())["status"]["conditions"]
    assert "reason" not in condition
    assert condition["lastTransitionTime"] == "2026-01-01T00:01:00Z"


def test_what_cannot_be_bound(server: FakeApiServer) -> None:
    rejected = rejection(bind, server, binding())
    assert (rejected.code, str(rejected)) == (404, 'pods "web" not found')
    item = server.pod("web")
    rejected = rejection(bind, server, binding(uid="another"))
    assert (rejected.code, rejected.status["reason"]) == (409, "Conflict")
    assert f"UID in object meta: {item.uid}" in str(rejected)
    bind(server, binding())
    rejected = rejection(bind, server, binding(node="n2"))
    assert rejected.code == 409
    assert str(rejected) == (
        'Operation cannot be fulfilled on pods/binding "web": '
        'pod web is already assigned to node "n1"'
    )
    server.pod("gated", schedulingGates=[{"name": "example.com/wait"}])
    rejected = rejection(bind, server, binding("gated"), "gated")
    assert "pod gated has non-empty .spec.schedulingGates" in str(rejected)


def test_a_pod_that_is_ending_cannot_be_bound(server: FakeApiServer) -> None:
    obj = server.pod("web").obj
    obj["metadata"]["finalizers"] = ["example.com/hold"]
    server.api.update(PODS, obj, "default", "web")
    server.api.delete(PODS, "default", "web")
    rejected = rejection(bind, server, binding())
    assert "pod web is being deleted, cannot be assigned to a host" in str(rejected)


def test_a_binding_must_make_sense(server: FakeApiServer) -> None:
    server.pod("web")
    rejected = rejection(bind, server, binding("other"))
    assert (rejected.code, str(rejected)) == (
        400, "name in URL does not match name in Binding object",
    )  # fmt: skip
    assert "target.name: Required value" in str(rejection(bind, server, binding(node="")))


def test_a_dry_run_binds_nothing(server: FakeApiServer) -> None:
    server.pod("web")
    assert "nodeName" not in bind(server, binding(), dry_run=True)["spec"]


# -- eviction


def eviction(name: str = "web", **options: Any) -> Obj:
    obj = manifest("policy/v1", "Eviction", name)
    return {**obj, "deleteOptions": options} if options else obj


def running(server: FakeApiServer, name: str) -> None:
    obj = server.bound_pod(name, labels={"app": "web"}).obj
    obj["status"]["phase"] = "Running"
    obj["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    server.api.update(PODS, obj, "default", name, subresource="status")


def budget(server: FakeApiServer, name: str = "budget", **status: Any) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    created = server.api.create(
        POD_DISRUPTION_BUDGETS,
        manifest("policy/v1", "PodDisruptionBudget", name, spec=spec),
        "default",
    ).obj
    created["status"] = {
        "observedGeneration": 1, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1,
        "disruptionsAllowed": 0, **status,
    }  # fmt: skip
    server.api.update(POD_DISRUPTION_BUDGETS, created, "default", name, subresource="status")


def evict(server: FakeApiServer, sent: Obj | None = None) -> None:
    pod_subresources.evict(server.api, "default", "web", sent or eviction())


def test_an_evicted_pod_ends_and_says_why(server: FakeApiServer) -> None:
    running(server, "web")
    evict(server, eviction(gracePeriodSeconds=5))
    found = server.api.get(PODS, "default", "web").obj
    assert found["metadata"]["deletionGracePeriodSeconds"] == 5
    [told] = [one for one in found["status"]["conditions"] if one["type"] == "DisruptionTarget"]
    assert told["reason"] == "EvictionByEvictionAPI"


def test_a_budget_without_disruptions_rejects(server: FakeApiServer) -> None:
    running(server, "web")
    budget(server)
    rejected = rejection(evict, server)
    assert (rejected.code, rejected.status["reason"]) == (429, "TooManyRequests")
    assert str(rejected) == "Cannot evict pod as it would violate the pod's disruption budget."
    [cause] = rejected.status["details"]["causes"]
    assert cause["message"] == (
        "The disruption budget budget needs 1 healthy pods and has 1 currently"
    )
    assert "deletionTimestamp" not in server.api.get(PODS, "default", "web").obj["metadata"]


def test_a_budget_is_used_up(server: FakeApiServer) -> None:
    running(server, "web")
    budget(server, currentHealthy=2, disruptionsAllowed=1)
    evict(server)
    status = server.api.get(POD_DISRUPTION_BUDGETS, "default", "budget").obj["status"]
    assert status["disruptionsAllowed"] == 0
    assert list(status["disruptedPods"]) == ["web"]


def test_a_budget_that_was_never_reconciled_rejects(server: FakeApiServer) -> None:
    running(server, "web")
    budget(server, observedGeneration=0, disruptionsAllowed=1)
    [cause] = rejection(evict, server).status["details"]["causes"]
    assert "is still being processed by the server" in cause["message"]


def test_two_budgets_are_one_too_many(server: FakeApiServer) -> None:
    running(server, "web")
    budget(server)
    budget(server, "second")
    rejected = rejection(evict, server)
    assert rejected.code == 500
    assert "more than one PodDisruptionBudget" in str(rejected)


def test_a_pending_pod_needs_no_budget(server: FakeApiServer) -> None:
    server.pod("web", labels={"app": "web"})
    budget(server)
    evict(server)
    assert server.store.get(PODS, "default", "web") is None


def test_preconditions_of_an_eviction(server: FakeApiServer) -> None:
    running(server, "web")
    rejected = rejection(evict, server, eviction(preconditions={"uid": "other"}))
    assert rejected.code == 409
    rejected = rejection(pod_subresources.evict, server.api, "default", "web", eviction("other"))
    assert rejected.code == 400
