"""Devices on the real API server: kube-scheduler and `moor run` do the same, case by case.

Both run all the time, each for pods of its own. A scenario runs with the one and then with the
other, on the same devices; which pods are placed, which devices they get, what is written to claims
and pods, and what events say must be the same. Scenarios leave no choice, so that chance has no
part in them.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from mooring.testing.moor_run import MoorRun
from mooring.testing.real_kubernetes import (
    BaseControlPlane,
    Binaries,
    ControlPlane,
    KubeScheduler,
    node,
)
from mooring.testing.resource_claim_controllers import ResourceClaimControllers
from tests.e2e.device_case import (
    CLASS,
    DRIVER,
    DeviceCase,
    Outcome,
    device,
    device_class,
    request,
    slice_of,
)
from tests.e2e.device_objects import API, Obj

pytestmark = pytest.mark.kube

FINALIZER = "resource.kubernetes.io/delete-protection"
RESOURCE = "example.com/gpu"
IMPLICIT = f"deviceclass.resource.kubernetes.io/{CLASS}"
ADMIN = {"resource.kubernetes.io/admin-access": "true"}


def config(name: str) -> dict[str, Any]:
    """The configuration of a scheduler: a profile of its name, and an impatient one."""
    args = {"bindingTimeout": "3s"}
    return {
        "podInitialBackoffSeconds": 1,
        "podMaxBackoffSeconds": 1,
        "profiles": [
            {"schedulerName": name},
            {
                "schedulerName": f"{name}-hasty",
                "pluginConfig": [{"name": "DynamicResources", "args": args}],
            },
        ],
    }


@pytest.fixture(scope="module")
def plane(binaries: Binaries) -> Iterator[BaseControlPlane]:
    """A control plane with both schedulers and the controllers of claims."""
    with (
        ControlPlane() as running,
        ResourceClaimControllers(running),
        KubeScheduler(running, config("kube"), v=5),
        MoorRun(running, config("moor")) as moor,
    ):
        yield running
        assert "Traceback" not in moor.log()


Scenario = Callable[[DeviceCase], None]


class Both:
    """Runs scenarios with both schedulers."""

    def __init__(self, plane: BaseControlPlane, name: str) -> None:
        self._plane = plane
        self._name = name

    @contextmanager
    def cluster(self, *objects: Obj) -> Iterator[None]:
        """Nodes, slices and classes that are there for the time of the block."""
        try:
            for one in objects:
                self._plane.create(one)
            yield
        finally:
            for kind in ("ResourceSlice", "DeviceClass"):
                self._plane.delete_all(kind, api_version=API)
            self._plane.delete_all("Node")

    def run(
        self, scenario: Scenario, *, labels: dict[str, str] | None = None, profile: str = ""
    ) -> Outcome:
        """What came of a scenario, with both schedulers alike."""
        kube, moor = self.run_loosely(scenario, labels=labels, profile=profile)
        assert moor.placed() == kube.placed()
        assert moor.claims == kube.claims
        assert moor.pods == kube.pods
        assert moor.events == kube.events
        return moor

    def run_loosely(
        self, scenario: Scenario, *, labels: dict[str, str] | None = None, profile: str = ""
    ) -> list[Outcome]:
        """What came of a scenario with kube-scheduler and with `moor run`."""
        outcomes = []
        for scheduler in ("kube", "moor"):
            name = f"{self._name}-{scheduler}"
            namespace = {"apiVersion": "v1", "kind": "Namespace"}
            self._plane.create({**namespace, "metadata": {"name": name, "labels": labels or {}}})
            case = DeviceCase(self._plane, name, scheduler + profile)
            try:
                scenario(case)
                outcomes.append(case.outcome())
            finally:
                case.clean_up()
                self._plane.delete_namespace(name)
        return outcomes


@pytest.fixture
def both(plane: BaseControlPlane, request: pytest.FixtureRequest) -> Both:
    name = re.sub(r"[^a-z0-9]+", "-", str(request.node.name).removeprefix("test_").lower())
    return Both(plane, name[:40].strip("-"))


def test_claims_from_a_template(both: Both) -> None:
    def scenario(case: DeviceCase) -> None:
        case.claim("one", template=True)
        for number in range(3):
            case.place(f"p{number}", template="one")
        # Whoever is rejected is tried again when a device is free.
        case.delete_pod("p0")
        case.wait_scheduled("p2")
        case.place("p3", template="one")

    with both.cluster(device_class(), node("a"), slice_of("a", device("gpu-0"), device("gpu-1"))):
        outcome = both.run(scenario)
    assert outcome.placed() == {"p1": "a", "p2": "a", "p3": ""}
    assert outcome.device("p1/own") == ["a/gpu-1"]
    assert outcome.device("p2/own") == ["a/gpu-0"]
    assert outcome.claims["p2/own"]["users"] == ["p2"]
    assert outcome.claims["p2/own"]["finalizers"] == [FINALIZER]
    assert outcome.claims["p3/own"]["users"] == []
    assert outcome.pods["p3"]["message"].startswith(
        "0/1 nodes are available: 1 cannot allocate all claims."
    )


def test_a_pod_waits_for_its_claim_and_its_class(both: Both) -> None:
    def scenario(case: DeviceCase) -> None:
        case.pod("early", "late")
        case.claim("unclassed", request(of="missing"))
        case.place("lost", "unclassed")
        case.claim("late")
        case.wait_scheduled("early")

    with both.cluster(device_class(), node("a"), slice_of("a", device("gpu-0"))):
        outcome = both.run(scenario)
    assert outcome.placed() == {"early": "a", "lost": ""}
    assert "device class missing does not exist" in outcome.pods["lost"]["message"]


def test_a_shared_claim(both: Both) -> None:
    def scenario(case: DeviceCase) -> None:
        case.claim("common")
        case.place("first", "common", node="b")
        case.place("second", "common")
        case.place("elsewhere", "common", node="a")

    with both.cluster(
        device_class(), node("a"), node("b"),
        slice_of("a", device("gpu-0")), slice_of("b", device("gpu-0")),
    ):  # fmt: skip
        outcome = both.run(scenario)
    assert outcome.placed() == {"first": "b", "second": "b", "elsewhere": ""}
    assert outcome.claims["common"]["users"] == ["first", "second"]


def test_a_claim_that_nobody_uses_is_deallocated_for_a_pod_that_needs_it_elsewhere(
    both: Both,
) -> None:
    def scenario(case: DeviceCase) -> None:
        case.claim("moving")
        result = {"request": "gpu", "driver": DRIVER, "pool": "a", "device": "gpu-0"}
        here = {"key": "metadata.name", "operator": "In", "values": ["a"]}
        case.set_status(
            "moving",
            allocation={
                "devices": {"results": [result]},
                "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [here]}]},
            },
        )
        case.pod("p", "moving", node="b")
        case.wait_event("p", "FailedScheduling", "deallocation of ResourceClaim completed")
        case.wait_scheduled("p")

    with both.cluster(
        device_class(), node("a"), node("b"),
        slice_of("a", device("gpu-0")), slice_of("b", device("gpu-0")),
    ):  # fmt: skip
        outcome = both.run(scenario)
    assert outcome.device("moving") == ["b/gpu-0"]
    assert outcome.claims["moving"]["users"] == ["p"]


def test_counts_constraints_and_selectors(both: Both) -> None:
    model = f'device.attributes["{DRIVER}"].model'

    def scenario(case: DeviceCase) -> None:
        case.claim(
            "pair", request(count=2),
            constraints=[{"matchAttribute": f"{DRIVER}/model"}],
            config=[{"opaque": {"driver": DRIVER, "parameters": {"mode": "fast"}}}],
        )  # fmt: skip
        case.place("pair", "pair")
        case.claim("large", request(selector=f'{model} == "large"'))
        case.place("large", "large")
        case.claim("rest", request(allocationMode="All"))
        case.place("rest", "rest")

    devices = [
        device(name, attributes={"model": kind})
        for name, kind in (("d-0", "large"), ("d-1", "small"), ("d-2", "small"))
    ]
    with both.cluster(device_class(), node("a"), slice_of("a", *devices)):
        outcome = both.run(scenario)
    assert outcome.device("pair") == ["a/d-1", "a/d-2"]
    assert outcome.device("large") == ["a/d-0"]
    assert outcome.placed()["rest"] == ""


@pytest.mark.parametrize("resource", [RESOURCE, IMPLICIT], ids=["explicit", "implicit"])
def test_an_extended_resource(both: Both, resource: str) -> None:
    def scenario(case: DeviceCase) -> None:
        case.place("one", resources={resource: "1"})
        case.place("two", resources={resource: "2"})
        case.place("more", resources={resource: "1"})
        case.plane.wait_for(
            lambda: case.get_pod("two")["status"].get("extendedResourceClaimStatus"),
            "the pod to say which claim it has",
        )
        case.finish("one")
        case.wait_scheduled("more")
        case.plane.wait_for(lambda: len(case.all_claims()) == 2, "the first claim to be gone")
        # Gone by now: what it had is not told of it any more.
        case.delete_pod("one")

    gpus = [device(f"gpu-{number}") for number in range(3)]
    with both.cluster(device_class(resource=RESOURCE), node("a"), slice_of("a", *gpus)):
        outcome = both.run(scenario)
    assert outcome.placed() == {"two": "a", "more": "a"}
    assert outcome.device("two/extended") == ["a/gpu-1", "a/gpu-2"]
    assert outcome.pods["two"]["extended"]["requestMappings"] == [
        {"containerName": "main", "requestName": "container-0-request-0", "resourceName": resource}
    ]
    assert outcome.device("more/extended") == ["a/gpu-0"]


def test_a_device_plugin_needs_no_claim(both: Both) -> None:
    def scenario(case: DeviceCase) -> None:
        case.place("plugged", resources={RESOURCE: "1"}, node="plugged")
        case.place("bare", resources={RESOURCE: "1"}, node="bare")
        case.place("greedy", resources={RESOURCE: "3"})
        case.place("other", resources={"example.com/other": "1"})

    with both.cluster(
        device_class(resource=RESOURCE), node("plugged", extended={RESOURCE: "2"}), node("bare"),
        slice_of("bare", device("gpu-0")),
    ):  # fmt: skip
        outcome = both.run(scenario)
    assert outcome.placed() == {"plugged": "plugged", "bare": "bare", "greedy": "", "other": ""}
    assert list(outcome.claims) == ["bare/extended"]


def partitionable() -> list[Obj]:
    """Two halves of one device, and the whole."""
    counters = [{"name": "card", "counters": {"memory": {"value": "80Gi"}}}]

    def using(memory: str) -> list[Obj]:
        return [{"counterSet": "card", "counters": {"memory": {"value": memory}}}]

    devices = [
        device("half-0", consumesCounters=using("40Gi"), attributes={"whole": False}),
        device("half-1", consumesCounters=using("40Gi"), attributes={"whole": False}),
        device("whole", consumesCounters=using("80Gi"), attributes={"whole": True}),
    ]
    return [slice_of("a", slices=2, sharedCounters=counters), slice_of("a", *devices, slices=2)]


def test_partitions_of_a_device(both: Both) -> None:
    whole = f'device.attributes["{DRIVER}"].whole'

    def scenario(case: DeviceCase) -> None:
        case.claim("half", request(of="half"), template=True)
        case.claim("whole", request(of="whole"), template=True)
        case.place("one", template="half")
        case.place("all", template="whole")
        case.place("two", template="half")
        case.place("three", template="half")
        case.delete_pod("one")
        case.wait_scheduled("three")

    with both.cluster(
        device_class("half", f"!{whole}"), device_class("whole", whole), node("a"),
        *partitionable(),
    ):  # fmt: skip
        outcome = both.run(scenario)
    assert outcome.placed() == {"all": "", "two": "a", "three": "a"}
    assert outcome.device("two/own") == ["a/half-1"]
    assert outcome.device("three/own") == ["a/half-0"]


def test_device_taints_and_tolerations(both: Both) -> None:
    taint = {"key": "example.com/hot", "value": "very", "effect": "NoSchedule"}
    tolerated = {"key": "example.com/hot", "operator": "Exists", "effect": "NoSchedule"}

    def scenario(case: DeviceCase) -> None:
        case.claim("cool", template=True)
        case.claim("hot", request(tolerations=[tolerated]), template=True)
        case.place("first", template="cool")
        case.place("second", template="cool")
        case.place("tolerant", template="hot")

    with both.cluster(
        device_class(), node("a"),
        slice_of("a", device("hot", taints=[taint]), device("cool")),
    ):  # fmt: skip
        outcome = both.run(scenario)
    assert outcome.placed() == {"first": "a", "second": "", "tolerant": "a"}
    assert outcome.device("first/own") == ["a/cool"]
    assert outcome.device("tolerant/own") == ["a/hot"]
    (result,) = outcome.claims["tolerant/own"]["devices"]
    assert result["tolerations"] == [tolerated]


def conditional(name: str) -> Obj:
    """A device that has to be made ready for each pod."""
    return device(
        name, bindsToNode=True, bindingConditions=["Attached"],
        bindingFailureConditions=["Broken"],
    )  # fmt: skip


PENDING = "waiting for binding conditions for device on node a"


def test_a_pod_waits_until_its_device_is_ready(both: Both) -> None:
    def scenario(case: DeviceCase) -> None:
        case.claim("mine")
        case.pod("p", "mine")
        assert case.wait_event("p", "BindingConditionsPending") == PENDING
        waiting = case.get_pod("p")
        assert "nodeName" not in waiting["spec"]
        assert waiting["status"]["nominatedNodeName"] == "a"
        case.set_conditions("mine", ("Attached", "True"))
        case.wait_scheduled("p")

    with both.cluster(device_class(), node("a"), slice_of("a", conditional("gpu-0"))):
        outcome = both.run(scenario)
    assert outcome.placed() == {"p": "a"}
    (result,) = outcome.claims["mine"]["devices"]
    assert result["bindingConditions"] == ["Attached"]
    assert outcome.claims["mine"]["dated"]


def test_a_device_that_fails_is_given_back_and_allocated_anew(both: Both) -> None:
    def scenario(case: DeviceCase) -> None:
        case.claim("mine")
        case.pod("p", "mine")
        case.wait_event("p", "BindingConditionsPending")
        case.set_conditions("mine", ("Broken", "True"), reason="Unplugged")
        note = case.wait_event("p", "FailedScheduling", "PreBind")
        assert note == (
            'running PreBind plugin "DynamicResources": device binding failed: claim=mine, '
            'reason=Unplugged, message="Broken is True"'
        )
        # The pod is no user any more, so the claim is deallocated, and allocated once more.
        case.wait_claim(
            "mine",
            lambda status: "allocation" in status and "devices" not in status,
            "to be allocated again",
        )
        case.set_conditions("mine", ("Attached", "True"))
        case.wait_scheduled("p")

    with both.cluster(device_class(), node("a"), slice_of("a", conditional("gpu-0"))):
        outcome = both.run(scenario)
    assert outcome.claims["mine"]["users"] == ["p"]


def test_pods_that_share_a_device_that_fails_all_get_it_in_the_end(both: Both) -> None:
    names = ["p0", "p1", "p2", "p3"]

    def scenario(case: DeviceCase) -> None:
        case.claim("mine")
        for name in names:
            case.pod(name, "mine")
        case.wait_claim(
            "mine", lambda status: len(status.get("reservedFor", ())) == 4, "to be used"
        )
        case.set_conditions("mine", ("Broken", "True"), reason="Unplugged")
        for name in names:
            case.wait_event(name, "FailedScheduling", "device binding failed")
        case.wait_claim(
            "mine",
            lambda status: "allocation" in status and "devices" not in status,
            "to be allocated again",
        )
        case.set_conditions("mine", ("Attached", "True"))
        case.wait_scheduled(*names)

    with both.cluster(device_class(), node("a"), slice_of("a", conditional("gpu-0"))):
        outcome = both.run_loosely(scenario)
    for one in outcome:
        assert one.placed() == dict.fromkeys(names, "a")
        assert one.claims["mine"]["users"] == names


def allocated_at(claim: Obj) -> str:
    """When a claim got its devices; empty if it has none."""
    return str(claim["status"].get("allocation", {}).get("allocationTimestamp", ""))


def test_a_device_that_takes_too_long(both: Both) -> None:
    def scenario(case: DeviceCase) -> None:
        case.claim("mine")
        case.pod("p", "mine")
        case.wait_claim("mine", lambda status: "allocation" in status, "to be allocated")
        first = allocated_at(case.get_claim("mine"))
        note = case.wait_event("p", "FailedScheduling", "PreBind")
        assert note == (
            'running PreBind plugin "DynamicResources": '
            "device binding timeout: context deadline exceeded"
        )
        # It may be allocated again before anybody sees that it was not.
        case.wait_claim(
            "mine", lambda _: allocated_at(case.get_claim("mine")) != first, "to be deallocated"
        )

    with both.cluster(device_class(), node("a"), slice_of("a", conditional("gpu-0"))):
        for one in both.run_loosely(scenario, profile="-hasty"):
            assert one.placed() == {"p": ""}


def test_admin_access_looks_at_devices_in_use(both: Both) -> None:
    def scenario(case: DeviceCase) -> None:
        case.claim("mine")
        case.claim("all", request(adminAccess=True, allocationMode="All"))
        case.place("user", "mine")
        case.place("admin", "all")

    with both.cluster(device_class(), node("a"), slice_of("a", device("gpu-0"))):
        outcome = both.run(scenario, labels=ADMIN)
    assert outcome.placed() == {"user": "a", "admin": "a"}
    assert outcome.device("all") == outcome.device("mine") == ["a/gpu-0"]
    assert outcome.claims["all"]["devices"][0]["adminAccess"] is True


def test_a_prioritized_list(both: Both) -> None:
    size = f'device.attributes["{DRIVER}"].size'
    either = {
        "name": "gpu",
        "firstAvailable": [
            {"name": "large", "deviceClassName": "large"},
            {"name": "small", "deviceClassName": "small", "count": 2},
        ],
    }

    def scenario(case: DeviceCase) -> None:
        case.claim("either", either, template=True)
        for name in ("first", "second", "third"):
            case.place(name, template="either")

    small = [device(f"small-{number}", attributes={"size": 1}) for number in range(2)]
    with both.cluster(
        device_class("large", f"{size} == 2"), device_class("small", f"{size} == 1"),
        node("a"), node("b"),
        slice_of("a", *small), slice_of("b", device("large", attributes={"size": 2})),
    ):  # fmt: skip
        outcome = both.run(scenario)
    assert outcome.placed() == {"first": "b", "second": "a", "third": ""}
    assert outcome.claims["first/own"]["devices"][0]["request"] == "gpu/large"
    assert outcome.device("second/own") == ["a/small-0", "a/small-1"]


def test_a_device_with_capacity_for_several_claims(both: Both) -> None:
    policy = {"default": "1Gi", "validRange": {"min": "1Gi", "step": "1Gi"}}
    port = device(
        "port", allowMultipleAllocations=True,
        capacity={"bandwidth": {"value": "10Gi", "requestPolicy": policy}},
    )  # fmt: skip

    def scenario(case: DeviceCase) -> None:
        wanted = {"requests": {"bandwidth": "4500Mi"}}
        case.claim("some", request(capacity=wanted), template=True)
        for name in ("first", "second", "third"):
            case.place(name, template="some")

    with both.cluster(device_class(), node("a"), slice_of("a", port)):
        outcome = both.run(scenario)
    assert outcome.placed() == {"first": "a", "second": "a", "third": ""}
    assert outcome.claims["first/own"]["devices"][0]["consumedCapacity"] == {"bandwidth": "5Gi"}


def test_devices_of_several_nodes(both: Both) -> None:
    selector = {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "fabric", "operator": "In", "values": ["yes"]}]}
        ]
    }

    def scenario(case: DeviceCase) -> None:
        case.claim("fabric", request(of="fabric"))
        case.place("outside", "fabric", node="b")
        case.place("inside", "fabric", node="a")
        case.claim("anywhere", request(of="everywhere"))
        case.place("free", "anywhere", node="b")

    kind = f'device.attributes["{DRIVER}"].kind'
    with both.cluster(
        device_class("fabric", f'{kind} == "fabric"'),
        device_class("everywhere", f'{kind} == "everywhere"'),
        node("a", labels={"fabric": "yes"}), node("b"),
        slice_of("rack", device("port", attributes={"kind": "fabric"}), nodeSelector=selector),
        slice_of("site", device("license", attributes={"kind": "everywhere"}), allNodes=True),
    ):  # fmt: skip
        outcome = both.run(scenario)
    assert outcome.placed() == {"outside": "", "inside": "a", "free": "b"}
    assert outcome.claims["anywhere"]["nodes"] is None


def test_a_claim_has_256_users_at_most(both: Both) -> None:
    def scenario(case: DeviceCase) -> None:
        case.claim("common")
        case.place("first", "common")
        users = case.create_users(255)
        users += case.get_claim("common")["status"]["reservedFor"]
        case.set_status("common", reservedFor=users)
        case.pod("late", "common")
        case.wait_event("late", "FailedScheduling", "PreBind")

    with both.cluster(device_class(), node("a"), slice_of("a", device("gpu-0"))):
        outcome = both.run(scenario)
    assert outcome.placed()["late"] == ""
    assert len(outcome.claims["common"]["users"]) == 256
    assert any("Too many: 257" in one[3] for one in outcome.events["late"])
