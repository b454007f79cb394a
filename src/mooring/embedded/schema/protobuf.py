"""Objects that are sent in protobuf, read as if they had been sent in JSON.

kubectl sends protobuf wherever it uses a typed client, and does not fall back to anything else:
``create namespace``, ``create deployment``, ``drain``, ``auth can-i``. `request_bodies` calls
`read_protobuf`; answers are always JSON, which every client accepts. The numbers of the fields are
in `wire.json`, which `python -m tools.wire` writes.
"""

import base64
import functools
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib import resources as files
from typing import Any, Final, TypeAlias

import msgspec

from mooring.embedded.resources import Obj
from mooring.embedded.schema.definitions import Definition, Field, definition, definition_of_kind
from mooring.embedded.status_errors import bad_request

#: The media type.
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
#: What every such body begins with.
MAGIC: Final = b"k8s\x00"

#: By number, as in the file: the name of a field with a mark, or the fields of an embedded struct.
_Numbers: TypeAlias = "dict[str, str | _Numbers]"
#: A number or what has a length.
_Raw: TypeAlias = int | bytes
_MAX_DEPTH: Final = 100
#: Typed clients send it in the group and version of the object that they delete, whichever it is.
# parity v1.36.4: apimachinery/pkg/apis/meta/internalversion/register.go, AddUnversionedTypes
_OPTIONS: Final = "DeleteOptions"


class _Malformed(Exception):  # noqa: N818 - never leaves this module
    """The bytes make no sense."""


class _WireField(msgspec.Struct, frozen=True):
    """What a number means in a message.

    Attributes:
        field: the field; None for an embedded struct.
        keeps_zero: whether a zero was sent, or is written in any case.
        inner: the numbers of the embedded struct.
    """

    field: Field | None
    keeps_zero: bool
    inner: "dict[int, _WireField]"


def read_protobuf(body: bytes) -> Obj:
    """Read an object of one of our kinds.

    Returns:
        The object with apiVersion and kind, as JSON would have it.

    Raises:
        StatusError: 400, it makes no sense or is of a kind we do not have.
    """
    if not body.startswith(MAGIC):
        raise bad_request("provided data does not appear to be a protobuf message")
    try:
        envelope = dict(_parts(body[len(MAGIC) :]))
        meta = {number: _text(value) for number, value in _parts(_bytes(envelope.get(1, b"")))}
        api_version, kind = meta.get(1, ""), meta.get(2, "")
        wanted = _wanted(api_version, kind)
        obj: Obj = {"apiVersion": api_version, "kind": kind}
        _read_message(_bytes(envelope.get(2, b"")), _slots(wanted.name), obj, 0)
    except (_Malformed, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise bad_request(f"unable to decode protobuf: {error}") from error
    return obj


def _wanted(api_version: str, kind: str) -> Definition:
    group, _, version = api_version.rpartition("/")
    if kind == _OPTIONS:
        group, version = "", "v1"
    try:
        return definition_of_kind(group, version, kind)
    except KeyError:
        message = f'no kind "{kind}" is registered for version "{api_version}"'
        raise bad_request(message) from None


# -- numbers


@functools.cache
def _wire() -> dict[str, _Numbers]:
    text = files.files("mooring.embedded.schema").joinpath("wire.json").read_bytes()
    numbers: dict[str, _Numbers] = msgspec.json.decode(text)
    return numbers


@functools.cache
def _slots(name: str) -> dict[int, _WireField]:
    return _made(_wire()[name], definition(name))


def _made(numbers: _Numbers, owner: Definition) -> dict[int, _WireField]:
    slots = {}
    for number, one in numbers.items():
        if isinstance(one, str):
            field = owner.fields[one.lstrip("*!")]
            slots[int(number)] = _WireField(field, one[0] in "*!", {})
        else:
            slots[int(number)] = _WireField(None, False, _made(one, owner))
    return slots


# -- messages


def _parts(data: bytes) -> Iterator[tuple[int, _Raw]]:
    """The numbers and values of a message, in order."""
    at, end = 0, len(data)
    while at < end:
        tag, at = _varint(data, at)
        match tag & 7:
            case 0:  # a number
                value, at = _varint(data, at)
                yield tag >> 3, value
            case 2:  # what has a length
                size, at = _varint(data, at)
                if at + size > end:
                    raise _Malformed("unexpected EOF")
                yield tag >> 3, data[at : at + size]
                at += size
            case 1:  # eight bytes; no field of ours is of this kind, nor of the next
                at += 8
            case 5:
                at += 4
            case other:
                raise _Malformed(f"proto: illegal wireType {other}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data):
            raise _Malformed("unexpected EOF")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7
        if shift > 63:
            raise _Malformed("proto: integer overflow")


def _read_message(data: bytes, slots: dict[int, _WireField], obj: Obj, depth: int) -> None:
    """Add what a message says to an object."""
    if depth > _MAX_DEPTH:
        raise _Malformed("too deep")
    for number, raw in _parts(data):
        slot = slots.get(number)
        if slot is None:
            continue
        field = slot.field
        if field is None:
            _read_message(_bytes(raw), slot.inner, obj, depth + 1)
        elif field.type == "array" and field.items is not None:
            obj.setdefault(field.name, []).extend(_elements(field.items, raw, depth))
        elif field.type == "map" and field.items is not None:
            key, value = _entry(field.items, raw, depth)
            obj.setdefault(field.name, {})[key] = value
        else:
            value = _value(field, raw, depth)
            # What is no pointer is always sent; if it is zero, it was not said.
            if value or (slot.keeps_zero and value is not None):
                obj[field.name] = value


def _elements(element: Field, raw: _Raw, depth: int) -> list[Any]:
    """An element of a list; several where numbers are packed."""
    if element.type in ("integer", "boolean") and isinstance(raw, bytes):
        values, at = [], 0
        while at < len(raw):
            number, at = _varint(raw, at)
            values.append(_value(element, number, depth))
        return values
    return [_value(element, raw, depth)]


def _entry(element: Field, raw: _Raw, depth: int) -> tuple[str, Any]:
    """An entry of a map: a message of key and value."""
    parts = dict(_parts(_bytes(raw)))
    key = _text(parts.get(1, b""))
    value = parts.get(2, 0 if element.type in ("integer", "boolean") else b"")
    if element.type == "array" and element.items is not None:
        # A named list is a message of its own, with its elements as number 1.
        inner = element.items
        return key, [_value(inner, one, depth) for _, one in _parts(_bytes(value))]
    return key, _value(element, value, depth)


def _value(field: Field, raw: _Raw, depth: int) -> Any:
    if field.type == "object":
        inner: Obj = {}
        _read_message(_bytes(raw), _slots(field.ref), inner, depth + 1)
        return inner
    if field.type == "time":
        return _time(raw, micro=field.format == "micro")
    return _READERS[field.type](raw)


# -- values


def _bytes(raw: _Raw) -> bytes:
    if not isinstance(raw, bytes):
        raise _Malformed("proto: wrong wireType = 0")
    return raw


def _text(raw: _Raw) -> str:
    return _bytes(raw).decode()


def _integer(raw: _Raw) -> int:
    if not isinstance(raw, int):
        raise _Malformed("proto: wrong wireType = 2")
    return raw - 2**64 if raw >= 2**63 else raw


def _quantity(raw: _Raw) -> str:
    return _text(dict(_parts(_bytes(raw))).get(1, b"0")) or "0"


def _time(raw: _Raw, *, micro: bool) -> str | None:
    parts = dict(_parts(_bytes(raw)))
    seconds, nanoseconds = _integer(parts.get(1, 0)), _integer(parts.get(2, 0))
    if seconds == 0 and nanoseconds == 0:
        return None
    try:
        shown = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        raise _Malformed(f"no time: {seconds}") from None
    return f"{shown}.{nanoseconds // 1000:06}Z" if micro else f"{shown}Z"


def _int_or_string(raw: _Raw) -> int | str:
    parts = dict(_parts(_bytes(raw)))
    return _text(parts.get(3, b"")) if parts.get(1) else _integer(parts.get(2, 0))


def _any(raw: _Raw) -> Any:
    content = _bytes(dict(_parts(_bytes(raw))).get(1, b""))
    return msgspec.json.decode(content) if content else None


_READERS: Final[dict[str, Callable[[_Raw], Any]]] = {
    "string": _text,
    "bytes": lambda raw: base64.b64encode(_bytes(raw)).decode(),
    "integer": _integer,
    "boolean": lambda raw: bool(_integer(raw)),
    "quantity": _quantity,
    "int-or-string": _int_or_string,
    "any": _any,
}
