"""Claims to devices: with kube-scheduler on an embedded cluster, and on a real API server.

The embedded cluster has its own fake driver, kubelets and controllers. On the real one, the same
controllers work through `ResourceClaimControllers`.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from mooring.testing.real_kubernetes import (
    BaseControlPlane,
    Binaries,
    ControlPlane,
    KubeScheduler,
    node,
)
from mooring.testing.resource_claim_controllers import ResourceClaimControllers
from tests.e2e.device_objects import (
    API,
    DRIVER,
    NAME,
    RESOURCE,
    Obj,
    claim,
    from_template,
    pod,
    publish,
    shared,
    template,
    withdraw,
)
from tests.e2e.full_embedded_control_plane import FullEmbeddedControlPlane

pytestmark = pytest.mark.kube

FINALIZER = "resource.kubernetes.io/delete-protection"


@pytest.fixture(scope="module")
def embedded(binaries: Binaries) -> Iterator[BaseControlPlane]:
    with (
        FullEmbeddedControlPlane([node("a"), node("b")], drivers=[DRIVER]) as plane,
        KubeScheduler(plane),
    ):
        yield plane


@pytest.fixture(scope="module")
def real(binaries: Binaries) -> Iterator[BaseControlPlane]:
    with ControlPlane() as plane:
        publish(plane, plane.create_node("a"), plane.create_node("b"))
        with ResourceClaimControllers(plane), KubeScheduler(plane):
            yield plane
        withdraw(plane)


@pytest.fixture(params=["embedded", "real"])
def plane(request: pytest.FixtureRequest) -> Iterator[BaseControlPlane]:
    """A cluster with two nodes of two devices each, on which nothing runs."""
    running: BaseControlPlane = request.getfixturevalue(request.param)
    yield running
    running.delete_all("Pod")
    running.wait_for(lambda: not claims(running, generated=True), "generated claims to be deleted")
    for one in claims(running):
        running.delete("ResourceClaim", one["metadata"]["name"], api_version=API)
    running.delete_all("ResourceClaimTemplate", api_version=API)
    running.wait_for(lambda: not claims(running), "claims to be deleted")


def claims(plane: BaseControlPlane, *, generated: bool = False) -> list[Obj]:
    found = plane.list_objects("ResourceClaim", "default", api_version=API)
    return [one for one in found if not generated or one["metadata"].get("ownerReferences")]


def wait_bound(plane: BaseControlPlane, *names: str) -> list[Obj]:
    """The pods, once all have a node."""

    def look() -> list[Obj] | None:
        pods = [plane.get("Pod", name) for name in names]
        return pods if all(one["spec"].get("nodeName") for one in pods) else None

    return plane.wait_for(look, f"{', '.join(names)} to be bound")


def devices_of(one: Obj) -> list[tuple[str, str]]:
    results = one["status"]["allocation"]["devices"]["results"]
    return [(result["pool"], result["device"]) for result in results]


def finish(plane: BaseControlPlane, name: str) -> None:
    """Do what a kubelet does when the containers of a pod have ended."""
    found = plane.get("Pod", name)
    found["status"]["phase"] = "Succeeded"
    plane.request("PUT", plane.path("Pod", name, "default") + "/status", found)


def test_each_pod_gets_the_device_of_its_own_claim(plane: BaseControlPlane) -> None:
    plane.create(template("one"))
    names = [f"train-{number}" for number in range(4)]
    for name in names:
        plane.create(pod(name, from_template("one")))
    pods = wait_bound(plane, *names)
    assert Counter(one["spec"]["nodeName"] for one in pods) == {"a": 2, "b": 2}
    used: Counter[tuple[str, str]] = Counter()
    by_name = {one["metadata"]["name"]: one for one in claims(plane)}
    for one in pods:
        (status,) = one["status"]["resourceClaimStatuses"]
        made = by_name[status["resourceClaimName"]]
        assert made["metadata"]["finalizers"] == [FINALIZER]
        assert [user["uid"] for user in made["status"]["reservedFor"]] == [one["metadata"]["uid"]]
        used.update(devices_of(made))
    assert used == {(place, f"gpu-{number}"): 1 for place in "ab" for number in range(2)}


def test_a_device_is_free_again_when_its_pod_is_done(plane: BaseControlPlane) -> None:
    plane.create(template("one"))
    names = [f"train-{number}" for number in range(4)]
    for name in names:
        plane.create(pod(name, from_template("one")))
    wait_bound(plane, *names)
    plane.create(pod("next", from_template("one")))
    plane.wait_for(
        lambda: "cannot allocate all claims" in message(plane, "next"), "next to be rejected"
    )
    finish(plane, "train-0")
    wait_bound(plane, "next")
    plane.wait_for(lambda: len(claims(plane)) == 4, "the claim of train-0 to be deleted")


def message(plane: BaseControlPlane, name: str) -> str:
    conditions = plane.get("Pod", name)["status"].get("conditions") or ()
    return "".join(one.get("message", "") for one in conditions)


def test_a_shared_claim_is_released_after_its_last_pod(plane: BaseControlPlane) -> None:
    plane.create(claim("common"))
    for name in ("first", "second"):
        plane.create(pod(name, shared("common")))
    wait_bound(plane, "first", "second")

    def state() -> tuple[int, bool, bool]:
        found = plane.get("ResourceClaim", "common", api_version=API)
        status: dict[str, Any] = found.get("status") or {}
        users = status.get("reservedFor") or []
        return len(users), "allocation" in status, bool(found["metadata"].get("finalizers"))

    assert state() == (2, True, True)
    finish(plane, "first")
    plane.wait_for(lambda: state() == (1, True, True), "the first pod's reservation to go")
    plane.delete("Pod", "second")
    plane.wait_for(lambda: state() == (0, False, False), "the claim to be released")


def test_an_extended_resource_is_a_device(plane: BaseControlPlane) -> None:
    plane.create(pod("train", resource=RESOURCE))
    (bound,) = wait_bound(plane, "train")
    plane.wait_for(
        lambda: plane.get("Pod", "train")["status"].get("extendedResourceClaimStatus"),
        "the pod to say which claim it has",
    )
    (made,) = claims(plane)
    assert devices_of(made)[0][0] == bound["spec"]["nodeName"]
    finish(plane, "train")
    plane.wait_for(lambda: not claims(plane), "the claim to be deleted")


def test_partitions_share_a_device(plane: BaseControlPlane) -> None:
    plane.create(template("half", "half"))
    names = [f"part-{number}" for number in range(8)]
    for name in names:
        plane.create(pod(name, from_template("half")))
    wait_bound(plane, *names)
    plane.create(pod("whole", resource=RESOURCE))
    plane.wait_for(lambda: message(plane, "whole"), "whole to be rejected")
    for name in names:
        plane.delete("Pod", name)
    wait_bound(plane, "whole")


def test_a_pod_of_the_embedded_cluster_runs_with_its_devices(embedded: BaseControlPlane) -> None:
    embedded.create(template("one"))
    embedded.create(pod("train", from_template("one")))
    embedded.wait_for(
        lambda: embedded.get("Pod", "train")["status"]["phase"] == "Running", "train to run"
    )
    (made,) = claims(embedded)
    wide = embedded.kubectl("get", "resourceclaims")
    assert wide.splitlines()[0].split() == ["NAME", "STATE", "AGE"]
    assert wide.splitlines()[1].split()[:2] == [made["metadata"]["name"], "allocated,reserved"]
    described = embedded.kubectl("describe", "resourceclaim", made["metadata"]["name"])
    assert NAME in described
    embedded.delete("Pod", "train")
    embedded.wait_for(lambda: not claims(embedded), "the claim to be deleted")
    embedded.delete("ResourceClaimTemplate", "one", api_version=API)
