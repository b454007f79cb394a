"""Makes causes: what is wrong with a field, in the words of apimachinery's field.Error.

Called by all validation, and only when something is wrong, so nothing here needs to be fast.
"""

# parity v1.36.4: apimachinery/pkg/util/validation/field/errors.go
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from mooring.embedded.resources import Obj
from mooring.embedded.status_errors import (
    DUPLICATE,
    FORBIDDEN,
    INVALID,
    NOT_FOUND,
    NOT_SUPPORTED,
    REQUIRED,
    TOO_LONG,
    TOO_MANY,
    Cause,
)

#: What has been found so far; functions that check something append to it.
ErrorList = list[Cause]

IMMUTABLE: Final = "field is immutable"
NOT_NEGATIVE: Final = "must be greater than or equal to 0"
POSITIVE: Final = "must be greater than zero"

_ESCAPES: Final = {
    "\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\a": "\\a", "\b": "\\b",
    "\f": "\\f", "\v": "\\v",
}  # fmt: skip


def required(field: str, detail: str = "") -> Cause:
    """A value is missing."""
    return Cause(field, REQUIRED, _joined("Required value", detail))


def forbidden(field: str, detail: str) -> Cause:
    """A value may not be set, or not be changed."""
    return Cause(field, FORBIDDEN, _joined("Forbidden", detail))


def invalid(field: str, value: Any, detail: str) -> Cause:
    """A value is wrong."""
    return Cause(field, INVALID, _joined(f"Invalid value: {shown(value)}", detail))


def not_supported(field: str, value: Any, supported: Iterable[str]) -> Cause:
    """A value is none of those there are."""
    known = ", ".join(shown(one) for one in supported)
    return Cause(
        field, NOT_SUPPORTED, f"Unsupported value: {shown(value)}: supported values: {known}"
    )


def duplicate(field: str, value: Any, detail: str = "") -> Cause:
    """A value is there twice."""
    return Cause(field, DUPLICATE, _joined(f"Duplicate value: {shown(value)}", detail))


def not_found(field: str, value: Any, detail: str = "") -> Cause:
    """A value names something that is not there."""
    return Cause(field, NOT_FOUND, _joined(f"Not found: {shown(value)}", detail))


def too_long(field: str, limit: int) -> Cause:
    """A value has too many bytes."""
    return Cause(field, TOO_LONG, f"Too long: may not be more than {limit} bytes")


def too_many(field: str, count: int, limit: int) -> Cause:
    """A list has too many items."""
    return Cause(field, TOO_MANY, f"Too many: {count}: must have at most {limit} items")


def texts(found: ErrorList, field: str, value: Any, problems: Sequence[str]) -> None:
    """Add one cause for each problem of a value."""
    for problem in problems:
        found.append(invalid(field, value, problem))


def not_negative(found: ErrorList, holder: Mapping[str, Any], path: str, *names: str) -> None:
    """Add a cause for each of these numbers of an object that is below zero."""
    for name in names:
        value = holder.get(name)
        if value is not None and value < 0:
            found.append(invalid(f"{path}.{name}", value, NOT_NEGATIVE))


def one_of(found: ErrorList, field: str, value: str, supported: Sequence[str]) -> None:
    """Add a cause if a value is missing or none of those there are."""
    if not value:
        found.append(required(field))
    elif value not in supported:
        found.append(not_supported(field, value, supported))


def shown(value: Any) -> str:
    """A value as the API server prints it."""
    if isinstance(value, str):
        return _quoted(value)
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def in_order(value: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A map with its keys sorted, as Go prints it."""
    return None if value is None else dict(sorted(value.items()))


def shown_selector(selector: Obj | None) -> Obj | None:
    """A label selector in the order in which the API server prints its fields."""
    if selector is None:
        return None
    out: Obj = {}
    if selector.get("matchLabels"):
        out["matchLabels"] = in_order(selector["matchLabels"])
    if selector.get("matchExpressions"):
        out["matchExpressions"] = [
            {
                "key": one.get("key", ""),
                "operator": one.get("operator", ""),
                **({"values": one["values"]} if one.get("values") else {}),
            }
            for one in selector["matchExpressions"]
        ]
    return out


def _joined(text: str, detail: str) -> str:
    return f"{text}: {detail}" if detail else text


def _quoted(text: str) -> str:
    return '"' + "".join(_escaped(one) for one in text) + '"'


def _escaped(one: str) -> str:
    if one in _ESCAPES:
        return _ESCAPES[one]
    if one == " " or one.isprintable():
        return one
    number = ord(one)
    if number < 0x80:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
