"""What is short on nodes, as clauses about the pod.

Called by `details`; everything is read from shortages.
"""

from collections.abc import Sequence
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
                bool(way.others),
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
        return f"{needed}{_joint(shortage, ways[0], where)}"
    total = _total(ways)
    if not total:
        others = sum(way.others for way in ways)
        none = f"none of the {others} devices {where} is one"
        told = f"{needed}, and {none if others > 1 else 'no node that it may use has one'}"
    else:
        best = max(places, key=lambda one: len(one.shortage.ways[number].available))
        most = len(best.shortage.ways[number].available)
        can = f" can have {most} on one node ({best.node}):" if most else ""
        devices = f"of {total}" if total > 1 else "of the only one"
        told = f"{needed}, and{can} {devices} {where}, {_listed(_reasons(ways, alone=False))}"
    return f"{told}{_problems(ways)}"


def _row_text(pod: Pod, places: Sequence[ShortOn], number: int) -> str:
    """What is missing on one node, or on nodes that are alike."""
    shortage, ways = places[0].shortage, [one.shortage.ways[number] for one in places]
    way, alone = ways[0], len(places) == 1
    count, whose = way.request.count, _whose(pod, shortage, way)
    if all(one.enough for one in ways):
        where = "on the node" if alone else "here"
        return f"needs {_needed(way)} for {whose}{_joint(shortage, way, where)}"
    name = way.request.device_class.name
    if count is None:
        told = f"cannot have all {name} devices for {whose}"
    else:
        most = max(len(one.available) for one in ways)
        found = f"{most} of {count} {name} devices" if most else f"no {name} device"
        told = f"finds {found} for {whose}"
    total = _total(ways)
    if total:
        devices = "" if alone and total <= _NAMED else f"of {total}, "
        told = f"{told}: {devices}{_listed(_reasons(ways, alone=alone))}"
    elif not any(one.pools for one in ways):
        told = f"{told}: {'the node has none' if alone else 'the nodes have none'}"
    return f"{told}{_problems(ways)}"


def _total(ways: Sequence[SurveyedDevices]) -> int:
    return sum(len(way.refused) + len(way.available) for way in ways)


def _needed(way: SurveyedDevices) -> str:
    name, count = way.request.device_class.name, way.request.count
    return f"all {name} devices" if count is None else counted(count, f"{name} device")


def _whose(
    pod: Pod, shortage: Shortage, way: SurveyedDevices, *, template: bool = False
) -> str:
    shown = shown_claim(pod, shortage.claim, template=template)
    if shortage.claim.name == IN_MEMORY:
        return shown
    return of_request(shortage.claim, way.request.full_name, shown)


def _problems(ways: Sequence[SurveyedDevices]) -> str:
    problems = list(dict.fromkeys(text for way in ways for text in way.pools))
    more = f" and {len(problems) - _NAMED} more" if problems[_NAMED:] else ""
    return f"; {', '.join(problems[:_NAMED])}{more}" if problems else ""


def _joint(shortage: Shortage, way: SurveyedDevices, where: str) -> str:
    """Why devices that are free by themselves do not do together."""
    constraint = shortage.constraint
    if constraint is None:
        return f", and what it could have {where} is needed for another of its requests"
    attribute = constraint.match_attribute or constraint.distinct_attribute or ""
    same = "the same" if constraint.match_attribute is not None else "different"
    values = _values(way.available, attribute)
    alone = way.request.count == 1
    as_others = f" {'as' if same == 'the same' else 'from'} its other devices" if alone else ""
    return f" with {same} {attribute}{as_others}, and those that it could have {where} have {values}"


def _values(devices: Sequence[PooledDevice], attribute: str) -> str:
    numbers: dict[str, int] = {}
    for one in devices:
        value = one.attribute(attribute)
        if value is not None:
            text = value_text(value[1])
            numbers[text] = numbers.get(text, 0) + 1
    return _listed([f"{text} ({number})" for text, number in sorted(numbers.items())][:_REASONS])


def _reasons(ways: Sequence[SurveyedDevices], *, alone: bool) -> list[str]:
    groups: dict[tuple[Why, str], _Refused] = {}
    for one in (one for way in ways for one in way.refused):
        key = (one.why, one.what)
        groups.setdefault(key, _Refused(one.why, one.what, [])).refusals.append(one)
    ordered = sorted(groups.values(), key=lambda one: -len(one.refusals))
    return [_reason(group, alone=alone) for group in ordered[:_REASONS]]


def _reason(group: _Refused, *, alone: bool) -> str:
    number = len(group.refusals)
    names = sorted((one.device.device.name for one in group.refusals), key=natural_key)
    who = _listed(names) if alone and number <= _NAMED else str(number)
    one = number == 1
    values = dict.fromkeys(one.value for one in group.refusals if one.value)
    holders = dict.fromkeys(who.shown for one in group.refusals for who in one.holders)
    has = "has" if one else "have"
    by = f" ({_few(list(holders))})" if holders else ""
    told = f" ({_few(list(values))})" if values else ""
    match group.why:
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
            left = f" ({_few(list(values))} is left)" if values else ""
            return f"{who} {has} too little {group.what} left{left}{by}"
        case Why.COUNTERS:
            return f"{who} {has} too little of the counter {group.what} left{told}{by}"
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
