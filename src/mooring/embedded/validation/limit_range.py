"""Checks of LimitRanges: bounds that contradict each other."""

# parity v1.36.4: core/validation/validation.go ValidateLimitRange
from collections.abc import Mapping
from typing import Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.field_errors import (
    ErrorList,
    duplicate,
    forbidden,
    invalid,
    required,
    texts,
)
from mooring.embedded.validation.object_meta import check_meta
from mooring.embedded.validation.resource_amounts import (
    Amount,
    check_container_resource_name,
    check_resource_name,
    nano,
)

_TYPES: Final = ("Pod", "Container", "PersistentVolumeClaim")
_BOUNDS: Final = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
# What may not be greater than what, the field that is blamed, the one whose amount is shown, and
# the words for both: in the order of the API server.
_ASCENDING: Final = (
    ("min", "max", "min", "min", "min", "max"),
    ("min", "defaultRequest", "defaultRequest", "defaultRequest", "min", "default request"),
    ("defaultRequest", "max", "defaultRequest", "defaultRequest", "default request", "max"),
    ("defaultRequest", "default", "defaultRequest", "defaultRequest", "default request",
     "default limit"),
    ("min", "default", "default", "min", "min", "default"),
    ("default", "max", "default", "max", "default", "max"),
)  # fmt: skip


def check_limit_range(obj: Obj, errors: ErrorList) -> None:
    """Check a LimitRange, new or changed."""
    check_meta(obj, names.subdomain, errors)
    seen: set[str] = set()
    for number, one in enumerate((obj.get("spec") or {}).get("limits") or ()):
        path, kind = f"spec.limits[{number}]", one.get("type", "")
        problems = names.label_key(kind)
        texts(errors, f"{path}.type", kind, problems)
        if not problems and "/" not in kind and kind not in _TYPES:
            text = "must be a standard limit type or fully qualified"
            errors.append(invalid(f"{path}.type", kind, text))
        if kind in seen:
            errors.append(duplicate(f"{path}.type", kind))
        seen.add(kind)
        _check_limits(one, kind, path, errors)


def _check_limits(one: Obj, kind: str, path: str, errors: ErrorList) -> None:
    amounts: dict[str, Mapping[str, Amount]] = {name: one.get(name) or {} for name in _BOUNDS}
    for name in ("max", "min", "default", "defaultRequest"):
        if kind == "Pod" and name.startswith("default"):
            if amounts[name]:
                text = "may not be specified when `type` is 'Pod'"
                errors.append(forbidden(f"{path}.{name}", text))
            amounts[name] = {}
        _check_names(amounts[name], kind, f"{path}.{name}", errors)
    no_storage = "storage" not in amounts["min"] and "storage" not in amounts["max"]
    if kind == "PersistentVolumeClaim" and no_storage:
        text = "either minimum or maximum storage value is required, but neither was provided"
        errors.append(required(f"{path}.limits", text))
    _check_names(amounts["maxLimitRequestRatio"], kind, f"{path}.maxLimitRequestRatio", errors)
    for resource in sorted({name for each in amounts.values() for name in each}):
        bounds = {name: amounts[name][resource] for name in _BOUNDS if resource in amounts[name]}
        _check_bounds(bounds, resource, path, errors)


def _check_names(amounts: Mapping[str, Amount], kind: str, path: str, errors: ErrorList) -> None:
    for name in amounts:
        if kind in ("Pod", "Container"):
            check_container_resource_name(name, f"{path}[{name}]", errors)
        else:
            check_resource_name(name, f"{path}[{name}]", errors)


def _check_bounds(
    bounds: Mapping[str, Amount], resource: str, path: str, errors: ErrorList
) -> None:
    """Check the bounds of one resource against each other."""
    for low, high, field, shown, low_word, high_word in _ASCENDING:
        if low in bounds and high in bounds and nano(bounds[low]) > nano(bounds[high]):
            text = (
                f"{low_word} value {bounds[low]} is greater than {high_word} value {bounds[high]}"
            )
            errors.append(invalid(f"{path}.{field}[{resource}]", str(bounds[shown]), text))
    ratio = bounds.get("maxLimitRequestRatio")
    if ratio is None:
        return
    at = f"{path}.maxLimitRequestRatio[{resource}]"
    if nano(ratio) < 10**9:
        errors.append(invalid(at, str(ratio), f"ratio {ratio} is less than 1"))
    if "min" in bounds and "max" in bounds and nano(bounds["min"]):
        highest = nano(bounds["max"]) / nano(bounds["min"])
        if nano(ratio) / 10**9 > highest:
            text = f"ratio {ratio} is greater than max/min = {highest:f}"
            errors.append(invalid(at, str(ratio), text))
