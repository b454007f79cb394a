"""What would help a pod without devices; each suggestion is made real on a cluster built anew."""

import pytest

from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.pod import Pod
from mooring.testing import make_node
from tests.unit.explaining.suggested import suggest, texts
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

A, B = make_node("a"), make_node("b")
P = claiming("p", "mine")


def test_a_selector_that_rejects_devices() -> None:
    small = f"{attribute('size')} < 5"
    mine = claim("mine", request("gpu", small, f"{attribute('size')} > 0"))
    found = suggest([A, GPUS, mine, published("a", device("g0", size=9))], P)
    assert texts(found) == [
        f"drop the selector {small} from the claim mine",
        "remove the claim mine",
    ]
    assert found[0].nodes == ("a",)


def test_one_condition_of_a_selector() -> None:
    x, y = f'{attribute("model")} == "x"', attribute("rdma")
    mine = claim("mine", request("gpu", f"{x} && {y}"))
    slices = published("a", device("g0", model="x", rdma=False))
    [first, *_] = suggest([A, GPUS, mine, slices], P)
    assert first.combination.text == f"drop the condition {y} from the claim mine"
    [changed] = first.combination.remedies[0].created
    assert isinstance(changed, ResourceClaim)
    exactly = (changed.spec.devices.requests or [])[0].exactly
    assert exactly is not None
    assert [one.cel.expression for one in exactly.selectors or () if one.cel] == [x]


def test_a_selector_that_fails() -> None:
    mine = claim("mine", request("gpu", attribute("rdma")))
    found = suggest([A, GPUS, mine, published("a", device("g0"))], P)
    assert texts(found)[0] == f"drop the selector {attribute('rdma')} from the claim mine"


def test_a_taint_of_a_device() -> None:
    tainted = {**device("g0"), "taints": [{"key": "ecc", "effect": "NoSchedule"}]}
    found = suggest([A, GPUS, claim("mine"), published("a", tainted)], P)
    assert texts(found)[0] == "tolerate the device taint ecc:NoSchedule in the claim mine"
    assert found[0].combination.caution == "first find out why the device is tainted"


def test_fewer_devices() -> None:
    objects = [A, GPUS, published("a", device("g0"), device("g1"))]
    found = suggest([*objects, claim("mine", request(count=4))], P)
    assert texts(found)[0] == "ask for 2 devices less (2 instead of 4) in the claim mine"
    other = claim("other", status=allocated("a/g0"))
    found = suggest([*objects, other, claim("mine", request(allocationMode="All"))], P)
    assert texts(found) == [
        "ask for 1 device instead of all in the claim mine",
        "delete the claim default/other, which no pod uses and which uses g0",
        "remove the claim mine",
    ]


def test_less_of_an_extended_resource() -> None:
    gpus = device_class(DRIVER, resource="example.com/gpu")
    pod = claiming("p", requests={"example.com/gpu": "3"})
    found = suggest([A, gpus, published("a", device("g0"))], pod)
    assert texts(found) == ["request 2 less example.com/gpu (1 instead of 3)"]


def test_less_of_a_capacity() -> None:
    shared = {**device("g0", "40Gi"), "allowMultipleAllocations": True}
    status = allocated("a/g0", shareID="s", consumedCapacity={"memory": "30Gi"})
    mine = claim("mine", request(capacity={"requests": {"memory": "20Gi"}}))
    objects = [A, GPUS, mine, claim("other", status=status), published("a", shared)]
    assert texts(suggest(objects, P))[:2] == [
        "delete the claim default/other, which no pod uses and which shares g0",
        "ask for 10Gi instead of 20Gi of memory in the claim mine",
    ]


def test_another_class() -> None:
    big = device_class("big", f"{attribute('size')} > 5")
    small = device_class("small", f"{attribute('size')} <= 5")
    slices = published("a", device("g0", size=3))
    found = suggest([A, big, small, claim("mine", request(of="big")), slices], P)
    assert texts(found)[0] == "ask for the device class small instead of big in the claim mine"
    mine = claim("mine", request("gpu", f"{attribute('size')} > 7", of="big"))
    found = suggest([A, big, small, mine, slices], P)
    assert texts(found)[0] == (
        "ask for the device class small instead of big, without its selector, in the claim mine"
    )


def test_a_constraint() -> None:
    numa = {"matchAttribute": f"{DRIVER}/numa"}
    objects = [
        A, GPUS, claim("mine", request(count=2), constraints=[numa]),
        published("a", device("g0", numa=0), device("g1", numa=1)),
    ]  # fmt: skip
    assert texts(suggest(objects, P)) == [
        f"drop the constraint matchAttribute {DRIVER}/numa from the claim mine",
        "ask for 1 device less (1 instead of 2) in the claim mine",
        "remove the claim mine",
    ]


class TestDevicesOfOthers:
    def test_a_pod_gives_back_all_that_it_has(self) -> None:
        objects = [
            A, GPUS, claim("mine", request(count=2)), published("a", device("g0"), device("g1")),
            claim("x", status=allocated("a/g0", to=["train"])),
            claim("y", status=allocated("a/g1", to=["train"])),
            claiming("train", "x", "y", node="a"),
        ]  # fmt: skip
        found = suggest(objects, P)
        assert "remove default/train, which uses g0, from a" in texts(found)

    def test_a_claim_of_a_pod_that_is_gone(self) -> None:
        objects = [
            A, GPUS, claim("mine"), published("a", device("g0")),
            claim("x", status=allocated("a/g0", to=["gone"])),
        ]  # fmt: skip
        assert texts(suggest(objects, P))[0] == (
            "delete the claim default/x, whose pod default/gone is gone and which uses g0"
        )

    def test_partitions_beside_it(self) -> None:
        def part(name: str, size: str) -> dict[str, object]:
            counters = {"counterSet": "g", "counters": {"memory": {"value": size}}}
            return {**device(name, kind=name), "consumesCounters": [counters]}

        memory = {"name": "g", "counters": {"memory": {"value": "40Gi"}}}
        objects = [
            A, GPUS, claim("mine", request("gpu", f'{attribute("kind")} == "whole"')),
            claim("x", status=allocated("a/small", to=["train"])), claiming("train", "x", node="a"),
            published("a", part("whole", "40Gi"), part("small", "10Gi"), slices=2),
            published("a", slices=2, name="counters", sharedCounters=[memory]),
        ]  # fmt: skip
        assert "remove default/train, which takes up counters of whole, from a" in texts(
            suggest(objects, P)
        )

    @pytest.mark.parametrize("kind", ["DaemonSet", "several", "critical"])
    def test_who_comes_back_or_is_not_alone_keeps_his_devices(self, kind: str) -> None:
        users = ["train", "other"] if kind == "several" else ["train"]
        given = claiming("train", "x", node="a").raw
        if kind == "DaemonSet":
            given["metadata"]["ownerReferences"] = [{"kind": kind, "name": "x", "uid": "u"}]
        elif kind == "critical":
            given["spec"]["priority"] = 2_000_000_000
        objects = [
            A, GPUS, claim("mine"), published("a", device("g0")),
            claim("x", status=allocated("a/g0", to=users)),
            Pod.from_dict(given), claiming("other", "x", node="a"),
        ]  # fmt: skip
        assert texts(suggest(objects, P)) == [
            "remove the claim mine",
            "add one more node like a (8 cpu, 32Gi memory and 1 device)",
        ]


class TestAllocatedClaims:
    STATUS = allocated("b/g0", to=["x"], only_on="b")

    def test_a_claim_of_its_own(self) -> None:
        objects = [
            A, make_node("b", cpu="1"), GPUS, claim("mine", status=self.STATUS),
            published("a", device("g0")), published("b", device("g0")),
            claiming("x", "mine", node="b", requests={"cpu": "1"}),
        ]  # fmt: skip
        pod = claiming("p", "mine", requests={"cpu": "1"})
        assert texts(suggest(objects, pod))[0] == (
            "use a claim of its own instead of mine, which other pods use elsewhere"
        )

    def test_a_claim_that_nobody_else_uses(self) -> None:
        status = {**self.STATUS, "reservedFor": []}
        objects = [A, GPUS, claim("mine", status=status), published("a", device("g0"))]
        assert texts(suggest(objects, P))[0] == (
            "deallocate the claim mine, which no other pod uses"
        )


class TestWhatIsNotThere:
    def test_claims_from_templates(self) -> None:
        pod = claiming("p", templates=["x", "y"])
        objects = [A, GPUS, template("x"), template("y"), published("a", device("0"), device("1"))]
        found = suggest(objects, pod)[0]
        assert found.combination.text == (
            "create the claim from-x from the template x and the claim from-y from the template y, "
            "as the resource claim controller does"
        )
        assert found.combination.cost == 1

    def test_a_claim(self) -> None:
        found = suggest([A, GPUS, published("a", device("g0"))], P)
        assert texts(found) == [
            f"create the claim mine for a device of the class {DRIVER}",
            "remove the claim mine",
        ]

    def test_a_template(self) -> None:
        found = suggest([A, GPUS, published("a", device("g0"))], claiming("p", templates=["big"]))
        assert texts(found) == [
            f"create the claim template big for a device of the class {DRIVER}",
            "remove the claim from-big",
        ]

    def test_a_class(self) -> None:
        objects = [A, GPUS, claim("mine", request(of="gone")), published("a", device("g0"))]
        assert texts(suggest(objects, P)) == [
            f"ask for the device class {DRIVER} instead of gone in the claim mine",
            "remove the claim mine",
        ]


def test_two_changes_together() -> None:
    tainted = {**device("g0", size=9), "taints": [{"key": "ecc", "effect": "NoSchedule"}]}
    small = f"{attribute('size')} < 5"
    objects = [A, GPUS, claim("mine", request("gpu", small)), published("a", tainted)]
    [both, *_] = suggest(objects, P)
    assert both.combination.text == (
        f"drop the selector {small} from the claim mine and tolerate the device taint "
        "ecc:NoSchedule in the claim mine"
    )


def test_one_of_several_requests() -> None:
    objects = [A, GPUS, claim("mine", request("one"), request("two")), published("a", device("g"))]
    found = suggest(objects, P)
    assert texts(found) == ["drop the request two from the claim mine", "remove the claim mine"]
    caution = "the pod then runs without its devices"
    assert [one.combination.caution for one in found] == [caution, caution]


def test_a_template_is_changed_instead_of_what_was_made_from_it() -> None:
    raw = claiming("p", templates=["big"]).raw
    raw["status"] = {"resourceClaimStatuses": [{"name": "from-big", "resourceClaimName": "p-x7"}]}
    made = claim("p-x7", request(count=2)).raw
    owner: Json = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-default-p"}
    owner["controller"] = True
    made["metadata"]["ownerReferences"] = [owner]
    objects = [A, GPUS, ResourceClaim.from_dict(made), published("a", device("g0"))]
    assert texts(suggest(objects, Pod.from_dict(raw))) == [
        "ask for 1 device less (1 instead of 2) in the claim template big",
        "remove the claim from-big",
    ]


def test_a_claim_that_is_left_from_an_earlier_attempt() -> None:
    gpus = device_class(DRIVER, resource="example.com/gpu")
    raw = claim("p-extended-resources-x7").raw
    owner: Json = {"kind": "Pod", "name": "p", "uid": "uid-default-p", "controller": True}
    raw["metadata"]["ownerReferences"] = [owner]
    raw["metadata"]["annotations"] = {"resource.kubernetes.io/extended-resource-claim": "true"}
    pod = claiming("p", requests={"example.com/gpu": "1"})
    objects = [A, gpus, ResourceClaim.from_dict(raw), published("a", device("g0"))]
    assert texts(suggest(objects, pod)) == [
        "delete the claim p-extended-resources-x7 of an earlier attempt, as the scheduler does"
    ]


def test_of_two_names_for_the_same_class_the_one_that_is_short() -> None:
    gpus = device_class(DRIVER, resource="example.com/gpu")
    implicit = f"deviceclass.resource.kubernetes.io/{DRIVER}"
    pod = claiming("p", requests={"example.com/gpu": "2", implicit: "1"})
    found = suggest([A, gpus, published("a", device("g0"), device("g1"))], pod)
    assert texts(found) == ["request 1 less example.com/gpu (1 instead of 2)"]


def test_one_more_node_has_devices_like_the_one_that_is_there() -> None:
    objects = [
        make_node("cpu"), A, GPUS, claim("mine"), published("a", device("g0"), device("g1")),
        claim("x", status=allocated("a/g0", "a/g1", to=["one", "two"])),
        claiming("one", "x", node="a"), claiming("two", "x", node="a"),
    ]  # fmt: skip
    found = suggest(objects, P)
    assert texts(found) == [
        "remove the claim mine",
        "add one more node like a (8 cpu, 32Gi memory and 2 devices)",
    ]
    assert found[1].nodes == ("a-new",)
