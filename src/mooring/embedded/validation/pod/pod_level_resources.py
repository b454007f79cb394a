"""Checks of amounts that are asked for a whole pod, against those of its containers."""

# parity v1.36.4: core/validation/validation.go validatePodResources,
# component-helpers/resource/helpers.go AggregateContainerRequests
from collections.abc import Collection, Mapping
from typing import Final, Literal

from mooring.embedded.resources import Obj
from mooring.embedded.validation.field_errors import ErrorList, forbidden, invalid
from mooring.embedded.validation.resource_amounts import (
    Amount,
    check_requirements,
    is_huge_pages,
    nano,
)
from mooring.model.quantity import Quantity


def check_pod_resources(
    spec: Obj, path: str, errors: ErrorList, *, claims: Collection[str]
) -> None:
    """Check the amounts of a pod; `path` is their field."""
    if (spec.get("os") or {}).get("name") == "windows":
        errors.append(forbidden(path, "may not be set for a windows pod"))
        return
    resources = spec["resources"]
    if resources.get("claims"):
        text = "claims may not be set for Resources at pod-level"
        errors.append(forbidden(f"{path}.claims", text))
    check_requirements(resources, path, errors, level="pod", claims=claims)
    requests: Mapping[str, Amount] = resources.get("requests") or {}
    limits: Mapping[str, Amount] = resources.get("limits") or {}
    for name, total in _aggregate(spec, "requests").items():
        if name in requests and total > nano(requests[name]):
            text = (
                "must be greater than or equal to aggregate container requests of "
                f"{_printed(total, requests[name])}"
            )
            errors.append(invalid(f"{path}.requests[{name}]", str(requests[name]), text))
    for name, total in _aggregate(spec, "limits").items():
        if is_huge_pages(name) and name in limits and total > nano(limits[name]):
            printed = _printed(total, limits[name])
            text = f"must be greater than or equal to aggregate container limits of {printed}"
            errors.append(invalid(f"{path}.limits[{name}]", str(limits[name]), text))
    for number, one in enumerate(spec.get("containers") or ()):
        for name, limit in ((one.get("resources") or {}).get("limits") or {}).items():
            if name in limits and nano(limit) > nano(limits[name]):
                text = f"must be less than or equal to pod limits of {limits[name]}"
                field = f"{path}.containers[{number}][{name}].limits"
                errors.append(invalid(field, str(limit), text))


def _printed(total: int, like: Amount) -> str:
    """A sum of amounts, in powers of two if the pod's own amount is written so."""
    value = total // 10**9
    if str(like).endswith("i") and value * 10**9 == total and value:
        for suffix, power in _POWERS:
            if value % power == 0:
                return f"{value // power}{suffix}"
        return str(value)
    return str(Quantity(total))


_POWERS: Final = tuple(
    (f"{one}i", 1024**at) for at, one in ((5, "P"), (4, "T"), (3, "G"), (2, "M"), (1, "K"))
)


def _aggregate(spec: Obj, kind: Literal["requests", "limits"]) -> dict[str, int]:
    """The amounts of all containers together, in billionths."""
    totals: dict[str, int] = {}
    for one in spec.get("containers") or ():
        _add(totals, _amounts(one, kind))
    sidecars: dict[str, int] = {}
    highest: dict[str, int] = {}
    for one in spec.get("initContainers") or ():
        amounts = _amounts(one, kind)
        if one.get("restartPolicy") == "Always":
            _add(totals, amounts)
            _add(sidecars, amounts)
            amounts = dict(sidecars)
        else:
            amounts = dict(amounts)
            _add(amounts, sidecars)
        for name, amount in amounts.items():
            highest[name] = max(highest.get(name, 0), amount)
    for name, amount in highest.items():
        totals[name] = max(totals.get(name, 0), amount)
    return totals


def _amounts(container: Obj, kind: str) -> dict[str, int]:
    amounts = (container.get("resources") or {}).get(kind) or {}
    return {name: nano(amount) for name, amount in amounts.items()}


def _add(totals: dict[str, int], more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        totals[name] = totals.get(name, 0) + amount
