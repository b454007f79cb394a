"""Checks of conditions, which statuses of several kinds have."""

# parity v1.36.4: apimachinery/pkg/apis/meta/v1/validation/validation.go
from collections.abc import Sequence
from typing import Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.field_errors import (
    ErrorList,
    duplicate,
    invalid,
    not_supported,
    required,
    texts,
    too_long,
)

_STATUSES: Final = ("False", "True", "Unknown")
_REASON_LENGTH: Final = 1024
_MESSAGE_LENGTH: Final = 32 * 1024


def check_conditions(conditions: Sequence[Obj], path: str, errors: ErrorList) -> None:
    """Check conditions, of which each type may be there once."""
    seen: set[str] = set()
    for number, one in enumerate(conditions):
        at, kind = f"{path}[{number}]", one.get("type", "")
        if kind in seen:
            errors.append(duplicate(f"{at}.type", kind))
        seen.add(kind)
        _check_condition(one, at, errors)


def _check_condition(one: Obj, path: str, errors: ErrorList) -> None:
    kind, state, reason = one.get("type", ""), one.get("status", ""), one.get("reason", "")
    texts(errors, f"{path}.type", kind, names.label_key(kind))
    if state not in _STATUSES:
        errors.append(not_supported(f"{path}.status", state, _STATUSES))
    generation = one.get("observedGeneration", 0)
    if generation < 0:
        text = "must be greater than or equal to zero"
        errors.append(invalid(f"{path}.observedGeneration", generation, text))
    if one.get("lastTransitionTime") is None:
        errors.append(required(f"{path}.lastTransitionTime"))
    if not reason:
        errors.append(required(f"{path}.reason"))
    else:
        texts(errors, f"{path}.reason", reason, names.condition_reason(reason))
        if len(reason.encode()) > _REASON_LENGTH:
            errors.append(too_long(f"{path}.reason", _REASON_LENGTH))
    if len(one.get("message", "").encode()) > _MESSAGE_LENGTH:
        errors.append(too_long(f"{path}.message", _MESSAGE_LENGTH))
