"""What the API server works out about slices of devices and the status of claims."""

from typing import Any

from mooring.embedded.resources import RESOURCE_CLAIMS, RESOURCE_SLICES, Obj
from tests.unit.embedded.admission.test_strategy import LATER, NOW, created, updated

DEVICE = {"driver": "a", "pool": "p", "device": "d"}
TAINT = {"key": "k", "effect": "NoSchedule"}


def allocated(*devices: Obj) -> Obj:
    return {"devices": {"results": [{"request": "r", **one} for one in devices]}}


def slice_of(**device: Any) -> Obj:
    pool = {"name": "p", "resourceSliceCount": 1}
    return {"driver": "a", "nodeName": "n", "pool": pool, "devices": [{"name": "d", **device}]}


def test_what_drivers_say_of_devices_goes_with_the_allocation() -> None:
    claim = created(RESOURCE_CLAIMS, spec={"devices": {}}, status={"allocation": allocated()})
    assert claim["status"] == {}
    other = {**DEVICE, "device": "other"}
    full = {"allocation": allocated(DEVICE, other), "devices": [DEVICE, other]}
    claim = updated(RESOURCE_CLAIMS, claim, "status", status=full)
    assert claim["status"]["devices"] == [DEVICE, other]
    less = {"allocation": allocated(other), "devices": [DEVICE, other]}
    assert updated(RESOURCE_CLAIMS, claim, "status", status=less)["status"]["devices"] == [other]
    none = updated(RESOURCE_CLAIMS, claim, "status", status={"devices": [DEVICE, other]})
    assert "devices" not in none["status"]


def test_shares_of_a_device_are_told_apart() -> None:
    first, second = ({**DEVICE, "shareID": share} for share in "ab")
    claim = created(RESOURCE_CLAIMS, spec={"devices": {}})
    full = {"allocation": allocated(first, second), "devices": [first, second]}
    claim = updated(RESOURCE_CLAIMS, claim, "status", status=full)
    less = {"allocation": allocated(second), "devices": [first, second]}
    assert updated(RESOURCE_CLAIMS, claim, "status", status=less)["status"]["devices"] == [second]


def test_a_taint_knows_when_it_was_added() -> None:
    found = created(RESOURCE_SLICES, spec=slice_of(taints=[TAINT]))
    assert found["spec"]["devices"][0]["taints"] == [{**TAINT, "timeAdded": NOW}]
    assert found["metadata"]["generation"] == 1
    more = slice_of(taints=[{**TAINT, "timeAdded": NOW}, {**TAINT, "key": "l"}])
    changed = updated(RESOURCE_SLICES, found, spec=more)
    times = [one["timeAdded"] for one in changed["spec"]["devices"][0]["taints"]]
    assert times == [NOW, LATER]
    assert changed["metadata"]["generation"] == 2


def test_fields_of_closed_gates_are_dropped() -> None:
    device = {
        "attributes": {"a": {"strings": ["x"]}, "b": {"int": 1}},
        "nodeAllocatableResourceMappings": {"cpu": {"capacityKey": "c"}},
    }
    found = created(RESOURCE_SLICES, spec=slice_of(**device))
    assert found["spec"]["devices"] == [{"name": "d", "attributes": {"a": {}, "b": {"int": 1}}}]
