"""Devices when things go wrong: kills in the middle of PreBind, conflicts, late watches.

`moor run` reaches the real API server through a proxy that holds back exactly one write, so that
the process dies there. Afterwards every pod is bound, no device has two claims, no claim is
reserved for anybody but its pods, and when they are gone all devices are free.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mooring.testing.fault_target import FaultTarget
from mooring.testing.faults import Fault, Requests, WatchEvents
from mooring.testing.faulty_proxy import FaultyProxy
from mooring.testing.moor_run import MoorRun
from mooring.testing.real_kubernetes import BaseControlPlane, Binaries, ControlPlane, node
from mooring.testing.resource_claim_controllers import ResourceClaimControllers
from tests.e2e.device_case import DeviceCase, device, device_class, request, slice_of
from tests.e2e.device_objects import Obj

pytestmark = pytest.mark.kube

RESOURCE = "example.com/gpu"
SCHEDULER = "devices"
CONFIG: dict[str, Any] = {
    "podInitialBackoffSeconds": 1,
    "podMaxBackoffSeconds": 2,
    "profiles": [{"schedulerName": SCHEDULER}],
}
#: Each of the two nodes has so many devices.
DEVICES = 4


@pytest.fixture(scope="module")
def plane(binaries: Binaries) -> Iterator[BaseControlPlane]:
    with ControlPlane() as running, ResourceClaimControllers(running):
        running.create(device_class(resource=RESOURCE))
        for name in ("a", "b"):
            running.create(node(name))
            gpus = [device(f"gpu-{number}") for number in range(DEVICES)]
            running.create(slice_of(name, *gpus))
        yield running


@pytest.fixture
def case(plane: BaseControlPlane, namespace: str) -> Iterator[DeviceCase]:
    made = DeviceCase(plane, namespace, SCHEDULER)
    yield made
    made.clean_up()


@pytest.fixture
def proxy() -> Iterator[FaultyProxy]:
    with FaultyProxy() as running:
        yield running


@pytest.fixture
def way(plane: BaseControlPlane, proxy: FaultyProxy, namespace: str) -> Path:
    """The scheduler's way to the API server, through the proxy."""
    return proxy.through(plane.kubeconfig_for("system:kube-scheduler", name=f"way-{namespace}"))


# -- what must hold


def devices_in_use(claims: list[Obj]) -> Counter[str]:
    """How many claims have each device."""
    used: Counter[str] = Counter()
    for one in claims:
        allocation = one.get("status", {}).get("allocation") or {}
        for result in allocation.get("devices", {}).get("results", ()):
            used[f"{result['pool']}/{result['device']}"] += 1
    return used


def check(case: DeviceCase) -> None:
    """No device has two claims, and claims are reserved for their pods, no more and no less."""
    claims = case.all_claims()
    used = devices_in_use(claims)
    assert set(used.values()) <= {1}
    users: dict[str, set[str]] = {one["metadata"]["name"]: set() for one in claims}
    where: dict[str, str] = {}
    for one in case.plane.list_objects("Pod", case.namespace):
        status = one["status"]
        assert not status.get("nominatedNodeName")
        named = [
            claim["resourceClaimName"]
            for claim in (
                *one["spec"].get("resourceClaims", ()), *status.get("resourceClaimStatuses", ()),
            )
            if "resourceClaimName" in claim
        ]  # fmt: skip
        if "extendedResourceClaimStatus" in status:
            named.append(status["extendedResourceClaimStatus"]["resourceClaimName"])
        assert named
        for name in named:
            users[name].add(one["metadata"]["uid"])
            assert where.setdefault(name, one["spec"]["nodeName"]) == one["spec"]["nodeName"]
    for one in claims:
        name, status = one["metadata"]["name"], one["status"]
        assert {user["uid"] for user in status["reservedFor"]} == users[name]
        assert {result["pool"] for result in status["allocation"]["devices"]["results"]} == {
            where[name]
        }


def check_all_free(case: DeviceCase) -> None:
    """When the pods are gone, a new one gets all devices of a node, and another the other's."""
    case.plane.delete_all("Pod", case.namespace)
    case.plane.wait_for(lambda: not devices_in_use(case.all_claims()), "the devices to be free")
    case.claim("everything", request(allocationMode="All"), template=True)
    for name in ("a", "b"):
        case.pod(f"all-of-{name}", template="everything")
    case.wait_bound("all-of-a", "all-of-b")
    assert set(devices_in_use(case.all_claims()).values()) == {1}
    assert len(devices_in_use(case.all_claims())) == 2 * DEVICES


# -- kills


class Stop(NamedTuple):
    """Where the scheduler is when it dies: before it has sent the write after so many."""

    on: Requests
    skip: int = 0


STATUS = Requests(verb="patch", resource="resourceclaims/status")
STOPS = {
    "before the finalizer": Stop(Requests(verb="patch", resource="resourceclaims")),
    "between finalizer and allocation": Stop(STATUS),
    "between two allocations": Stop(STATUS, 2),
    "before the special claim": Stop(Requests(verb="create", resource="resourceclaims")),
    "after the special claim": Stop(
        Requests(verb="patch", resource="resourceclaims", path="*-extended-resources-*")
    ),
    "after the special claim's finalizer": Stop(
        Requests(verb="patch", resource="resourceclaims/status", path="*-extended-resources-*")
    ),
    # The first patch of this pod's status says where it goes.
    "before the pod knows its special claim": Stop(
        Requests(verb="patch", resource="pods/status", path="*/extended/status"), 1
    ),
    "before the binding": Stop(Requests(verb="create", resource="pods/binding")),
}
PODS = ("own-0", "own-1", "first", "second", "extended")


def create_pods(case: DeviceCase) -> None:
    """Claims of all kinds: from a template, shared by two pods, for an extended resource."""
    case.claim("own", template=True)
    case.claim("shared")
    case.pod("own-0", template="own")
    case.pod("own-1", template="own")
    case.pod("first", "shared")
    case.pod("second", "shared")
    case.pod("extended", resources={RESOURCE: "2"})


@pytest.mark.parametrize("where", STOPS)
def test_a_kill_in_the_middle_of_pre_bind_loses_and_leaks_nothing(
    case: DeviceCase, proxy: FaultyProxy, way: Path, where: str
) -> None:
    stop = STOPS[where]
    with MoorRun(case.plane, CONFIG, kubeconfig=way) as scheduler:
        proxy.set(Fault.drop(on=stop.on, skip=stop.skip))
        create_pods(case)
        case.plane.wait_for(lambda: proxy.counts.get("drop"), f"the write {where}")
        scheduler.kill()
    proxy.clear()
    with MoorRun(case.plane, CONFIG, kubeconfig=way) as scheduler:
        case.wait_bound(*PODS)
        check(case)
        check_all_free(case)
        assert "Traceback" not in scheduler.log()


def test_the_next_leader_goes_on_where_the_last_one_died(
    case: DeviceCase, proxy: FaultyProxy, way: Path
) -> None:
    election = {
        "leaderElect": True,
        "resourceNamespace": "kube-system",
        "leaseDuration": "4s",
        "renewDeadline": "3s",
        "retryPeriod": "500ms",
    }
    config = {**CONFIG, "leaderElection": election}
    with MoorRun(case.plane, config, kubeconfig=way) as first:
        case.plane.wait_for(lambda: "Leading as" in first.log(), "the first to lead")
        proxy.set(Fault.drop(on=STATUS, skip=1))
        with MoorRun(case.plane, config) as second:
            create_pods(case)
            case.plane.wait_for(lambda: proxy.counts.get("drop"), "an allocation")
            first.kill()
            case.wait_bound(*PODS)
            check(case)
            check_all_free(case)
            assert "Traceback" not in second.log()


def test_a_scheduler_that_stops_while_a_pod_waits_for_its_device_leaves_it_to_the_next(
    case: DeviceCase,
) -> None:
    plane = case.plane
    slow = device("slow", bindsToNode=True, bindingConditions=["Attached"])
    slow["bindingFailureConditions"] = ["Broken"]
    plane.create(device_class("slow", 'device.attributes["gpu.example.com"].?slow.orValue(false)'))
    slow["attributes"] = {"slow": {"bool": True}}
    plane.create(slice_of("slow", slow, nodeName="a"))
    case.claim("mine", request(of="slow"))
    with MoorRun(plane, CONFIG):
        case.pod("p", "mine")
        case.wait_event("p", "BindingConditionsPending")
    status = case.get_claim("mine")["status"]
    assert [one["name"] for one in status["reservedFor"]] == ["p"]
    case.set_conditions("mine", ("Attached", "True"))
    with MoorRun(plane, CONFIG):
        case.wait_bound("p")
    assert case.get_claim("mine")["status"]["allocation"] == status["allocation"]
    case.clean_up()
    plane.delete("ResourceSlice", "slow", api_version="resource.k8s.io/v1")
    plane.delete("DeviceClass", "slow", api_version="resource.k8s.io/v1")


# -- conflicts and failures


def test_a_claim_that_changes_meanwhile_is_written_again(
    case: DeviceCase, proxy: FaultyProxy, way: Path
) -> None:
    case.claim("mine")
    with MoorRun(case.plane, CONFIG, kubeconfig=way):
        proxy.set(Fault.delay(8, on=STATUS, times=1))
        case.pod("p", "mine")
        case.plane.wait_for(lambda: proxy.counts.get("delay"), "the allocation")
        case.plane.kubectl(
            "annotate", "resourceclaim", "mine", "changed=meanwhile",
            f"--namespace={case.namespace}",
        )  # fmt: skip
        case.wait_bound("p")
    found = case.get_claim("mine")
    assert found["metadata"]["annotations"] == {"changed": "meanwhile"}
    assert [one["name"] for one in found["status"]["reservedFor"]] == ["p"]
    outcome = case.outcome()
    assert [one[1] for one in outcome.events["p"]] == ["Scheduled"]


def test_a_claim_that_somebody_else_allocates_meanwhile_is_not_allocated_twice(
    case: DeviceCase, proxy: FaultyProxy, way: Path
) -> None:
    case.claim("mine")
    with MoorRun(case.plane, CONFIG, kubeconfig=way):
        proxy.set(Fault.delay(8, on=STATUS, times=1))
        case.pod("p", "mine", node="a")
        case.plane.wait_for(lambda: proxy.counts.get("delay"), "the allocation")
        result = {"request": "gpu", "driver": "gpu.example.com", "pool": "a", "device": "gpu-3"}
        time = "2026-01-01T00:00:00Z"
        allocation = {"devices": {"results": [result]}, "allocationTimestamp": time}
        case.set_status("mine", allocation=allocation)
        note = case.wait_event("p", "FailedScheduling", "PreBind")
        assert note == (
            'running PreBind plugin "DynamicResources": '
            f"claim {case.namespace}/mine got allocated elsewhere in the meantime"
        )
        case.wait_bound("p")
        assert case.outcome().device("mine") == ["a/gpu-3"]
        check(case)


def test_a_pod_whose_second_claim_fails_gives_the_first_one_back(
    case: DeviceCase, proxy: FaultyProxy, way: Path
) -> None:
    """What is written and not seen yet is in use, however late the watch is."""
    for name in ("first", "second", "third"):
        case.claim(name)
    patient = {**CONFIG, "podInitialBackoffSeconds": 5, "podMaxBackoffSeconds": 5}
    refused = Requests(verb="patch", resource="resourceclaims/status", path="*/second/status")
    with MoorRun(case.plane, patient, kubeconfig=way) as scheduler:
        proxy.set(
            Fault.refuse(422, times=1, on=refused),
            Fault.delay(4, on=WatchEvents(resource="resourceclaims")),
        )
        case.pod("p", "first", "second", node="a")
        case.wait_event("p", "FailedScheduling", "PreBind")
        given_back = case.get_claim("first")["status"]
        assert "reservedFor" not in given_back
        case.pod("q", "third", node="a")
        case.wait_bound("q")
        assert set(devices_in_use(case.all_claims()).values()) == {1}
        proxy.clear()
        case.wait_bound("p")
        check(case)
        check_all_free(case)
        assert "could be taken back" not in scheduler.log()


def test_a_binding_that_is_refused_gives_everything_back(
    case: DeviceCase, proxy: FaultyProxy, way: Path
) -> None:
    case.claim("mine")
    refused = Requests(verb="create", resource="pods/binding")
    with MoorRun(case.plane, CONFIG, kubeconfig=way):
        proxy.set(Fault.refuse(403, on=refused))
        case.pod("p", "mine")
        case.pod("extended", resources={RESOURCE: "1"})
        for name in ("p", "extended"):
            case.wait_event(name, "FailedScheduling")
        case.wait_claim("mine", lambda status: not status.get("reservedFor"), "to be given back")
        case.plane.wait_for(
            lambda: all(not one["metadata"].get("ownerReferences") for one in case.all_claims()),
            "the special claim to be deleted",
        )
        proxy.clear()
        case.wait_bound("p", "extended")
        check(case)
        check_all_free(case)


def test_paths_of_stops_are_those_of_requests() -> None:
    """A pattern that matches nothing would stop nobody."""
    path = "/apis/resource.k8s.io/v1/namespaces/n/resourceclaims/extended-extended-resources-x"
    for name, target in (
        ("after the special claim", path), ("after the special claim's finalizer", f"{path}/status")
    ):  # fmt: skip
        assert STOPS[name].on.match(FaultTarget.of("c", "PATCH", target))
    told = FaultTarget.of("c", "PATCH", "/api/v1/namespaces/n/pods/extended/status")
    assert STOPS["before the pod knows its special claim"].on.match(told)
