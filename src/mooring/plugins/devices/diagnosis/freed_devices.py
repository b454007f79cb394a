"""Devices that others could give back: pods that use them, and claims that nobody uses.

Called by `request_remedies`.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from mooring.framework.remedies.remedy import Cost, Remedy, RemedyCase
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.pod import Pod
from mooring.plugins.devices.claim_tracker import ClaimTracker
from mooring.plugins.devices.diagnosis.changed_claims import freed
from mooring.plugins.devices.diagnosis.device_holders import DeviceHolders, Holder
from mooring.plugins.devices.diagnosis.device_survey import SurveyedDevices, Why
from mooring.plugins.pod_changes import stays_away

#: So many holders are proposed, the least important first.
_TRIED: Final = 3
#: What a claim does with a device that it keeps from others; it uses the device if nothing else.
_VERBS: Final = {Why.SHARED: "shares", Why.COUNTERS: "takes up counters of"}


def freeing_remedies(
    case: RemedyCase, way: SurveyedDevices, tracker: ClaimTracker
) -> Iterator[Remedy]:
    """Take a pod off its node that has a device, or delete a claim that no pod uses."""
    devices: dict[Holder, list[str]] = {}
    verbs: dict[Holder, str] = {}
    for rejection in way.rejected:
        for holder in rejection.holders:
            devices.setdefault(holder, []).append(rejection.device.device.name)
            verbs.setdefault(holder, _VERBS.get(rejection.why, "uses"))
    known = DeviceHolders(tracker)
    remedies: list[tuple[int, str, Remedy]] = []
    for holder, names in devices.items():
        told = f"{verbs[holder]} {_named(names)}"
        pods = [_pod(case, one) for one in holder.pods]
        alive = [one for one in pods if one is not None]
        if not alive:
            remedies.append((0, holder.claim, _unused(holder, told, tracker)))
        elif len(holder.pods) == 1 and stays_away(alive[0]) and alive[0].uid != case.pod.uid:
            claims = _claims(known.used_by(holder.pods), tracker)
            remedies.append((alive[0].priority, holder.claim, _take_off(alive[0], told, claims)))
    remedies.sort(key=lambda one: one[:2])
    yield from (remedy for _, _, remedy in remedies[:_TRIED])


def _pod(case: RemedyCase, key: str) -> Pod | None:
    namespace, _, name = key.partition("/")
    found = case.cluster.pod(namespace, name)
    return None if found is None or found.finished else found


def _claims(keys: Sequence[str], tracker: ClaimTracker) -> list[ResourceClaim]:
    found = (tracker.catalog.get(ResourceClaim, key) for key in keys)
    return [one for one in found if one is not None]


def _unused(holder: Holder, told: str, tracker: ClaimTracker) -> Remedy:
    why = "which no pod uses" if not holder.pods else f"whose pod {holder.pods[0]} is gone"
    return Remedy(
        f"delete the claim {holder.claim}, {why} and which {told}",
        Cost.GIVE_UP_CONDITION,
        frozenset({"unused claim"}),
        created=tuple(map(freed, _claims([holder.claim], tracker))),
    )


def _take_off(pod: Pod, told: str, claims: Sequence[ResourceClaim]) -> Remedy:
    where = f", from {pod.node_name}" if pod.node_name else ""
    return Remedy(
        f"remove {pod.key}, which {told}{where}",
        Cost.MOVE_POD,
        frozenset({"move"}),
        moved=pod.key if pod.node_name else "",
        created=tuple(map(freed, claims)),
    )


def _named(devices: Sequence[str]) -> str:
    names = list(dict.fromkeys(devices))
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
