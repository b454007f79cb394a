"""What is short on nodes, as clauses about the pod.

Called by `details`; everything is read from shortages.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from mooring.framework.details.rejected_nodes import RejectedNodes
from mooring.model.pod import Pod
from mooring.plugins.devices.diagnosis.claim_names import of_request, shown_claim
from mooring.plugins.devices.diagnosis.device_survey import Refusal, SurveyedDevices, Why
from mooring.plugins.devices.diagnosis.selector_parts import short, value_text
from mooring.plugins.devices.diagnosis.shortages import Shortage
from mooring.plugins.devices.pod_devices import IN_MEMORY
from mooring.plugins.devices.pooled_device import PooledDevice
from mooring.wording import counted, natural_key

#: So many devices, values or holders are named.
_NAMED: Final = 2
#: How the value begins of what a class reads that wants another driver.
_DRIVER: Final = "driver "
#: So many reasons are told.
_REASONS: Final = 4


class ShortOn(NamedTuple):
    """A node and what is short there."""

    node: str
    shortage: Shortage


class _Refused(NamedTuple):
    """Devices that are refused for the same reason."""

    why: Why
    what: str
    refusals: list[Refusal]


def kind_of(shortage: Shortage) -> object:
    """What two nodes have in common about which the same can be said."""
    return (
        shortage.place,
        shortage.constraint,
        shortage.together,
        tuple(
            (
                bool(way.available),
                bool(_close(way)),
                bool(way.pools),
                tuple(sorted({(one.why.value, one.what) for one in way.refused})),
            )
            for way in shortage.ways
        ),
    )


def shortage_text(pod: Pod, places: Sequence[ShortOn], rejected: RejectedNodes) -> str:
    """What is short, as a clause about the pod.

    Args:
        pod: the pod.
        places: the nodes, with the same request that cannot be met.
        rejected: what is asked about.
    """
    text = _usable_text if rejected.usable else _row_text
    ways = range(len(places[0].shortage.ways))
    joint = "; or it " if rejected.usable else ", and it "
    return joint.join(text(pod, places, number) for number in ways)


def _usable_text(pod: Pod, places: Sequence[ShortOn], number: int) -> str:
    """What is needed and what there is, in full: the first thing that people read."""
    shortage, ways = places[0].shortage, [one.shortage.ways[number] for one in places]
    where = "on the nodes it may use"
    whose = _whose(pod, shortage, ways[0], template=True)
    needed = f"needs {_needed(ways[0])} for {whose}"
    if all(one.enough for one in ways):
        return _joint_text(shortage, ways[0], whose, where)
    total = _total(ways)
    if not total:
        others = _listed(_reasons(ways, _close, only=f"the only device {where}"))
        told = f"{needed}, and {others or 'no node that it may use has one'}"
    else:
        best = max(places, key=lambda one: len(one.shortage.ways[number].available))
        most = len(best.shortage.ways[number].available)
        can = f" can have {most} on one node ({best.node}):" if most else ""
        devices = f" of {total} {where}," if total > 1 else ""
        reasons = _listed(_reasons(ways, only=f"the only one {where}"))
        told = f"{needed}, and{can}{devices} {reasons}"
        if not reasons:
            told = f"{needed}, and the most on one node is {most} ({best.node})"
    return f"{told}{_problems(ways)}"


def _row_text(pod: Pod, places: Sequence[ShortOn], number: int) -> str:
    """What is missing on one node, or on nodes that are alike."""
    shortage, ways = places[0].shortage, [one.shortage.ways[number] for one in places]
    way, alone = ways[0], len(places) == 1
    count, whose = way.request.count, _whose(pod, shortage, way)
    if all(one.enough for one in ways):
        where = "on the node" if alone else "here"
        return _joint_text(shortage, way, whose, where)
    name = way.request.device_class.name
    if count is None:
        told = f"cannot have all {name} devices for {whose}"
    else:
        most = max(len(one.available) for one in ways)
        found = f"{most} of {count} {name} devices" if most else f"no {name} device"
        told = f"finds {found} for {whose}"
    reasons, total = _reasons(ways, named=alone), _total(ways)
    if reasons:
        devices = "" if alone and total <= _NAMED else f"of {total}, "
        told = f"{told}: {devices}{_listed(reasons)}"
    elif total:
        told = f"{told}: {'the node has' if alone else 'the nodes have'} no more"
    elif not any(one.pools for one in ways):
        others = _listed(_reasons(ways, _close, named=alone))
        told = f"{told}: {others or ('the node has none' if alone else 'the nodes have none')}"
    return f"{told}{_problems(ways)}"


def _total(ways: Sequence[SurveyedDevices]) -> int:
    return sum(len(way.refused) + len(way.available) for way in ways)


def _needed(way: SurveyedDevices) -> str:
    name, count = way.request.device_class.name, way.request.count
    return f"all {name} devices" if count is None else counted(count, f"{name} device")


def _whose(pod: Pod, shortage: Shortage, way: SurveyedDevices, *, template: bool = False) -> str:
    if shortage.claim.name == IN_MEMORY:
        names = way.request.device_class.extended_resources
        return _listed([one for one in names if pod.requests.get(one)])
    shown = shown_claim(pod, shortage.claim, template=template)
    return of_request(shortage.claim, way.request.full_name, shown)


def _problems(ways: Sequence[SurveyedDevices]) -> str:
    problems = list(dict.fromkeys(text for way in ways for text in way.pools))
    more = f" and {len(problems) - _NAMED} more" if problems[_NAMED:] else ""
    return f"; {', '.join(problems[:_NAMED])}{more}" if problems else ""


def _joint_text(shortage: Shortage, way: SurveyedDevices, whose: str, where: str) -> str:
    """Why devices that are free by themselves do not do together."""
    constraint, needed = shortage.constraint, _needed(way)
    if constraint is None:
        what = f"what it could have {where} is needed for another of its requests"
        return f"needs {needed} for {whose}, and {what}"
    attribute = constraint.match_attribute or constraint.distinct_attribute or ""
    same = constraint.match_attribute is not None
    alike = f"with {'the same' if same else 'a different'} {attribute}"
    if way.request.count == 1:
        alike += " as its other devices" if same else " from its other devices"
    values = _values(way.available, attribute)
    return f"needs {needed} {alike} for {whose}, and those that it could have {where} have {values}"


def _values(devices: Sequence[PooledDevice], attribute: str) -> str:
    """The values of an attribute, with how many devices have each if that is not one for all."""
    found = (one.attribute(attribute) for one in devices)
    numbers = Counter(value_text(value[1]) for value in found if value is not None)
    several = any(number > 1 for number in numbers.values()) and len(numbers) > 1
    texts = [
        f"{text} ({counted(number, 'device')})" if several else text
        for text, number in sorted(numbers.items(), key=lambda one: natural_key(one[0]))
    ]
    more = f", and {len(texts) - _REASONS} more" if texts[_REASONS:] else ""
    return f"{', '.join(texts[:_REASONS])}{more}" if more else _listed(texts)


def _refused(way: SurveyedDevices) -> Sequence[Refusal]:
    return way.refused


def _close(way: SurveyedDevices) -> Sequence[Refusal]:
    """The devices that are not of the class, though not because of their driver."""
    return [one for one in way.others if not one.value.startswith(_DRIVER)]


def _reasons(
    ways: Sequence[SurveyedDevices],
    refusals: Callable[[SurveyedDevices], Sequence[Refusal]] = _refused,
    *,
    named: bool = False,
    only: str = "",
) -> list[str]:
    """Why devices are refused, for most of them first.

    Args:
        ways: the devices, on each node.
        refusals: which of them are told about.
        named: devices have their names; else it is told how many they are.
        only: what to call a device if it is the only one.
    """
    found = [one for way in ways for one in refusals(way)]
    groups: dict[tuple[Why, str], _Refused] = {}
    for one in found:
        key = (one.why, one.what)
        groups.setdefault(key, _Refused(one.why, one.what, [])).refusals.append(one)
    ordered = sorted(groups.values(), key=lambda one: -len(one.refusals))
    alone = only if len(found) + sum(len(way.available) for way in ways) == 1 else ""
    return [_reason(group, alone, named=named) for group in ordered[:_REASONS]]


def _reason(group: _Refused, only: str, *, named: bool) -> str:
    number = len(group.refusals)
    names = sorted((one.device.device.name for one in group.refusals), key=natural_key)
    who = only or (_listed(names) if named and number <= _NAMED else str(number))
    one = number == 1
    values = dict.fromkeys(one.value for one in group.refusals if one.value)
    holders = dict.fromkeys(who.shown for one in group.refusals for who in one.holders)
    has = "has" if one else "have"
    beside = f" beside {_few(list(holders))}" if holders else ""
    told = f" ({_few(list(values))})" if values else ""
    match group.why:
        case Why.OTHER_CLASS:
            what = f"selector of the class, {short(group.what)}"
            return f"{who} {'does' if one else 'do'} not match the {what}{told}"
        case Why.SELECTOR:
            return f"{who} {'does' if one else 'do'} not match {short(group.what)}{told}"
        case Why.FAILURE:
            return f"a selector fails for {who}: {group.what}"
        case Why.IN_USE:
            return f"{who} {'is' if one else 'are'} in use by {_few(list(holders)) or 'others'}"
        case Why.ATTRIBUTE:
            return f"{who} {has} no {group.what}, which a constraint needs"
        case Why.CAPACITY:
            return f"{who} cannot give as much {group.what} as it needs{told}"
        case Why.SHARED:
            return f"{who} {has} too little {group.what} left{told}{beside}"
        case Why.COUNTERS:
            return f"{who} {has} too little of the counter {group.what} left{told}{beside}"
        case _:
            return f"{who} {has} the taint {group.what}"


def _few(texts: Sequence[str]) -> str:
    if len(texts) <= _NAMED + 1:
        return _listed(texts)
    return f"{', '.join(texts[:_NAMED])} and {len(texts) - _NAMED} more"


def _listed(texts: Sequence[str]) -> str:
    if len(texts) <= 1:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} and {texts[-1]}"
