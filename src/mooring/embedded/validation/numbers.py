"""Checks of numbers that may be percentages, and of counts in statuses."""

# parity v1.36.4: apps/validation/validation.go ValidatePositiveIntOrPercent
from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.field_errors import (
    NOT_NEGATIVE,
    ErrorList,
    invalid,
    not_negative,
    texts,
)
from mooring.embedded.validation.object_meta import check_meta_update

_NOT_MORE = "cannot be greater than status.replicas"


def check_int_or_percent(value: int | str, path: str, errors: ErrorList) -> None:
    """Check a number that is not negative, or a percentage."""
    if isinstance(value, str):
        texts(errors, path, value, names.percent(value))
    elif value < 0:
        errors.append(invalid(path, value, NOT_NEGATIVE))


def number_of(value: int | str) -> int:
    """The number, also of a percentage."""
    if not isinstance(value, str):
        return value
    digits = value.removesuffix("%")
    return int(digits) if digits.isascii() and digits.isdigit() else 0


def check_not_above_100(value: int | str, path: str, errors: ErrorList) -> None:
    """Check that a percentage is not above 100%."""
    if isinstance(value, str) and not names.percent(value) and number_of(value) > 100:
        errors.append(invalid(path, value, "must not be greater than 100%"))


class StatusCounts:
    """The check of a status that counts replicas.

    Args:
        fields: the counts, in the order in which they are checked.
        below: those that may not be above ``replicas``.
        ready: how the API server calls the count of ready replicas; empty when it is not compared.
        status_first: whether metadata are checked after the status.
    """

    def __init__(
        self,
        *fields: str,
        below: tuple[str, ...] = (),
        ready: str = "",
        status_first: bool = False,
    ) -> None:
        self._fields = fields
        self._below = below
        self._ready = ready
        self._status_first = status_first

    def __call__(self, obj: Obj, old: Obj, errors: ErrorList) -> None:
        """Check a change of the status."""
        if not self._status_first:
            check_meta_update(obj, old, errors)
        self._check(obj.get("status") or {}, errors)
        if self._status_first:
            check_meta_update(obj, old, errors)
        self._check_collisions(obj, old, errors)

    def _check(self, status: Obj, errors: ErrorList) -> None:
        not_negative(errors, status, "status", *self._fields)
        replicas = status.get("replicas", 0)
        for name in self._below:
            count = status.get(name, 0)
            if count > replicas:
                errors.append(invalid(f"status.{name}", count, _NOT_MORE))
        available = status.get("availableReplicas", 0)
        if self._ready and available > status.get("readyReplicas", 0):
            text = f"cannot be greater than {self._ready}"
            errors.append(invalid("status.availableReplicas", available, text))

    def _check_collisions(self, obj: Obj, old: Obj, errors: ErrorList) -> None:
        if "collisionCount" not in self._fields:
            return
        before = (old.get("status") or {}).get("collisionCount")
        now = (obj.get("status") or {}).get("collisionCount")
        if before is not None and (now is None or now < before):
            errors.append(invalid("status.collisionCount", now or 0, "cannot be decremented"))
