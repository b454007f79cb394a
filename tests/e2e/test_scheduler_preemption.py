"""`moor run` makes room, holds gated pods and asks extenders, on both API servers."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mooring.errors import ApiError
from mooring.testing.moor_run import MoorRun
from mooring.testing.moor_serve import MoorServe
from mooring.testing.real_kubernetes import BaseControlPlane, KubeScheduler
from tests.e2e.fault_helpers import (
    check_capacity,
    check_nothing_left,
    each,
    many_nodes,
    many_pods,
    wait_all_bound,
)
from tests.e2e.pod_helpers import (
    event_of,
    events_of,
    extender_config,
    node_of,
    nodes,
    note_of,
    pod,
    scheduled_condition,
    unschedulable,
    write_policy,
)

FAST = {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1}
SCHEDULING = "scheduling.k8s.io/v1"


@pytest.fixture
def priority(plane: BaseControlPlane) -> Iterator[str]:
    """A priority class above that of pods without one."""
    name = "test-high"
    plane.create(
        {"apiVersion": SCHEDULING, "kind": "PriorityClass", "metadata": {"name": name}, "value": 9}
    )
    yield name
    plane.delete("PriorityClass", name, api_version=SCHEDULING)


def running(name: str, namespace: str, node: str, **labels: str) -> dict[str, Any]:
    """A pod that is on a node already and fills half of it."""
    made = pod(name, namespace, "nobody", nodeName=node, requests={"cpu": "1"})
    made["metadata"]["labels"] = labels
    # Without a kubelet a deleted pod would be gone at once; this one stays until its finalizer
    # is taken away, as a pod that ends in its own time does.
    made["metadata"]["finalizers"] = ["example.com/ends-slowly"]
    return made


def end(plane: BaseControlPlane, name: str, namespace: str) -> None:
    """The pod has ended."""
    path = plane.path("Pod", name, namespace)
    patch = {"metadata": {"finalizers": None}}
    plane.request("PATCH", path, patch, content_type="application/merge-patch+json")
    try:
        plane.delete("Pod", name, namespace)
    except ApiError as error:
        if error.status != 404:
            raise


def victim(plane: BaseControlPlane, name: str, namespace: str) -> dict[str, Any]:
    """A pod as it is once it is being deleted."""

    def doomed() -> dict[str, Any] | None:
        found = plane.get("Pod", name, namespace)
        return found if "deletionTimestamp" in found["metadata"] else None

    return plane.wait_for(doomed, f"pod {name} to be evicted", 60)


def budget(namespace: str, allowed: int) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "guard", "namespace": namespace},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"guarded": "yes"}}},
        "status": {
            "disruptionsAllowed": allowed,
            "currentHealthy": 1,
            "desiredHealthy": 1,
            "expectedPods": 1,
        },
    }


def guard(plane: BaseControlPlane, namespace: str) -> None:
    """Create a budget without room, for a scheduler that starts later.

    One that runs may see pods before it sees the budget.
    """
    created = plane.create(budget(namespace, 0))
    path = plane.path("PodDisruptionBudget", "guard", namespace, api_version="policy/v1")
    plane.request("PUT", f"{path}/status", {**created, "status": budget(namespace, 0)["status"]})


def evictions(
    plane: BaseControlPlane, namespace: str, scheduler: str, priority: str
) -> dict[str, Any]:
    """Let a pod evict another one; what a user sees, without names that differ."""
    for name, node, labels in [
        ("guarded-a", "a", {"guarded": "yes"}), ("free-a", "a", {}),
        ("guarded-b", "b", {"guarded": "yes"}), ("second-b", "b", {"guarded": "yes"}),
    ]:  # fmt: skip
        plane.create(running(name, namespace, node, **labels))
    high = pod("high", namespace, scheduler, requests={"cpu": "1"}, priorityClassName=priority)
    high_uid = plane.create(high)["metadata"]["uid"]
    doomed = victim(plane, "free-a", namespace)
    conditions = {one["type"]: one for one in doomed["status"]["conditions"]}
    target = {k: v for k, v in conditions["DisruptionTarget"].items() if not k.endswith("Time")}
    note_of(plane, "free-a", namespace, "Preempted")
    preempted = events_of(plane, "free-a", namespace)[-1]
    event = event_of(plane, "high", namespace, "FailedScheduling")["message"]

    def nominated() -> dict[str, Any] | None:
        found = plane.get("Pod", "high", namespace)
        return found if found["status"].get("nominatedNodeName") else None

    waiting = plane.wait_for(nominated, "the pod to have a nominated node")
    seen = {
        "target": target,
        "nominated": waiting["status"]["nominatedNodeName"],
        "reason": scheduled_condition(waiting).get("reason"),
        "event": event,
        "preempted": {
            **{key: preempted[key] for key in ("reason", "action", "type", "reportingController")},
            "note": preempted["note"].replace(high_uid, "UID"),
        },
    }
    # kube-scheduler v1.36.4 means to name the preemptor here, but hands over what has no reference.
    if "related" in preempted:
        assert preempted["related"]["uid"] == high_uid
    left = {one["metadata"]["name"] for one in plane.list_objects("Pod", namespace)
            if "deletionTimestamp" not in one["metadata"]}  # fmt: skip
    assert left == {"guarded-a", "guarded-b", "second-b", "high"}
    end(plane, "free-a", namespace)
    seen["node"] = node_of(plane, "high", namespace)
    found = plane.get("Pod", "high", namespace)
    seen["nominated at the end"] = found["status"].get("nominatedNodeName")
    for name in ("guarded-a", "guarded-b", "second-b"):
        end(plane, name, namespace)
    return seen


@pytest.mark.kube  # kube-scheduler takes part
def test_victims_are_chosen_marked_and_told_as_by_kube_scheduler(
    plane: BaseControlPlane, namespace: str, priority: str
) -> None:
    """A budget without room protects three of four pods; the same with both schedulers."""
    with nodes(plane, a={"cpu": "2"}, b={"cpu": "2"}):
        guard(plane, namespace)
        with KubeScheduler(plane, FAST):
            expected = evictions(plane, namespace, "default-scheduler", priority)
        plane.delete_all("Pod", namespace)
        plane.delete_all("Event", namespace)
        with MoorRun(plane, FAST) as scheduler:
            found = evictions(plane, namespace, "default-scheduler", priority)
            metrics = scheduler.metrics()
    assert found == expected
    assert (found["nominated"], found["node"]) == ("a", "a")
    assert found["target"]["reason"] == "PreemptionByScheduler"
    assert found["preempted"]["note"] == "Preempted by pod UID on node a"
    assert "scheduler_preemption_victims_count 1.0" in metrics


def test_a_gated_pod_is_scheduled_when_its_last_gate_goes(
    plane: BaseControlPlane, namespace: str
) -> None:
    with nodes(plane, one={}), MoorRun(plane) as scheduler:
        gates = [{"name": "example.com/first"}, {"name": "example.com/second"}]
        plane.create(pod("gated", namespace, "default-scheduler", schedulingGates=gates))
        pending = 'scheduler_pending_pods{queue="gated"} 1.0'
        plane.wait_for(lambda: pending in scheduler.metrics(), "the pod to be held")
        path = plane.path("Pod", "gated", namespace)
        for left in (gates[1:], []):
            patch = [{"op": "replace", "path": "/spec/schedulingGates", "value": left}]
            plane.request("PATCH", path, patch, content_type="application/json-patch+json")
            if left:
                plane.create(pod("later", namespace, "default-scheduler"))
                node_of(plane, "later", namespace)
                assert "nodeName" not in plane.get("Pod", "gated", namespace)["spec"]
        assert node_of(plane, "gated", namespace) == "one"
        assert 'scheduler_pending_pods{queue="gated"} 0.0' in scheduler.metrics()


EXTENDER = """
@policy.filter
def ssd(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
    return mr.accept_if(node.labels.get("disk") == "ssd", "node has no SSD")


@policy.score(max_score=10)
def by_label(pod: mr.Pod, node: mr.Node) -> float:
    return float(node.labels.get("wanted", "0"))


@policy.preempt
def protect(pod: mr.Pod, node: mr.Node, victims: list[mr.Pod]) -> bool:
    return not any(victim.labels.get("protected") for victim in victims)


@policy.bind
def mark(binding: mr.Binding) -> mr.Binding:
    return binding.annotate({"example.com/bound-by": "extender"})
"""


@pytest.mark.parametrize("cache", [True, False], ids=["node-cache", "whole-nodes"])
def test_an_extender_filters_scores_evicts_and_binds(
    plane: BaseControlPlane, namespace: str, priority: str, tmp_path: Path, cache: bool
) -> None:
    ssd = {"disk": "ssd"}
    policy = write_policy(tmp_path, EXTENDER)
    serve: list[str | Path] = ["--kubeconfig", plane.kubeconfig]
    verbs = ["filter", "prioritize", "preempt", "bind"]
    with (
        nodes(
            plane,
            hdd={"cpu": "2", "labels": {"wanted": "10"}},
            low={"cpu": "2", "labels": {**ssd, "wanted": "1"}},
            high={"cpu": "2", "labels": {**ssd, "wanted": "9"}},
        ),
        MoorServe(policy, serve) as server,
        MoorRun(
            plane, extender_config(server, "extended", verbs, nodeCacheCapable=cache)
        ) as scheduler,
    ):
        plane.create(pod("first", namespace, "extended", requests={"cpu": "2"}))
        assert node_of(plane, "first", namespace) == "high"
        note_of(plane, "first", namespace, "Scheduled")
        written = plane.get("Pod", "first", namespace)["metadata"]["annotations"]
        assert written == {"example.com/bound-by": "extender"}
        protected = pod("second", namespace, "extended", requests={"cpu": "2"})
        protected["metadata"]["labels"] = {"protected": "yes"}
        plane.create(protected)
        assert node_of(plane, "second", namespace) == "low"
        plane.create(pod("third", namespace, "extended", requests={"cpu": "1"}))
        unschedulable(plane, "third", namespace, "1 node has no SSD, 2 Insufficient cpu")
        plane.delete("Pod", "third", namespace)
        # Evicting would help on both nodes; the extender allows only one of them.
        known = f"mooring_node_cache_pods {float(len(plane.list_objects('Pod')))}"
        plane.wait_for(
            lambda: known in server.get("/metrics").body.decode(), "the extender's cache"
        )
        plane.create(
            pod("strong", namespace, "extended", requests={"cpu": "1"}, priorityClassName=priority)
        )
        victim(plane, "first", namespace)
        plane.delete("Pod", "first", namespace)  # there is no kubelet that would end it
        assert node_of(plane, "strong", namespace) == "high"
        names = {one["metadata"]["name"] for one in plane.list_objects("Pod", namespace)}
        assert names == {"second", "strong"}
        metrics = server.get("/metrics").body.decode()
        for verb in verbs:
            assert f'mooring_extender_requests_total{{code="200",verb="{verb}"}}' in metrics
        assert "Traceback" not in scheduler.log()


@pytest.mark.parametrize("ignorable", [True, False])
def test_an_extender_that_is_down_blocks_unless_it_is_ignorable(
    plane: BaseControlPlane, namespace: str, ignorable: bool
) -> None:
    extender = {"urlPrefix": "http://127.0.0.1:1", "filterVerb": "filter", "ignorable": ignorable}
    with nodes(plane, one={}), MoorRun(plane, {**FAST, "extenders": [extender]}):
        plane.create(pod("p", namespace, "default-scheduler"))
        if ignorable:
            assert node_of(plane, "p", namespace) == "one"
        else:
            note = note_of(plane, "p", namespace, "FailedScheduling")
            assert "127.0.0.1:1" in note
            assert scheduled_condition(plane.get("Pod", "p", namespace)).get("status") != "True"


def start(plane: BaseControlPlane, name: str, second: int) -> None:
    """A kubelet has started a pod."""
    patch = {"status": {"startTime": f"2026-01-01T00:{second // 60:02}:{second % 60:02}Z"}}
    path = f"{plane.path('Pod', name)}/status"
    plane.request("PATCH", path, patch, content_type="application/merge-patch+json")


def test_as_many_pods_go_as_are_needed_and_no_more(own_plane: BaseControlPlane) -> None:
    """Whoever waits is requeued by each pod that goes, and hears of its own victim later."""
    plane, count = own_plane, 40
    high = {"apiVersion": SCHEDULING, "kind": "PriorityClass", "metadata": {"name": "high"}}
    plane.create({**high, "value": 1000})
    plane.create_many(many_nodes((f"n{i}" for i in range(count // 2)), cpu="4"))
    with MoorRun(plane) as scheduler:
        low = [f"low-{i}" for i in range(2 * count)]
        plane.create_many(many_pods(low))
        wait_all_bound(plane, 2 * count)
        # Which of two pods is the more important is chance until both have started.
        each(lambda name: start(plane, name, low.index(name)), low)
        plane.create_many(many_pods((f"high-{i}" for i in range(count)), priorityClassName="high"))
        pods = wait_all_bound(plane, 2 * count)
        names = Counter(one["metadata"]["name"].partition("-")[0] for one in pods)
        assert names == {"low": count, "high": count}
        check_capacity(plane, pods)
        check_nothing_left(pods, scheduler)
