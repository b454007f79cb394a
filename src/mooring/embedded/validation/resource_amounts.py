"""Checks of amounts: requests and limits of containers, capacities of nodes and volumes.

What can be wrong with one amount does not depend on where it stands and is remembered, so the
amounts of an ordinary pod cost a few look-ups.
"""

# parity v1.36.4: core/validation/validation.go validateResourceRequirements and what it calls
import functools
from collections.abc import Collection, Mapping
from typing import Final, Literal

from mooring.embedded.resources import Obj
from mooring.embedded.status_errors import Cause
from mooring.embedded.validation import names
from mooring.embedded.validation.field_errors import (
    NOT_NEGATIVE,
    POSITIVE,
    ErrorList,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
    texts,
)
from mooring.errors import QuantityError
from mooring.model.quantity import parse_quantity

#: As JSON has it: a text, or the bare number that is allowed in its place.
Amount = str | int | float
Level = Literal["", "container", "pod"]

_CONTAINER: Final = frozenset(("cpu", "memory", "ephemeral-storage"))
_INTEGER: Final = frozenset(
    ("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
     "persistentvolumeclaims", "services.nodeports", "services.loadbalancers")
)  # fmt: skip
_STANDARD: Final = (
    _CONTAINER
    | _INTEGER
    | {"requests.cpu", "requests.memory", "requests.ephemeral-storage", "limits.cpu"}
    | {"limits.memory", "limits.ephemeral-storage", "storage", "requests.storage"}
)
_QUOTA: Final = _STANDARD - {"storage"}
_HUGE: Final = "hugepages-"


def is_native(name: str) -> bool:
    """Whether a resource is one of Kubernetes' own."""
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """Whether a resource is somebody else's, such as ``example.com/gpu``: whole numbers only."""
    return (
        not is_native(name)
        and not name.startswith("requests.")
        and not names.label_key(f"requests.{name}")
    )


def is_huge_pages(name: str) -> bool:
    """Whether a resource is memory in huge pages."""
    return name.startswith(_HUGE)


def _overcommit(name: str) -> bool:
    return is_native(name) and not is_huge_pages(name)


def is_quota_name(name: str) -> bool:
    """Whether a resource quota can limit this."""
    return name in _QUOTA or name.startswith((_HUGE, "requests.hugepages-"))


def nano(amount: Amount) -> int:
    """An amount in billionths."""
    return parse_quantity(amount).nano


@functools.lru_cache(maxsize=8192)
def _entry(name: str, amount: Amount, level: Level) -> tuple[Cause, ...]:
    """What is wrong with one amount; the causes have no field yet."""
    errors: ErrorList = []
    if level == "container":
        check_container_resource_name(name, "", errors)
    elif level == "pod":
        _check_pod_level_name(name, errors)
    _check_value(name, amount, errors)
    if level and is_huge_pages(name) and not _divisible(name, amount):
        text = f"{amount} is not positive integer multiple of {name}"
        errors.append(invalid("", str(amount), text))
    return tuple(errors)


def check_amount(
    name: str, amount: Amount, path: str, errors: ErrorList, level: Level = ""
) -> None:
    """Check one amount of a resource.

    Args:
        name: the resource.
        amount: how much of it.
        path: the field.
        errors: gets what is wrong.
        level: where it stands, for rules about the name; no such rules when empty.
    """
    for one in _entry(name, amount, level):
        errors.append(Cause(path, one.reason, one.message))


def check_resource_name(name: str, path: str, errors: ErrorList) -> None:
    """Check that a resource is a standard one or has a domain."""
    if problems := names.label_key(name):
        texts(errors, path, name, problems)
    elif "/" not in name and not (name in _STANDARD or is_quota_name(name)):
        text = "must be a standard resource type or fully qualified"
        errors.append(invalid(path, name, text))


def check_container_resource_name(name: str, path: str, errors: ErrorList) -> None:
    """Check that a container can ask for a resource of this name."""
    if name in _CONTAINER:
        return
    check_resource_name(name, path, errors)
    if "/" not in name:
        if not is_huge_pages(name):
            errors.append(invalid(path, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        errors.append(invalid(path, name, "doesn't follow extended resource name standard"))


def _check_pod_level_name(name: str, errors: ErrorList) -> None:
    before = len(errors)
    check_resource_name(name, "", errors)
    if len(errors) == before and name not in ("cpu", "memory") and not is_huge_pages(name):
        errors.append(not_supported("", name, ("cpu", "hugepages-", "memory")))


def _check_value(name: str, amount: Amount, errors: ErrorList) -> None:
    quantity = parse_quantity(amount)
    if quantity.nano < 0:
        errors.append(invalid("", str(amount), NOT_NEGATIVE))
    if (name in _INTEGER or is_extended(name)) and quantity.milli % 1000:
        errors.append(invalid("", str(amount), "must be an integer"))


def _divisible(name: str, amount: Amount) -> bool:
    try:
        page = parse_quantity(name.removeprefix(_HUGE))
    except QuantityError:
        return False
    if page.nano <= 0 or page.milli % 1000:
        return False
    return parse_quantity(amount).value % page.value == 0


def check_positive(amount: Amount, path: str, errors: ErrorList) -> bool:
    """Check that an amount is above zero; whether it is."""
    if nano(amount) > 0:
        return True
    errors.append(invalid(path, str(amount), POSITIVE))
    return False


def check_basic(amount: Amount, path: str, errors: ErrorList) -> None:
    """Check that an amount is not below zero, as for capacities of volumes."""
    value = parse_quantity(amount).value
    if value < 0:
        errors.append(invalid(path, value, "must be a valid resource quantity"))


def check_requirements(
    resources: Obj,
    path: str,
    errors: ErrorList,
    *,
    level: Level = "container",
    claims: Collection[str] = (),
) -> None:
    """Check requests and limits of a container or a pod.

    Args:
        resources: its ``resources``.
        path: the field they are in.
        errors: gets what is wrong.
        level: whose they are.
        claims: names of the pod's resource claims.
    """
    limits: Mapping[str, Amount] = resources.get("limits") or {}
    requests: Mapping[str, Amount] = resources.get("requests") or {}
    for name, amount in limits.items():
        if _entry(name, amount, level):
            check_amount(name, amount, f"{path}.limits[{name}]", errors, level)
    for name, amount in requests.items():
        limit = limits.get(name)
        if not _entry(name, amount, level) and (
            limit == amount
            or (_overcommit(name) and (limit is None or nano(amount) <= nano(limit)))
        ):
            continue
        _check_request(name, amount, limits, path, errors, level)
    _check_huge_pages_company(limits, requests, path, errors)
    if resources.get("claims"):
        _check_claims(resources["claims"], claims, f"{path}.claims", errors)


def _check_request(
    name: str,
    amount: Amount,
    limits: Mapping[str, Amount],
    path: str,
    errors: ErrorList,
    level: Level,
) -> None:
    of_amount = _entry(name, amount, level)
    huge = [one for one in of_amount if "integer multiple of" in one.message]
    field = f"{path}.requests[{name}]"
    errors += [Cause(field, one.reason, one.message) for one in of_amount if one not in huge]
    limit = limits.get(name)
    if limit is None:
        if not _overcommit(name):
            text = "Limit must be set for non overcommitable resources"
            errors.append(required(f"{path}.limits", text))
    elif nano(amount) != nano(limit) and not _overcommit(name):
        text = f"must be equal to {name} limit of {limit}"
        errors.append(invalid(f"{path}.requests", str(amount), text))
    elif nano(amount) > nano(limit):
        text = f"must be less than or equal to {name} limit of {limit}"
        errors.append(invalid(f"{path}.requests", str(amount), text))
    errors += [Cause(field, one.reason, one.message) for one in huge]


def _check_huge_pages_company(
    limits: Mapping[str, Amount], requests: Mapping[str, Amount], path: str, errors: ErrorList
) -> None:
    if "cpu" in requests or "memory" in requests or "cpu" in limits or "memory" in limits:
        return
    if any(map(is_huge_pages, limits)) or any(map(is_huge_pages, requests)):
        errors.append(forbidden(path, "HugePages require cpu or memory"))


def _check_claims(claims: list[Obj], known: Collection[str], path: str, errors: ErrorList) -> None:
    seen: set[str] = set()
    for number, one in enumerate(claims):
        at, name, request = f"{path}[{number}]", one.get("name", ""), one.get("request", "")
        if not name:
            errors.append(required(at))
            continue
        if name in seen:
            errors.append(duplicate(at, name))
        else:
            key = name
            if request:
                texts(errors, f"{at}.request", request, names.dns_label(request))
                key = f"{name}/{request}"
            if key in seen:
                errors.append(duplicate(at, key))
            elif not request:
                again = [each for each in seen if each.startswith(f"{name}/")]
                errors += [duplicate(at, name) for _ in again]
            seen.add(key)
        if name not in known:
            text = "must be one of the names in pod.spec.resourceClaims"
            text += f": {', '.join(sorted(known))}" if known else " which is empty"
            errors.append(not_found(at, name, text))
