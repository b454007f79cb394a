"""All pending pods: grouped by why, and what would help most of them."""

from typing import Any

from mooring.explaining.explainer import Explainer
from mooring.explaining.pending_pods import PendingReport, pending_report
from mooring.framework.decisions.record import Record
from mooring.framework.decisions.recording import record_decision
from mooring.framework.runtime import Runtime
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.meta import KubeObject
from mooring.model.pod import Pod
from mooring.testing import make_node, make_pod
from tests.unit.plugins.devices.device_objects import (
    DRIVER,
    GPUS,
    Json,
    allocated,
    claim,
    claiming,
    device,
    device_class,
    published,
    request,
    template,
)

TAINT = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}


def report(*objects: KubeObject) -> PendingReport:
    explainer = Explainer(objects)
    pods = [one for one in objects if isinstance(one, Pod) and not one.node_name]
    before = explainer.cluster.columns.used("cpu").tolist()
    found = pending_report(explainer, [explainer.pod(one.key) for one in pods])
    assert explainer.cluster.columns.used("cpu").tolist() == before
    return found


def batch(name: str, cpu: str = "4", **more: Any) -> Pod:
    return make_pod(name, requests={"cpu": cpu}, **more)


def test_no_pod_is_pending() -> None:
    assert report(make_node("a")) == PendingReport((), (), ())


def test_pods_that_fit_wait_for_a_scheduler() -> None:
    found = report(make_node("a"), batch("x", "1"))
    assert (found.fitting, found.pending) == ((("default/x", "default-scheduler"),), 0)


def test_pods_are_grouped_by_reason() -> None:
    gated = make_pod("g", spec={"schedulingGates": [{"name": "g"}]})
    found = report(make_node("a", cpu="2"), batch("x"), batch("y", "8"), batch("z"), gated)
    assert [(one.plugin, one.pods) for one in found.groups] == [
        ("NodeResourcesFit", ("default/x", "default/z", "default/y")),
        ("SchedulingGates", ("default/g",)),
    ]
    assert found.groups[0].text == "needs 4 cpu, and the largest node it may use has 2 (a)"


def test_a_change_helps_as_many_pods_as_there_is_room_for() -> None:
    pods = [batch(f"p{number}") for number in range(5)]
    full = make_pod("full", node="a", requests={"cpu": "8"})
    found = report(make_node("a", cpu="8"), full, *pods)
    helped = {one.text: len(one.pods) for one in found.changes}
    assert helped["add one more node like a (8 cpu and 32Gi memory)"] == 2
    assert max(helped.values()) == 2


def test_the_change_that_helps_most_comes_first() -> None:
    nodes = [make_node("cpu", cpu="2"), make_node("gpu", cpu="64", taints=[TAINT])]
    found = report(*nodes, batch("x", "4"), batch("y", "5"), batch("z", "6"))
    assert found.changes[0].text == "tolerate the taint dedicated=gpu:NoSchedule"
    assert found.changes[0].pods == ("default/x", "default/y", "default/z")


def test_a_change_that_differs_in_amounts() -> None:
    found = report(
        make_node("a", cpu="4"), make_node("b", cpu="4"), batch("x", "5"), batch("y", "6")
    )
    assert found.changes[0] == (
        "request 1 less cpu (4 instead of 5), and likewise for 1 other kind of pods",
        "",
        ("default/x", "default/y"),
    )


def test_important_pods_come_first() -> None:
    full = make_pod("full", node="a", requests={"cpu": "8"})
    vip = batch("z", priority=9, spec={"preemptionPolicy": "Never"})
    found = report(make_node("a", cpu="8"), full, batch("x", "8"), vip)
    new = next(one for one in found.changes if one.text.startswith("add one more node"))
    assert new.pods == ("default/z",)


def test_pods_of_one_template_are_explained_once() -> None:
    asked = []

    def decide(runtime: Runtime, pod: Pod) -> Record:
        asked.append(pod.name)
        return record_decision(runtime, pod)

    explainer = Explainer([make_node("a", cpu="2")], decide=decide)
    label = "statefulset.kubernetes.io/pod-name"
    pods = [batch(f"p{number}", labels={label: f"p{number}"}) for number in range(50)]
    found = pending_report(explainer, pods, changes=False)
    assert found.pending == 50
    assert len(asked) == 1


class TestDevices:
    """Pods whose claims are made from one template, and which take devices away from each other."""

    def pods(self, number: int, *, made: bool = True) -> list[KubeObject]:
        """Pods with a claim of their own, for two devices each."""
        found: list[KubeObject] = []
        for index in range(number):
            raw = claiming(f"p{index}", templates=["big"]).raw
            if made:
                name = f"claim-{index}"
                status = {"name": "from-big", "resourceClaimName": name}
                raw["status"] = {"resourceClaimStatuses": [status]}
                given = claim(name, request(count=2)).raw
                owner: Json = {"kind": "Pod", "name": f"p{index}", "controller": True}
                owner["uid"] = f"uid-default-p{index}"
                given["metadata"]["ownerReferences"] = [owner]
                found.append(ResourceClaim.from_dict(given))
            found.append(Pod.from_dict(raw))
        return found

    def test_a_change_of_a_template_is_one_for_all_its_claims(self) -> None:
        devices = [published(node, device("g0")) for node in "ab"]
        nodes = [make_node(node) for node in "ab"]
        found = report(*nodes, GPUS, *devices, *self.pods(3))
        assert [one.pods for one in found.groups] == [("default/p0", "default/p1", "default/p2")]
        helped = {one.text: one.pods for one in found.changes}
        # There are two devices, and the third pod does not count.
        assert helped["ask for 1 device less (1 instead of 2) in the claim template big"] == (
            "default/p0", "default/p1",
        )  # fmt: skip

    def test_claims_that_are_not_created_yet(self) -> None:
        devices = published("a", *(device(f"g{number}") for number in range(3)))
        pods = self.pods(4, made=False)
        found = report(make_node("a"), GPUS, devices, template("big"), *pods)
        helped = {one.text: len(one.pods) for one in found.changes}
        assert helped == {
            "create the claim from-big from the template big, as the resource claim controller "
            "does": 3,
            "remove the claim from-big": 4,
        }

    def test_pods_of_one_template_of_which_one_has_its_devices_already(self) -> None:
        objects = self.pods(2)
        status = allocated("b/g0", "b/g1", only_on="b")
        first = objects[0]
        objects[0] = ResourceClaim.from_dict({**first.raw, "status": status})
        found = report(make_node("a"), GPUS, *objects)
        assert len(found.groups) == 2

    def test_extended_resources(self) -> None:
        gpus = device_class(DRIVER, resource="example.com/gpu")
        devices = published("a", device("g0"), device("g1"))
        pods = [make_pod(f"p{n}", requests={"example.com/gpu": "3"}) for n in range(3)]
        found = report(make_node("a"), gpus, devices, *pods)
        helped = {one.text: one.pods for one in found.changes}
        assert helped == {
            "request 1 less example.com/gpu (2 instead of 3)": ("default/p0",),
        }
