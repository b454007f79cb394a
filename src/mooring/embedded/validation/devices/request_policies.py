"""Checks of request policies: how much of a device's capacity one request may take."""

# parity v1.36.4: pkg/apis/resource/validation/validation.go
from itertools import pairwise
from typing import Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation.field_errors import (
    ErrorList,
    duplicate,
    forbidden,
    invalid,
    required,
    too_many,
)
from mooring.embedded.validation.resource_amounts import Amount, nano

_VALUES_LIMIT: Final = 10
_NANO: Final = 1_000_000_000


def check_request_policy(policy: Obj, capacity: Amount, path: str, errors: ErrorList) -> None:
    """Check a policy of a device that several claims may share.

    Args:
        policy: the policy.
        capacity: how much there is.
        path: where the policy is.
        errors: gets what is wrong.
    """
    values, limits, default = (policy.get(key) for key in ("validValues", "validRange", "default"))
    if values and limits is not None:
        text = (
            'exactly one policy can be specified, cannot specify "validValues" and "validRange" '
            "at the same time"
        )
        errors.append(forbidden(path, text))
    elif values:
        if default is None:
            errors.append(required(f"{path}.default", "required when validValues is defined"))
        else:
            _check_values(values, default, capacity, f"{path}.validValues", errors)
    elif limits is not None:
        if default is None:
            errors.append(required(f"{path}.default", "required when validRange is defined"))
        else:
            _check_range(limits, default, capacity, f"{path}.validRange", errors)


def _check_values(
    values: list[Amount], default: Amount, capacity: Amount, path: str, errors: ErrorList
) -> None:
    for number, (one, following) in enumerate(pairwise(values), start=1):
        if nano(one) > nano(following):
            text = "values must be sorted in ascending order"
            errors.append(invalid(f"{path}[{number}]", str(following), text))
    found = False
    if len(values) > _VALUES_LIMIT:
        errors.append(too_many(path, len(values), _VALUES_LIMIT))
    else:
        for number, one in enumerate(values):
            if nano(one) > nano(capacity):
                text = f"option is larger than capacity value: {capacity}"
                errors.append(invalid(f"{path}[{number}]", str(one), text))
            found = found or nano(one) == nano(default)
        whole = [_whole(one) for one in values]
        for number, amount in enumerate(whole):
            if amount in whole[:number]:
                errors.append(duplicate(f"{path}[{number}]", str(amount)))
    if not found:
        text = "default value is not valid according to the requestPolicy"
        errors.append(invalid(path, str(default), text))


def _check_range(
    limits: Obj, default: Amount, capacity: Amount, path: str, errors: ErrorList
) -> None:
    least, most, step = limits.get("min"), limits.get("max"), limits.get("step")
    if least is None:
        errors.append(required(f"{path}.min", "required when validRange is defined"))
        return
    at = f"{path}.min"
    if nano(least) > nano(capacity):
        errors.append(invalid(at, str(least), f"min is larger than capacity value: {capacity}"))
    if nano(default) < nano(least):
        errors.append(invalid(at, str(default), f"default is less than min: {least}"))
    if most is not None:
        at = f"{path}.max"
        if nano(least) > nano(most):
            errors.append(invalid(at, str(least), f"min is larger than max: {most}"))
        if nano(most) > nano(capacity):
            errors.append(invalid(at, str(most), f"max is larger than capacity value: {capacity}"))
        if nano(default) > nano(most):
            errors.append(invalid(at, str(default), f"default is more than max: {most}"))
    if step is None:
        return
    at = f"{path}.step"
    if nano(least) + nano(step) > nano(capacity):
        added = (nano(least) + nano(step)) // _NANO
        text = f"one step {added} is larger than capacity value: {capacity}"
        errors.append(invalid(at, str(step), text))
    for value in (default, *(() if most is None else (most,))):
        if _whole(step) and (_whole(value) - _whole(least)) % _whole(step):
            text = f"value is not a multiple of a given step ({step}) from ({least})"
            errors.append(invalid(at, str(value), text))


def _whole(amount: Amount) -> int:
    """An amount rounded up to a whole number."""
    return -(-nano(amount) // _NANO)
