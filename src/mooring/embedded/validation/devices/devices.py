"""Checks of the devices that a ResourceSlice publishes."""

# parity v1.36.4: pkg/apis/resource/validation/validation.go
import re
from functools import partial
from typing import Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.devices.claim_specs import EFFECTS
from mooring.embedded.validation.devices.device_names import (
    check_label,
    check_list,
    check_map,
    check_qualified_name,
    check_set,
)
from mooring.embedded.validation.devices.request_policies import check_request_policy
from mooring.embedded.validation.field_errors import (
    ErrorList,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    texts,
    too_long,
    too_many,
)
from mooring.embedded.validation.pod.pod_scheduling import check_node_selector

_ATTRIBUTES_LIMIT: Final = 32
_VALUE_LENGTH: Final = 64
_TAINTS_LIMIT: Final = 16
_CONSUMPTIONS_LIMIT: Final = 2
COUNTERS_LIMIT: Final = 32
_CONDITIONS_LIMIT: Final = 4
_VALUES: Final = ("bool", "int", "string", "version")
_ONE_PLACE: Final = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when "
    "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
)
_NO_PLACE: Final = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set "
    "to true in the ResourceSlice spec"
)
_NUMBER: Final = r"(0|[1-9]\d*)"
_PRE_RELEASE: Final = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_semver: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRE_RELEASE}(\.{_PRE_RELEASE})*)?"
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
).fullmatch


def check_device(device: Obj, path: str, errors: ErrorList, *, per_device: bool) -> None:
    """Check one device.

    Args:
        device: the device.
        path: where it is.
        errors: gets what is wrong.
        per_device: whether each device of the slice says for which nodes it is.
    """
    check_label(device.get("name", ""), f"{path}.name", errors)
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    number = len(attributes) + len(capacity)
    if number > _ATTRIBUTES_LIMIT:
        text = f"the total number of attributes and capacities must not exceed {_ATTRIBUTES_LIMIT}"
        errors.append(invalid(path, number, text))
    check_map(attributes, check_qualified_name, _check_attribute, f"{path}.attributes", errors)
    shared = bool(device.get("allowMultipleAllocations"))
    check_map(
        capacity,
        check_qualified_name,
        partial(_check_capacity, shared=shared),
        f"{path}.capacity",
        errors,
    )
    taints = device.get("taints") or ()
    check_list(taints, _TAINTS_LIMIT, _check_taint, f"{path}.taints", errors)
    check_set(
        device.get("consumesCounters") or (),
        _CONSUMPTIONS_LIMIT,
        _check_consumption,
        f"{path}.consumesCounters",
        errors,
        key=lambda one: one.get("counterSet", ""),
    )
    if per_device:
        _check_place(device, path, errors)
    elif any(device.get(one) is not None for one in ("nodeName", "nodeSelector", "allNodes")):
        errors.append(invalid(path, None, _NO_PLACE))
    check_binding_conditions(device, path, errors)


def check_counters(holder: Obj, path: str, errors: ErrorList) -> None:
    """Check the counters of a set, or what a device consumes of them."""
    counters = holder.get("counters") or {}
    if not counters:
        errors.append(required(f"{path}.counters"))
    elif len(counters) > COUNTERS_LIMIT:
        errors.append(too_many(f"{path}.counters", len(counters), COUNTERS_LIMIT))
    else:
        for name in counters:
            check_label(name, f"{path}.counters", errors)


def check_counter_set_name(name: str, path: str, errors: ErrorList) -> None:
    """Check the name of a set of counters."""
    if not name:
        errors.append(required(path))
    else:
        check_label(name, path, errors)


def check_binding_conditions(holder: Obj, path: str, errors: ErrorList) -> None:
    """Check which conditions a driver sets before a pod may be bound to a device."""
    good = holder.get("bindingConditions") or []
    bad = holder.get("bindingFailureConditions") or []
    for name, conditions in (("bindingConditions", good), ("bindingFailureConditions", bad)):
        check_list(conditions, _CONDITIONS_LIMIT, _check_label_key, f"{path}.{name}", errors)
    for number, one in enumerate(good):
        if one in good[:number]:
            errors.append(duplicate(f"{path}.bindingConditions[{number}]", one))
    for number, one in enumerate(bad):
        at = f"{path}.bindingFailureConditions[{number}]"
        if one in bad[:number]:
            errors.append(duplicate(at, one))
        if one in good:
            text = "bindingFailureConditions must not overlap with bindingConditions"
            errors.append(invalid(at, one, text))
    if bad and not good:
        text = "bindingConditions are required to use bindingFailureConditions"
        errors.append(invalid(f"{path}.bindingConditions", None, text))
    if good and not bad:
        text = "bindingFailureConditions are required to use bindingConditions"
        errors.append(invalid(f"{path}.bindingFailureConditions", None, text))


def _check_label_key(text: str, path: str, errors: ErrorList) -> None:
    texts(errors, path, text, names.label_key(text))


def _check_attribute(attribute: Obj, path: str, errors: ErrorList) -> None:
    for name in ("string", "version"):
        value = attribute.get(name)
        if value is None:
            continue
        if name == "version" and not _semver(value):
            text = "must be a string compatible with semver.org spec 2.0.0"
            errors.append(invalid(f"{path}.version", value, text))
        if len(value.encode()) > _VALUE_LENGTH:
            errors.append(too_long(f"{path}.{name}", _VALUE_LENGTH))
    number = sum(attribute.get(name) is not None for name in _VALUES)
    if number != 1:
        value = "" if number == 0 else _printed_attribute(attribute)
        errors.append(invalid(path, value, "exactly one value must be specified"))


def _printed_attribute(attribute: Obj) -> Obj:
    go = {"int": "IntValue", "bool": "BoolValue", "string": "StringValue"}
    go["version"] = "VersionValue"
    lists = ("IntValues", "BoolValues", "StringValues", "VersionValues")
    return {new: attribute.get(name) for name, new in go.items()} | dict.fromkeys(lists)


def _check_capacity(capacity: Obj, path: str, errors: ErrorList, *, shared: bool) -> None:
    policy = capacity.get("requestPolicy")
    if policy is None:
        return
    if shared:
        value = capacity.get("value", "0")
        check_request_policy(policy, value, f"{path}.requestPolicy", errors)
    else:
        text = "allowMultipleAllocations must be true"
        errors.append(forbidden(f"{path}.requestPolicy", text))


def _check_taint(taint: Obj, path: str, errors: ErrorList) -> None:
    key, value, effect = (taint.get(name, "") for name in ("key", "value", "effect"))
    _check_label_key(key, f"{path}.key", errors)
    if value:
        texts(errors, f"{path}.value", value, names.label_value(value))
    if not effect:
        errors.append(required(f"{path}.effect"))
    elif effect not in EFFECTS:
        errors.append(not_supported(f"{path}.effect", effect, EFFECTS))


def _check_consumption(consumption: Obj, path: str, errors: ErrorList) -> None:
    check_counter_set_name(consumption.get("counterSet", ""), f"{path}.counterSet", errors)
    check_counters(consumption, path, errors)


def _check_place(device: Obj, path: str, errors: ErrorList) -> None:
    given: list[str] = []
    node, selector, everywhere = (
        device.get(name) for name in ("nodeName", "nodeSelector", "allNodes")
    )
    if node == "":
        errors.append(invalid(f"{path}.nodeName", node, "must not be empty"))
    elif node is not None:
        given.append("`nodeName`")
        texts(errors, f"{path}.nodeName", node, names.subdomain(node))
    if selector is not None:
        given.append("`nodeSelector`")
        check_node_selector(selector, f"{path}.nodeSelector", errors)
    if everywhere:
        given.append("`allNodes`")
    elif everywhere is not None:
        text = "must be either unset or set to true"
        errors.append(invalid(f"{path}.allNodes", everywhere, text))
    if not given:
        errors.append(required(path, _ONE_PLACE))
    elif len(given) > 1:
        errors.append(invalid(path, f"{{{', '.join(given)}}}", _ONE_PLACE))
