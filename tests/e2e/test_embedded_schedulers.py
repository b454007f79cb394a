"""kube-scheduler as it is and ``moor run`` on an embedded cluster, alone and side by side."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from mooring.model.quantity import parse_quantity
from mooring.testing.child_process import Program
from mooring.testing.moor_run import MoorRun
from mooring.testing.real_kubernetes import Binaries, KubeScheduler, node, wait_for
from tests.e2e.full_embedded_control_plane import FullEmbeddedControlPlane

pytestmark = pytest.mark.kube

NODES, PODS = 100, 1000
REAL, OURS = "kube-scheduler", "moor run"
#: What kube-scheduler speaks if it is not told to speak JSON.
PROTOBUF = "kube-scheduler in protobuf"
#: What pods ask for in turn: 1,000 of them need nine tenths of what 100 nodes have.
CPU = (150, 250, 350, 650)
NODE_CPU = 3900
#: A loaded machine may take a good part of it.
SECONDS = 300.0


@pytest.fixture
def plane(binaries: Binaries) -> Iterator[FullEmbeddedControlPlane]:
    with FullEmbeddedControlPlane(
        [node(f"n{i}", cpu=f"{NODE_CPU}m") for i in range(NODES)]
    ) as running:
        yield running


def scheduler(plane: FullEmbeddedControlPlane, kind: str, name: str) -> Program:
    """A scheduler that takes pods of a name, once it holds the Lease of that name."""
    config: dict[str, Any] = {
        "profiles": [{"schedulerName": name}],
        "clientConnection": {"qps": 2000, "burst": 2000},
        "leaderElection": {
            "leaderElect": True,
            "resourceNamespace": "kube-system",
            "resourceName": name,
            "leaseDuration": "15s",
            "renewDeadline": "10s",
            "retryPeriod": "500ms",
        },
    }
    if kind == OURS:
        return MoorRun(plane, config)
    if kind == PROTOBUF:
        config["clientConnection"]["contentType"] = "application/vnd.kubernetes.protobuf"
    return KubeScheduler(plane, config)


def pod(name: str, cpu: int, scheduler: str) -> dict[str, Any]:
    container = {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": f"{cpu}m"}}}
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"schedulerName": scheduler, "containers": [container]},
    }  # fmt: skip


def make_pods(plane: FullEmbeddedControlPlane, prefix: str, count: int, scheduler: str) -> None:
    plane.create_many(
        [pod(f"{prefix}{i}", CPU[i % len(CPU)], scheduler) for i in range(count)], threads=4
    )


def wait_running(plane: FullEmbeddedControlPlane, count: int) -> list[dict[str, Any]]:
    """All pods, once so many of them run."""

    def look() -> list[dict[str, Any]] | None:
        pods = plane.list_objects("Pod", "default")
        phases = Counter(one["status"]["phase"] for one in pods)
        assert phases.keys() <= {"Pending", "Running"}, phases
        return pods if phases["Running"] == count else None

    return wait_for(look, f"{count} pods to run", SECONDS)


def check_capacity(pods: list[dict[str, Any]]) -> None:
    """No node has more than it can take, and all nodes have something."""
    used: Counter[str] = Counter()
    for one in pods:
        asked = one["spec"]["containers"][0]["resources"]["requests"]["cpu"]
        used[one["spec"]["nodeName"]] += parse_quantity(asked).milli
    assert len(used) == NODES
    assert max(used.values()) <= NODE_CPU, used


def check_events(
    plane: FullEmbeddedControlPlane, pods: list[dict[str, Any]], component: str
) -> None:
    """Each pod was said to be scheduled, once, where it is."""
    wanted = {
        one["metadata"]["name"]: (
            f"Successfully assigned default/{one['metadata']['name']} to {one['spec']['nodeName']}",
            1,
        )
        for one in pods
    }

    def told() -> dict[str, tuple[str, int]]:
        found: dict[str, tuple[str, int]] = {}
        for event in plane.list_objects("Event", "default"):
            if event["reason"] == "Scheduled" and event["reportingComponent"] == component:
                name = event["involvedObject"]["name"]
                found[name] = event["message"], found.get(name, ("", 0))[1] + 1
        return found

    wait_for(lambda: len(told()) >= len(wanted), f"{len(wanted)} events Scheduled", SECONDS)
    assert told() == wanted


def lease(plane: FullEmbeddedControlPlane, name: str) -> dict[str, Any]:
    """What a Lease says, waiting until there is one."""

    def look() -> dict[str, Any] | None:
        for one in plane.list_objects("Lease", "kube-system", api_version="coordination.k8s.io/v1"):
            if one["metadata"]["name"] == name:
                return dict(one["spec"])
        return None

    return wait_for(look, f"the Lease {name}", SECONDS)


def check_lease(plane: FullEmbeddedControlPlane, name: str) -> None:
    """The scheduler holds its Lease and goes on renewing it."""
    before = lease(plane, name)
    assert before["holderIdentity"]
    assert before["leaseDurationSeconds"] == 15
    wait_for(lambda: lease(plane, name)["renewTime"] > before["renewTime"], "a renewal", SECONDS)
    assert lease(plane, name)["holderIdentity"] == before["holderIdentity"]


@pytest.mark.parametrize("kind", [REAL, PROTOBUF, OURS])
def test_a_scheduler_places_a_thousand_pods_on_a_hundred_nodes(
    kind: str, plane: FullEmbeddedControlPlane
) -> None:
    with scheduler(plane, kind, "default-scheduler"):
        make_pods(plane, "p", PODS, "default-scheduler")
        pods = wait_running(plane, PODS)
        check_capacity(pods)
        assert all(one["status"]["podIP"] for one in pods)
        check_events(plane, pods, "default-scheduler")
        check_lease(plane, "default-scheduler")


def test_both_schedulers_work_side_by_side_each_for_pods_of_its_name(
    plane: FullEmbeddedControlPlane,
) -> None:
    each = PODS // 4
    with ExitStack() as stack:
        stack.enter_context(scheduler(plane, REAL, "theirs"))
        stack.enter_context(scheduler(plane, OURS, "ours"))
        make_pods(plane, "t", each, "theirs")
        make_pods(plane, "o", each, "ours")
        pods = wait_running(plane, 2 * each)
        check_capacity(pods)
        for name in ("theirs", "ours"):
            check_events(plane, [one for one in pods if one["spec"]["schedulerName"] == name], name)
            check_lease(plane, name)


@pytest.mark.parametrize("kind", [REAL, OURS])
def test_a_scheduler_that_ends_leaves_the_lease_to_the_next(
    kind: str, plane: FullEmbeddedControlPlane
) -> None:
    with scheduler(plane, kind, "default-scheduler"):
        first = lease(plane, "default-scheduler")
    with scheduler(plane, kind, "default-scheduler"):
        plane.create(pod("late", 100, "default-scheduler"))
        wait_running(plane, 1)
        second = lease(plane, "default-scheduler")
    assert second["holderIdentity"] != first["holderIdentity"]
    assert second["leaseTransitions"] > first.get("leaseTransitions", 0)


@pytest.mark.parametrize("kind", [REAL, OURS])
def test_a_pod_waits_until_there_is_room_and_then_runs(
    kind: str, plane: FullEmbeddedControlPlane
) -> None:
    with scheduler(plane, kind, "default-scheduler"):
        plane.create(pod("large", NODE_CPU + 100, "default-scheduler"))

        def rejected() -> str | None:
            for one in plane.get("Pod", "large", "default")["status"].get("conditions", ()):
                if one["type"] == "PodScheduled" and one["status"] == "False":
                    return str(one["message"])
            return None

        message = wait_for(rejected, "the pod to be rejected", SECONDS)
        assert message.startswith(f"0/{NODES} nodes are available: {NODES} Insufficient cpu.")
        plane.create_node("roomy", cpu="16")
        [found] = wait_running(plane, 1)
        assert found["spec"]["nodeName"] == "roomy"
