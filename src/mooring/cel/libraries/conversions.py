"""Conversions between types: ``int("3")``, ``string(1.5)``, ``type(x)`` and so on.

Called through the declarations. Reads and prints numbers as Go does.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Final

from mooring.cel.errors import CelValueError
from mooring.cel.libraries.times import (
    parse_duration,
    parse_timestamp,
    print_duration,
    print_timestamp,
    timestamp,
)
from mooring.cel.limits import Bounds
from mooring.cel.overloads import Functions, function, unguarded
from mooring.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    param,
    type_of,
)
from mooring.cel.values import CelDuration, Timestamp, TypeValue, Uint, Value, type_name

_INT64: Final = Bounds(-(2**63), 2**63)
_UINT64: Final = Bounds(0, 2**64)
_DECIMAL: Final = re.compile(r"[+-]?[0-9]{1,400}", re.ASCII)
_FLOAT: Final = re.compile(
    r"[+-]?(?:[0-9](?:_?[0-9])*\.?(?:[0-9](?:_?[0-9])*)?|\.[0-9](?:_?[0-9])*)"
    r"(?:[eE][+-]?[0-9](?:_?[0-9])*)?",
    re.ASCII,
)
_INFINITY: Final = re.compile(r"[+-]?inf(?:inity)?", re.ASCII | re.IGNORECASE)
_HEX_FLOAT: Final = re.compile(
    r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+", re.ASCII
)
_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})


def _failed(source: str, wanted: str) -> CelValueError:
    return CelValueError(f"type conversion error from '{source}' to '{wanted}'")


def _int64(number: int) -> int:
    if number not in _INT64:
        raise CelValueError("integer overflow")
    return number


def _uint64(number: int) -> Uint:
    if number not in _UINT64:
        raise CelValueError("unsigned integer overflow")
    return Uint(number)


def string_to_int(text: str) -> int:
    """Read a decimal number of 64 bits."""
    if not _DECIMAL.fullmatch(text) or int(text) not in _INT64:
        raise _failed("string", "int")
    return int(text)


def _string_to_uint(text: str) -> Uint:
    if not _DECIMAL.fullmatch(text) or text[0] in "+-" or int(text) not in _UINT64:
        raise _failed("string", "uint")
    return Uint(text)


def string_to_double(text: str) -> float:
    """Read a floating-point number."""
    if _FLOAT.fullmatch(text):
        number = float(text)
        if number not in (float("inf"), float("-inf")):
            return number
    elif _INFINITY.fullmatch(text) or text.lower() == "nan":
        return float(text)
    elif _HEX_FLOAT.fullmatch(text):
        try:
            return float.fromhex(text)
        except OverflowError as error:
            raise _failed("string", "double") from error
    raise _failed("string", "double")


def _double_to_int(number: float) -> int:
    if not -(2.0**63) < number < 2.0**63:
        raise CelValueError("integer overflow")
    return int(number)


def _double_to_uint(number: float) -> Uint:
    if not 0 <= number < 2.0**64:
        raise CelValueError("unsigned integer overflow")
    return Uint(number)


def _string_to_bool(text: str) -> bool:
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise _failed("string", "bool")


def print_double(number: float) -> str:
    """The shortest text of a double, with an exponent from a million on."""
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "+Inf" if number > 0 else "-Inf"
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    power = len(digits) + int(exponent) - 1
    if number == 0 or -4 <= power < 21 and power < max(6, 0):  # noqa: RUF021
        return f"{Decimal(repr(number)):f}".removesuffix(".0")
    if -4 <= power < 6:
        return f"{Decimal(repr(number)):f}".removesuffix(".0")
    mantissa = str(digits[0]) + ("." + "".join(map(str, digits[1:])) if len(digits) > 1 else "")
    return f"{'-' if sign else ''}{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _bytes_to_string(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise CelValueError("invalid UTF-8 in bytes, cannot convert to string") from error


def _bool_to_string(value: bool) -> str:
    return "true" if value else "false"


def _string_to_duration(text: str) -> CelDuration:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise _failed("string", "google.protobuf.Duration") from error


def _string_to_timestamp(text: str) -> Timestamp:
    try:
        return parse_timestamp(text)
    except ValueError as error:
        raise _failed("string", "google.protobuf.Timestamp") from error


def _int_to_timestamp(seconds: int) -> Timestamp:
    return timestamp(seconds * 10**9)


def _int_to_duration(_seconds: int) -> CelDuration:
    raise _failed("int", "google.protobuf.Duration")  # parity: declared, but never works


def _same(value: Value) -> Value:
    return value


def _to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def to_string(value: Value) -> str:
    """The text of a value for ``format``.

    Raises:
        CelValueError: values of the type have none.
    """
    printer = _PRINTERS.get(type_name(value))
    if printer is None:
        raise CelValueError("could not convert argument to string")
    return printer(value)


_PRINTERS: Final[dict[str, Callable[[Value], str]]] = {
    "string": str,
    "bool": _bool_to_string,
    "bytes": _bytes_to_string,
    "double": print_double,
    "google.protobuf.Duration": print_duration,
    "int": str,
    "google.protobuf.Timestamp": print_timestamp,
    "uint": str,
    "type": lambda value: value.name,
}

_A: Final = param("A")
FUNCTIONS: Final[Functions] = {
    "type": [
        unguarded(function("type", [_A], type_of(_A), lambda value: TypeValue(type_name(value))))
    ],
    "dyn": [unguarded(function("to_dyn", [_A], DYN, _same))],
    "bool": [
        function("bool_to_bool", [BOOL], BOOL, _same),
        function("string_to_bool", [STRING], BOOL, _string_to_bool),
    ],
    "bytes": [
        function("bytes_to_bytes", [BYTES], BYTES, _same),
        function("string_to_bytes", [STRING], BYTES, _to_bytes),
    ],
    "double": [
        function("double_to_double", [DOUBLE], DOUBLE, _same),
        function("int64_to_double", [INT], DOUBLE, float),
        function("string_to_double", [STRING], DOUBLE, string_to_double),
        function("uint64_to_double", [UINT], DOUBLE, float),
    ],
    "duration": [
        function("duration_to_duration", [DURATION], DURATION, _same),
        function("int64_to_duration", [INT], DURATION, _int_to_duration),
        function("string_to_duration", [STRING], DURATION, _string_to_duration),
    ],
    "int": [
        function("int64_to_int64", [INT], INT, _same),
        function("double_to_int64", [DOUBLE], INT, _double_to_int),
        function("duration_to_int64", [DURATION], INT, lambda value: value.nanos),
        function("string_to_int64", [STRING], INT, string_to_int),
        function("timestamp_to_int64", [TIMESTAMP], INT, lambda value: value.nanos // 10**9),
        function("uint64_to_int64", [UINT], INT, lambda value: _int64(int(value))),
    ],
    "string": [
        function("string_to_string", [STRING], STRING, _same),
        function("bool_to_string", [BOOL], STRING, _bool_to_string),
        function("bytes_to_string", [BYTES], STRING, _bytes_to_string),
        function("double_to_string", [DOUBLE], STRING, print_double),
        function("duration_to_string", [DURATION], STRING, print_duration),
        function("int64_to_string", [INT], STRING, str),
        function("timestamp_to_string", [TIMESTAMP], STRING, print_timestamp),
        function("uint64_to_string", [UINT], STRING, str),
    ],
    "timestamp": [
        function("timestamp_to_timestamp", [TIMESTAMP], TIMESTAMP, _same),
        function("int64_to_timestamp", [INT], TIMESTAMP, _int_to_timestamp),
        function("string_to_timestamp", [STRING], TIMESTAMP, _string_to_timestamp),
    ],
    "uint": [
        function("uint64_to_uint64", [UINT], UINT, _same),
        function("double_to_uint64", [DOUBLE], UINT, _double_to_uint),
        function("int64_to_uint64", [INT], UINT, _uint64),
        function("string_to_uint64", [STRING], UINT, _string_to_uint),
    ],
}
