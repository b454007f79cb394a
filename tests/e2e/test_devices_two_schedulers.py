"""kube-scheduler and `moor run` allocate the same devices, for different pods.

A claim has one allocation: the API server rejects the second write. Whether two claims have the
same device, nobody checks; each scheduler knows what it has seen.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.testing.faults import Fault, Requests
from mooring.testing.faulty_proxy import FaultyProxy
from mooring.testing.moor_run import MoorRun
from mooring.testing.real_kubernetes import (
    BaseControlPlane,
    Binaries,
    ControlPlane,
    KubeScheduler,
    node,
)
from mooring.testing.resource_claim_controllers import ResourceClaimControllers
from tests.e2e.device_case import DeviceCase, device, device_class, slice_of
from tests.e2e.test_devices_faults import devices_in_use

pytestmark = pytest.mark.kube

DEVICES = 8


def config(name: str) -> dict[str, object]:
    return {
        "podInitialBackoffSeconds": 1,
        "podMaxBackoffSeconds": 1,
        "profiles": [{"schedulerName": name}],
    }


@pytest.fixture(scope="module")
def plane(binaries: Binaries) -> Iterator[BaseControlPlane]:
    with ControlPlane() as running, ResourceClaimControllers(running):
        running.create(device_class())
        for name in ("a", "b"):
            running.create(node(name))
            gpus = [device(f"gpu-{number}") for number in range(DEVICES)]
            running.create(slice_of(name, *gpus))
        with KubeScheduler(running, config("kube")):
            yield running


@pytest.fixture
def proxy() -> Iterator[FaultyProxy]:
    with FaultyProxy() as running:
        yield running


@pytest.fixture
def way(plane: BaseControlPlane, proxy: FaultyProxy, namespace: str) -> Path:
    return proxy.through(plane.kubeconfig_for("system:kube-scheduler", name=f"way-{namespace}"))


@pytest.fixture
def kube(plane: BaseControlPlane, namespace: str) -> Iterator[DeviceCase]:
    made = DeviceCase(plane, namespace, "kube")
    yield made
    made.clean_up()


@pytest.fixture
def moor(plane: BaseControlPlane, namespace: str) -> DeviceCase:
    return DeviceCase(plane, namespace, "moor")


def test_a_claim_of_both_is_allocated_once(
    plane: BaseControlPlane, kube: DeviceCase, moor: DeviceCase
) -> None:
    rounds = 8
    with MoorRun(plane, config("moor")) as scheduler:
        for number in range(rounds):
            kube.claim(f"common-{number}")
            for user in range(2):
                for case in (kube, moor):
                    case.pod(f"{case.scheduler}-{number}-{user}", f"common-{number}")
        names = [
            f"{who}-{n}-{user}"
            for who in ("kube", "moor")
            for n in range(rounds)
            for user in (0, 1)
        ]
        kube.wait_bound(*[one for one in names if one.startswith("kube")])
        moor.wait_bound(*[one for one in names if one.startswith("moor")])
        assert "Traceback" not in scheduler.log()
    outcome = kube.outcome()
    where = outcome.placed()
    for number in range(rounds):
        common = outcome.claims[f"common-{number}"]
        users = [f"{who}-{number}-{user}" for who in ("kube", "moor") for user in range(2)]
        assert common["users"] == users
        (result,) = common["devices"]
        assert {where[one] for one in users} == {result["pool"]}


def test_two_claims_get_one_device_if_both_decide_before_they_see_the_other(
    plane: BaseControlPlane, kube: DeviceCase, moor: DeviceCase, proxy: FaultyProxy, way: Path
) -> None:
    """The API server does not object; both count the device until both claims are gone."""
    for name in ("first", "second", "third"):
        kube.claim(name)
    allocation = Requests(verb="patch", resource="resourceclaims/status")
    with MoorRun(plane, config("moor"), kubeconfig=way) as scheduler:
        proxy.set(Fault.delay(4, on=allocation, times=1))
        moor.pod("slow", "first", node="a")
        plane.wait_for(lambda: proxy.counts.get("delay"), "the allocation")
        kube.pod("quick", "second", node="a")
        kube.wait_bound("quick")
        moor.wait_bound("slow")
        assert devices_in_use(kube.all_claims()) == {"a/gpu-0": 2}
        # From then on both know: the device goes to nobody else, also when one gives it back.
        kube.delete_pod("quick")
        kube.wait_claim("second", lambda status: "allocation" not in status, "to be free")
        moor.place("next", "third", node="a")
        assert devices_in_use(kube.all_claims()) == {"a/gpu-0": 1, "a/gpu-1": 1}
        assert "Traceback" not in scheduler.log()


def test_devices_on_nodes_of_their_own_are_used_once(
    plane: BaseControlPlane, kube: DeviceCase, moor: DeviceCase
) -> None:
    """What the guide advises: each scheduler has its own nodes."""
    kube.claim("own", template=True)
    with MoorRun(plane, config("moor")):
        for number in range(DEVICES):
            kube.pod(f"kube-{number}", template="own", node="a")
            moor.pod(f"moor-{number}", template="own", node="b")
        kube.wait_bound(*(f"kube-{number}" for number in range(DEVICES)))
        moor.wait_bound(*(f"moor-{number}" for number in range(DEVICES)))
    used = devices_in_use(kube.all_claims())
    assert len(used) == 2 * DEVICES
    assert set(used.values()) == {1}
