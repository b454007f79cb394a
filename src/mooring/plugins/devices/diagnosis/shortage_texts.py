"""What is short on nodes, as clauses about the pod.

Called by `details`; everything is read from shortages.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from mooring.framework.details.rejected_nodes import RejectedNodes
from mooring.model.pod import Pod
from mooring.plugins.devices.diagnosis.claim_names import of_request, shown_claim
from mooring.plugins.devices.diagnosis.device_survey import DeviceRejection, SurveyedDevices, Why
from mooring.plugins.devices.diagnosis.selector_parts import short, value_text
from mooring.plugins.devices.diagnosis.shortages import Shortage
from mooring.plugins.devices.pooled_device import PooledDevice
from mooring.wording import counted, natural_key

#: So many devices, values or holders are named.
_NAMED: Final = 2
#: How the value begins of what a class reads that wants another driver.
_DRIVER: Final = "driver "
#: How a clause about all devices begins, and one that says so of none of them.
_ALL: Final = "all"
_NONE: Final = "none of the"
#: So many reasons are told.
_REASONS: Final = 4


class ShortOn(NamedTuple):
    """A node and what is short there."""

    node: str
    shortage: Shortage


def kind_of(shortage: Shortage) -> object:
    """What two nodes have in common about which the same can be said."""
    return (
        shortage.place,
        id(shortage.constraint),
        shortage.together,
        tuple(
            (
                bool(way.available),
                bool(_close(way)),
                bool(way.pools),
                tuple(sorted({(one.why.value, one.what) for one in way.rejected})),
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
        others = _listed(_reasons(ways, _close, where=f"device {where}"))
        told = f"{needed}, and {others or 'no node that it may use has one'}"
    else:
        best = max(places, key=lambda one: len(one.shortage.ways[number].available))
        most = len(best.shortage.ways[number].available)
        can = f" can have {most} on one node ({best.node}):" if most else ""
        reasons = _reasons(ways, where=where)
        devices = f" of {total} {where}," if reasons and not _is_all(reasons) else ""
        told = f"{needed}, and{can}{devices} {_listed(reasons)}"
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
        few = (alone and total <= _NAMED) or _is_all(reasons)
        devices = "" if few else f"of {total}, "
        told = f"{told}: {devices}{_listed(reasons)}"
    elif total:
        told = f"{told}: {'the node has' if alone else 'the nodes have'} no more"
    elif not any(one.pools for one in ways):
        others = _listed(_reasons(ways, _close, named=alone))
        told = f"{told}: {others or ('the node has none' if alone else 'the nodes have none')}"
    return f"{told}{_problems(ways)}"


def _total(ways: Sequence[SurveyedDevices]) -> int:
    return sum(len(way.rejected) + len(way.available) for way in ways)


def _needed(way: SurveyedDevices) -> str:
    name, count = way.request.device_class.name, way.request.count
    return f"all {name} devices" if count is None else counted(count, f"{name} device")


def _whose(pod: Pod, shortage: Shortage, way: SurveyedDevices, *, template: bool = False) -> str:
    if shortage.resource:
        return shortage.resource
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


def _rejected(way: SurveyedDevices) -> Sequence[DeviceRejection]:
    return way.rejected


def _close(way: SurveyedDevices) -> Sequence[DeviceRejection]:
    """The devices that are not of the class, though not because of their driver."""
    return [one for one in way.others if not one.value.startswith(_DRIVER)]


def _reasons(
    ways: Sequence[SurveyedDevices],
    rejections: Callable[[SurveyedDevices], Sequence[DeviceRejection]] = _rejected,
    *,
    named: bool = False,
    where: str = "",
) -> list[str]:
    """Why devices are rejected, for most of them first.

    Args:
        ways: the devices, on each node.
        rejections: which of them are told about.
        named: a few devices have their names; else it is told how many they are.
        where: follows what is said of all devices.
    """
    found = [one for way in ways for one in rejections(way)]
    groups: dict[tuple[Why, str], list[DeviceRejection]] = {}
    for one in found:
        groups.setdefault((one.why, one.what), []).append(one)
    every = len(found) + sum(len(way.available) for way in ways)
    return [
        _reason(group, _who(group, every, where, named=named))
        for group in sorted(groups.values(), key=lambda one: -len(one))[:_REASONS]
    ]


class _Who(NamedTuple):
    """Devices as the subject of a clause: several, one, or none of them."""

    text: str
    one: bool
    none: bool = False

    def verb(self, several: str, one: str, none: str = "") -> str:
        """The subject and its verb; `none` is for "none of them", if it is the better way."""
        if self.none and none:
            return f"{self.text.replace(_ALL, _NONE, 1)} {none}"
        return f"{self.text} {one if self.one else several}"


def _who(group: Sequence[DeviceRejection], every: int, where: str, *, named: bool) -> _Who:
    number = len(group)
    place = f" {where}" if where else ""
    if named and number <= _NAMED:
        names = sorted((one.device.device.name for one in group), key=natural_key)
        return _Who(_listed(names), number == 1)
    if number == every == 1:
        what = place if where.startswith("device") else f" one{place}"
        return _Who(f"the only{what}", one=True)
    if number == every:
        what = f" devices{where.removeprefix('device')}" if where.startswith("device") else place
        return _Who(f"{_ALL} {number}{what}", one=False, none=True)
    return _Who(str(number), number == 1)


def _is_all(reasons: Sequence[str]) -> bool:
    """Whether one reason is told about all devices, or about the only one."""
    return bool(reasons) and reasons[0].startswith((_ALL, _NONE, "the only"))


def _reason(group: Sequence[DeviceRejection], who: _Who) -> str:
    what = group[0].what
    values = dict.fromkeys(one.value for one in group if one.value)
    holders = dict.fromkeys(one.shown for rejection in group for one in rejection.holders)
    beside = f" beside {_few(list(holders))}" if holders else ""
    told = f" ({_few(list(values))})" if values else ""
    has = who.verb("have", "has")
    match group[0].why:
        case Why.OTHER_CLASS:
            match = who.verb("do not match", "does not match", "matches")
            return f"{match} the selector of the class, {short(what)}{told}"
        case Why.SELECTOR:
            return f"{who.verb('do not match', 'does not match', 'matches')} {short(what)}{told}"
        case Why.FAILURE:
            return f"a selector fails for {who.text}: {what}"
        case Why.IN_USE:
            return f"{who.verb('are', 'is')} in use by {_few(list(holders)) or 'others'}"
        case Why.ATTRIBUTE:
            return f"{has} no {what}, which a constraint needs"
        case Why.CAPACITY:
            cannot = who.verb("cannot give", "cannot give")
            return f"{cannot} as much {what} as it needs{told}"
        case Why.SHARED:
            return f"{has} too little {what} left{told}{beside}"
        case Why.COUNTERS:
            return f"{has} too little of the counter {what} left{told}{beside}"
        case _:
            return f"{has} the taint {what}"


def _few(texts: Sequence[str]) -> str:
    if len(texts) <= _NAMED + 1:
        return _listed(texts)
    return f"{', '.join(texts[:_NAMED])} and {len(texts) - _NAMED} more"


def _listed(texts: Sequence[str]) -> str:
    if len(texts) <= 1:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} and {texts[-1]}"
