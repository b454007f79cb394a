"""Which devices a pod does not get, and why, in words."""

import pytest

from mooring.explaining.explainer import Explainer, Explanation
from mooring.model.meta import KubeObject
from mooring.model.pod import Pod
from mooring.testing import make_node
from tests.unit.plugins.devices.device_objects import (
    DRIVER,
    GPUS,
    Json,
    allocated,
    attribute,
    claim,
    claiming,
    device,
    device_class,
    published,
    request,
    template,
)

P = claiming("p", "mine")


def explain(*objects: KubeObject, pod: Pod = P) -> Explanation:
    found = Explainer(objects).explain(pod)
    assert found.failed == ()
    return found


def cause(*objects: KubeObject, pod: Pod = P) -> str:
    """The first thing that people read."""
    return explain(*objects, pod=pod).causes[0].text


def lines(*objects: KubeObject, pod: Pod = P) -> dict[str, str]:
    """What is said of nodes that are alike; they are joined."""
    found = explain(*objects, pod=pod)
    return {
        " ".join(found.record.nodes[row] for row in one.rows): one.details[0]
        for one in found.groups
    }


A, B, C = (make_node(name) for name in "abc")
#: What a pod is told that finds no GPU for its claim.
NO_GPU = f"finds no {DRIVER} device for the claim mine"


class TestSelectors:
    BIG = f'device.capacity["{DRIVER}"].memory.compareTo(quantity("80Gi")) >= 0'

    def test_the_selector_and_what_the_devices_have_instead(self) -> None:
        objects = [
            A, B, GPUS, claim("mine", request("gpu", self.BIG)),
            published("a", device("g0", "40Gi"), device("g1", "40Gi")),
            published("b", device("g0", "24Gi")),
        ]  # fmt: skip
        assert cause(*objects) == (
            f"needs 1 {DRIVER} device for the claim mine, and none of the 3 on the nodes it may "
            f"use matches {self.BIG} (memory 40Gi and memory 24Gi)"
        )
        assert lines(*objects) == {
            "a b": f"{NO_GPU}: none of the 3 matches {self.BIG} (memory 40Gi and memory 24Gi)"
        }

    def test_only_the_part_that_rejects(self) -> None:
        both = f'{attribute("model")} == "x" && {attribute("rdma")}'
        objects = [A, GPUS, claim("mine", request("gpu", both))]
        assert lines(*objects, published("a", device("g0", model="x", rdma=False))) == {
            "a": f"{NO_GPU}: g0 does not match {attribute('rdma')} (rdma false)"
        }
        assert lines(*objects, published("a", device("g0", model="y", rdma=True))) == {
            "a": f'{NO_GPU}: g0 does not match {attribute("model")} == "x" (model y)'
        }

    def test_an_attribute_that_a_device_does_not_have(self) -> None:
        has = f"has({attribute('rdma')})"
        objects = [A, GPUS, claim("mine", request("gpu", has)), published("a", device("g0"))]
        assert lines(*objects) == {"a": f"{NO_GPU}: g0 does not match {has} (no rdma)"}

    def test_the_selector_of_a_class(self) -> None:
        big = device_class("big", f"{attribute('size')} > 5")
        objects = [A, big, claim("mine", request(of="big")), published("a", device("g0", size=3))]
        assert lines(*objects) == {
            "a": "finds no big device for the claim mine: g0 does not match the selector of the "
            f"class, {attribute('size')} > 5 (size 3)"
        }

    def test_other_drivers_are_nobodys_business(self) -> None:
        objects = [A, GPUS, claim("mine"), published("a", device("n0"), driver="nic.example.com")]
        assert lines(*objects) == {"a": f"{NO_GPU}: the node has none"}
        assert cause(*objects) == (
            f"needs 1 {DRIVER} device for the claim mine, and no node that it may use has one"
        )


class TestDevicesInUse:
    def test_who_has_them(self) -> None:
        objects = [
            A, GPUS, claim("mine"), published("a", device("g0"), device("g1")),
            claim("x", status=allocated("a/g0", to=["train"])),
            claim("y", status=allocated("a/g1")),
        ]  # fmt: skip
        assert lines(*objects) == {
            "a": f"{NO_GPU}: g0 and g1 are in use by default/train (claim x) and the claim "
            "default/y, which no pod uses"
        }

    def test_fewer_than_are_needed(self) -> None:
        objects = [
            A, B, C, GPUS, claim("mine", request(count=3)),
            published("a", *(device(f"g{number}") for number in range(3))),
            published("b", device("g0")), claim("x", status=allocated("a/g0", to=["train"])),
        ]  # fmt: skip
        assert cause(*objects) == (
            f"needs 3 {DRIVER} devices for the claim mine, and can have 2 on one node (a): of 4 on "
            "the nodes it may use, 1 is in use by default/train (claim x)"
        )
        assert lines(*objects) == {
            "a": f"finds 2 of 3 {DRIVER} devices for the claim mine: of 3, g0 is in use by "
            "default/train (claim x)",
            "b": f"finds 1 of 3 {DRIVER} devices for the claim mine: the node has no more",
            "c": f"{NO_GPU}: the node has none",
        }

    def test_all_of_them(self) -> None:
        objects = [
            A, GPUS, claim("mine", request(allocationMode="All")),
            published("a", device("g0"), device("g1")), claim("x", status=allocated("a/g0")),
        ]  # fmt: skip
        assert lines(*objects) == {
            "a": f"cannot have all {DRIVER} devices for the claim mine: g0 is in use by the claim "
            "default/x, which no pod uses"
        }

    def test_taints(self) -> None:
        taint = {"key": "ecc", "value": "bad", "effect": "NoExecute"}
        objects = [A, GPUS, claim("mine"), published("a", {**device("g0"), "taints": [taint]})]
        assert lines(*objects) == {"a": f"{NO_GPU}: g0 has the taint ecc=bad:NoExecute"}

    def test_what_is_left_of_a_shared_device(self) -> None:
        shared = {**device("g0", "40Gi"), "allowMultipleAllocations": True}
        status = allocated("a/g0", to=["x"], shareID="s", consumedCapacity={"memory": "30Gi"})
        objects = [A, GPUS, published("a", shared), claim("other", status=status)]
        some = claim("mine", request(capacity={"requests": {"memory": "20Gi"}}))
        assert lines(*objects, some) == {
            "a": f"{NO_GPU}: g0 has too little memory left (needs 20Gi, 10Gi is left) beside "
            "default/x (claim other)"
        }
        much = claim("mine", request(capacity={"requests": {"memory": "50Gi"}}))
        assert lines(*objects, much) == {
            "a": f"{NO_GPU}: g0 cannot give as much memory as it needs (has 40Gi)"
        }

    def test_partitions(self) -> None:
        def part(name: str, size: str) -> dict[str, object]:
            counters = {"counterSet": "g", "counters": {"memory": {"value": size}}}
            return {**device(name), "consumesCounters": [counters]}

        memory = {"name": "g", "counters": {"memory": {"value": "40Gi"}}}
        objects = [
            A, GPUS, claim("mine"), claim("x", status=allocated("a/small", to=["train"])),
            published("a", part("whole", "40Gi"), part("small", "10Gi"), slices=2),
            published("a", slices=2, name="counters", sharedCounters=[memory]),
        ]  # fmt: skip
        assert lines(*objects) == {
            "a": f"{NO_GPU}: whole has too little of the counter g/memory left (needs 40Gi, 30Gi "
            "is left) beside default/train (claim x) and small is in use by default/train (claim x)"
        }


class TestPools:
    def test_one_that_is_not_complete(self) -> None:
        objects = [A, GPUS, claim("mine"), published("a", device("g0"), slices=2)]
        problem = f"the pool {DRIVER}/a is incomplete (1 of 2 slices published)"
        assert lines(*objects) == {"a": f"{NO_GPU}; {problem}"}
        assert cause(*objects).endswith(f"no node that it may use has one; {problem}")

    def test_one_that_contradicts_itself(self) -> None:
        objects = [A, GPUS, claim("mine"), published("a", device("g0"), device("g0"))]
        assert lines(*objects) == {
            "a": f"{NO_GPU}; the pool {DRIVER}/a is invalid (duplicate device name g0)"
        }

    def test_one_that_its_driver_replaces(self) -> None:
        newer = published("a", device("g0"), slices=2, name="newer", generation=2, nodeName="b")
        objects = [A, B, GPUS, claim("mine"), published("a", device("g0"), slices=2), newer]
        assert lines(*objects) == {
            "a b": f"{NO_GPU}; the pool {DRIVER}/a is being replaced by its driver, the pool "
            f"{DRIVER}/a is incomplete (1 of 2 slices published)"
        }


class TestTogether:
    def test_the_same_attribute(self) -> None:
        numa = f"{DRIVER}/numa"
        objects = [
            A, GPUS,
            claim("mine", request(count=2), constraints=[{"matchAttribute": numa}]),
            published("a", *(device(f"g{number}", numa=number) for number in range(3))),
        ]  # fmt: skip
        assert cause(*objects) == (
            f"needs 2 {DRIVER} devices with the same {numa} for the claim mine, and those that it "
            "could have on the nodes it may use have 0, 1 and 2"
        )

    def test_a_different_attribute(self) -> None:
        numa = f"{DRIVER}/numa"
        objects = [
            A, GPUS,
            claim("mine", request("x"), request("y"), constraints=[{"distinctAttribute": numa}]),
            published("a", device("g0", numa=1), device("g1", numa=1)),
        ]  # fmt: skip
        assert lines(*objects) == {
            "a": f"needs 1 {DRIVER} device with a different {numa} from its other devices for "
            "request y of the claim mine, and those that it could have on the node have 1"
        }

    def test_an_attribute_that_a_device_lacks(self) -> None:
        numa = f"{DRIVER}/numa"
        objects = [
            A, GPUS,
            claim("mine", request(count=2), constraints=[{"matchAttribute": numa}]),
            published("a", device("g0", numa=0), device("g1")),
        ]  # fmt: skip
        assert lines(*objects) == {
            "a": f"finds 1 of 2 {DRIVER} devices for the claim mine: g1 has no {numa}, which a "
            "constraint needs"
        }

    @pytest.mark.parametrize("claims", [["mine"], ["first", "second"]])
    def test_requests_that_need_the_same_device(self, claims: list[str]) -> None:
        made = (
            [claim("mine", request("one"), request("two"))]
            if claims == ["mine"]
            else [claim("first"), claim("second")]
        )
        whose = "request two of the claim mine" if claims == ["mine"] else "the claim second"
        found = cause(A, GPUS, *made, published("a", device("g0")), pod=claiming("p", *claims))
        assert found == (
            f"needs 1 {DRIVER} device for {whose}, and what it could have on the nodes it may use "
            "is needed for another of its requests"
        )

    def test_each_of_several_ways(self) -> None:
        big, small = (
            device_class("big", f"{attribute('size')} > 5"),
            device_class("small", f"{attribute('size')} <= 5"),
        )
        ways = [
            {"name": "b", "deviceClassName": "big"},
            {"name": "s", "deviceClassName": "small"},
        ]
        objects = [
            A, big, small, claim("mine", {"name": "gpu", "firstAvailable": ways}),
            published("a", device("g0", size=3)), claim("x", status=allocated("a/g0", to=["t"])),
        ]  # fmt: skip
        assert lines(*objects) == {
            "a": "finds no big device for the claim mine: g0 does not match the selector of the "
            f"class, {attribute('size')} > 5 (size 3), and it finds no small device for the claim "
            "mine: g0 is in use by default/t (claim x)"
        }

    def test_the_nodes_that_come_closest_are_told_about_first(self) -> None:
        nic = device_class("nic.example.com", 'device.driver == "nic.example.com"')
        both = claim("mine", request("gpu"), request("nic", of="nic.example.com"))
        objects = [A, B, GPUS, nic, both, published("b", device("g0"))]
        assert cause(*objects) == (
            "needs 1 nic.example.com device for request nic of the claim mine, and no node that it "
            "may use has one"
        )


def test_extended_resources() -> None:
    gpus = device_class(DRIVER, resource="example.com/gpu")
    pod = claiming("p", requests={"example.com/gpu": "3"})
    objects = [A, gpus, published("a", device("g0"), device("g1"))]
    assert cause(*objects, pod=pod) == (
        f"needs 3 {DRIVER} devices for example.com/gpu, and the most on one node is 2 (a)"
    )


class TestAllocatedClaims:
    def test_elsewhere(self) -> None:
        status = allocated("b/g0", to=["x"], only_on="b")
        objects = [A, GPUS, claim("mine", status=status), published("b", device("g0"))]
        assert lines(*objects) == {"a": "uses the claim mine, whose devices can be used only on b"}

    def test_devices_that_have_failed(self) -> None:
        conditions: Json = {"bindingConditions": ["ok"], "bindingFailureConditions": ["bad"]}
        status = allocated("a/g0", to=["p"], **conditions)
        bad = {"type": "bad", "status": "True", "reason": "Broken", "message": "it burns"}
        place = {"driver": DRIVER, "pool": "a", "device": "g0"}
        status["devices"] = [{**place, "conditions": [bad]}]
        objects = [A, GPUS, claim("mine", status=status), published("a", device("g0"))]
        assert cause(*objects) == (
            "uses the claim mine, whose devices are not ready: device binding failed: claim=mine, "
            'reason=Broken, message="it burns"'
        )


class TestWhatIsNotThere:
    def test_a_claim(self) -> None:
        assert cause(A, GPUS) == "needs the claim mine, which does not exist"

    def test_a_claim_from_a_template(self) -> None:
        pod = claiming("p", templates=["big"])
        assert cause(A, GPUS, template("big"), pod=pod) == (
            "needs the claim from-big, which is not created yet from the template big"
        )
        assert cause(A, GPUS, pod=pod) == (
            "needs the claim from-big from the template big, which does not exist"
        )

    def test_a_class(self) -> None:
        assert cause(A, GPUS, claim("mine", request(of="gone"))) == (
            "needs devices of the class gone for the claim mine, and there is no such class (there "
            f"is {DRIVER})"
        )
        assert cause(A, claim("mine", request(of="gone"))).endswith("(there are none)")

    def test_a_claim_that_is_going(self) -> None:
        going = claim("mine")
        raw = {**going.raw, "metadata": {**going.raw["metadata"]}}
        raw["metadata"]["deletionTimestamp"] = "2026-11-19T00:00:00Z"
        assert cause(A, GPUS, type(going).from_dict(raw)) == (
            "needs the claim mine, which is being deleted"
        )
