"""JSON values as the API server sees them: copies, equality, and how Go writes them in messages.

The patches and server-side apply call it. It knows nothing about Kubernetes.
"""

import json
import re
from typing import Any, Final

import msgspec

#: Any JSON value.
Value = Any

_ESCAPES: Final = {
    '"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r",
    "\t": "\\t", "\v": "\\v",
}  # fmt: skip
_ESCAPED: Final = re.compile(r'["\\\x00-\x1f\x7f]')
# Go's encoder escapes what browsers might take for markup.
_MARKUP: Final = re.compile("[<>&\u2028\u2029]")
_ENCODE: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode


class Malformed(ValueError):  # noqa: N818 - reads as the sentence it is raised with
    """A text is no JSON; says so in Go's words."""


def decode(text: bytes | str) -> Value:
    """The value of a JSON text.

    Raises:
        Malformed: it is none.
    """
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        pass
    except UnicodeDecodeError:
        raise Malformed("invalid UTF-8") from None
    source = text if isinstance(text, str) else text.decode("utf-8", "replace")
    try:
        return json.loads(source)
    except json.JSONDecodeError as error:
        place = error.pos
        while place < len(source) and source[place] in " \t\r\n":
            place += 1
        if place >= len(source) or error.msg.startswith("Unterminated"):
            raise Malformed("unexpected end of JSON input") from None
        where = "after top-level value" if error.msg == "Extra data" else _WANTED.get(
            error.msg, "looking for beginning of value"
        )  # fmt: skip
        raise Malformed(f"invalid character '{source[place]}' {where}") from None


_WANTED: Final = {
    "Expecting property name enclosed in double quotes": (
        "looking for beginning of object key string"
    ),
    "Expecting ':' delimiter": "after object key",
    "Expecting ',' delimiter": "after object key:value pair",
}  # fmt: skip


def encode(value: Value) -> str:
    """A value as Go's JSON encoder writes it: fields in order, markup escaped."""
    text = _ENCODE(value)
    return _MARKUP.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def copied(value: Value) -> Value:
    """A copy that shares nothing which can be changed."""
    if isinstance(value, dict):
        return {key: copied(one) for key, one in value.items()}
    if isinstance(value, list):
        return [copied(one) for one in value]
    return value


def same(left: Value, right: Value) -> bool:
    """Whether two values are equal and of the same types: 1, 1.0 and true are three values."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(one, right[k]) for k, one in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def json_kind(value: Value) -> str:
    """What Go's JSON decoder calls the kind of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def go_kind(value: Value) -> str:
    """The Go type that a decoded value has."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "bool"
        case int():
            return "int64"
        case float():
            return "float64"
        case str():
            return "string"
        case list():
            return "[]interface {}"
        case _:
            return "map[string]interface {}"


def go_text(value: Value) -> str:
    """A value as Go's ``%v`` prints it: ``map[a:1 b:[x y]]``."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case float():
            return _go_float(value)
        case list():
            return f"[{' '.join(map(go_text, value))}]"
        case dict():
            return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
        case _:
            return str(value)


def go_quoted(text: str) -> str:
    """A text as Go's ``%q`` prints it."""
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    return _ESCAPES.get(character) or f"\\x{ord(character):02x}"


def _go_float(value: float) -> str:
    if value == 0 or 1e-5 < abs(value) < 1e21:
        return str(int(value)) if value == int(value) else repr(value)
    mantissa, _, exponent = repr(value).partition("e")
    return f"{mantissa.removesuffix('.0')}e{exponent}"
