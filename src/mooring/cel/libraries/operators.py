"""The operators, `size`, `in`, and the string tests of CEL itself.

Called through the declarations. They look at the types of values when they run, because operands
may be dynamic; numbers of 64 bits never wrap around.
"""

import math
from collections.abc import Callable
from typing import Final

from mooring.cel.equality import NO_OVERLOAD, compare, different, equal, same
from mooring.cel.errors import CelValueError
from mooring.cel.libraries.times import duration, timestamp
from mooring.cel.limits import Bounds, Effort, check_length, check_size
from mooring.cel.overloads import Functions, Overload, comparing, function, method, unguarded
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
    Type,
    list_of,
    map_of,
    optional_of,
    param,
)
from mooring.cel.values import MISSING, CelDuration, CelMap, Timestamp, Uint, Value, type_name

_INT64: Final = Bounds(-(2**63), 2**63)
_UINT64: Final = Bounds(0, 2**64)


def _no_overload() -> CelValueError:
    return CelValueError(NO_OVERLOAD)


def whole(kind: type, number: int) -> int:
    """A result of arithmetic with whole numbers.

    Raises:
        CelValueError: it needs more than 64 bits.
    """
    if kind is Uint:
        if number not in _UINT64:
            raise CelValueError("unsigned integer overflow")
        return Uint(number)
    if number not in _INT64:
        raise CelValueError("integer overflow")
    return number


def add(first: Value, second: Value) -> Value:
    """Sum or concatenation."""
    kind = type(first)
    if kind is type(second):
        if kind is int or kind is Uint:
            return whole(kind, int(first) + int(second))
        if kind is list:
            check_size(len(first) + len(second))
            return first + second
        if kind is float:
            return first + second
        if kind in (str, bytes):
            check_length(len(first) + len(second))
            return first + second
    if isinstance(first, CelDuration):
        if isinstance(second, CelDuration):
            return duration(first.nanos + second.nanos)
        first, second = second, first
    if isinstance(first, Timestamp) and isinstance(second, CelDuration):
        return timestamp(first.nanos + second.nanos, first.offset)
    raise _no_overload()


def subtract(first: Value, second: Value) -> Value:
    """Difference."""
    kind = type(first)
    if kind is type(second):
        if kind is int or kind is Uint:
            return whole(kind, int(first) - int(second))
        if kind is float:
            return first - second
    if isinstance(first, CelDuration) and isinstance(second, CelDuration):
        return duration(first.nanos - second.nanos)
    if isinstance(first, Timestamp):
        if isinstance(second, CelDuration):
            return timestamp(first.nanos - second.nanos, first.offset)
        if isinstance(second, Timestamp):
            return duration(first.nanos - second.nanos)
    raise _no_overload()


def multiply(first: Value, second: Value) -> Value:
    """Product."""
    kind = type(first)
    if kind is type(second):
        if kind is int or kind is Uint:
            return whole(kind, int(first) * int(second))
        if kind is float:
            return first * second
    raise _no_overload()


def divide(first: Value, second: Value) -> Value:
    """Quotient; whole numbers are cut towards zero."""
    kind = type(first)
    if kind is not type(second):
        raise _no_overload()
    if kind is float:
        if second == 0:
            if first == 0 or math.isnan(first):
                return math.nan
            return math.copysign(math.inf, first) * math.copysign(1.0, second)
        return first / second
    if kind is int or kind is Uint:
        if second == 0:
            raise CelValueError("division by zero")
        quotient = abs(int(first)) // abs(int(second))
        return whole(kind, quotient if (first < 0) == (second < 0) else -quotient)
    raise _no_overload()


def modulo(first: Value, second: Value) -> Value:
    """Remainder with the sign of the first number."""
    kind = type(first)
    if kind is not type(second) or kind not in (int, Uint):
        raise _no_overload()
    if second == 0:
        raise CelValueError("modulus by zero")
    if first == -(2**63) and second == -1:
        raise CelValueError("integer overflow")
    remainder = abs(int(first)) % abs(int(second))
    return whole(kind, -remainder if first < 0 else remainder)


def negate(value: Value) -> Value:
    """The negative of a number."""
    if type(value) is int:
        return whole(int, -value)
    if type(value) is float:
        return -value
    if isinstance(value, CelDuration):
        return duration(-value.nanos)
    raise _no_overload()


def negation(value: Value) -> bool:
    """Logical not."""
    if type(value) is not bool:
        raise _no_overload()
    return not value


def contained(value: Value, container: Value, effort: Effort | None = None) -> bool:
    """The operator ``in``."""
    if type(container) is CelMap:
        return container.contains(value)
    if type(container) is list:
        return any(same(value, element, effort) for element in container)
    raise _no_overload()


def size(value: Value) -> int:
    """The number of characters, bytes, elements or entries."""
    if type(value) in (str, bytes, list):
        return len(value)
    if type(value) is CelMap:
        return len(value.entries)
    if (length := getattr(value, "size", None)) is not None:
        return int(length)
    raise _no_overload()


def index_of(value: Value) -> int:
    """The position in a list that a value stands for.

    Raises:
        CelValueError: the value is no whole number.
    """
    if isinstance(value, float) and value.is_integer() and int(value) in _INT64:
        return int(value)
    if isinstance(value, int) and type(value) is not bool and value in _INT64:
        return int(value)
    if isinstance(value, int | float) and type(value) is not bool:
        raise CelValueError(f"unsupported index value {value} in list")
    raise CelValueError(f"unsupported index type '{type_name(value)}' in list")


def select(container: Value, key: Value) -> Value:
    """The value of a key or index.

    Raises:
        CelValueError: there is none.
    """
    found = find(container, key)
    if found is MISSING:
        if type(container) is list:
            raise CelValueError(f"index out of bounds: {show_key(key)}")
        raise CelValueError(f"no such key: {show_key(key)}")
    return found


def find(container: Value, key: Value) -> Value:
    """The value of a key or index, or MISSING."""
    if type(container) is CelMap:
        return container.find(key)
    if type(container) is list:
        index = index_of(key)
        return container[index] if 0 <= index < len(container) else MISSING
    return MISSING


def show_key(key: Value) -> str:
    """A key in an error."""
    if type(key) is bool:
        return "true" if key else "false"
    return str(key) if isinstance(key, str | int | float) else type_name(key)


def _ordered(test: Callable[[int], bool]) -> Callable[[Value, Value], bool]:
    return lambda first, second: test(compare(first, second))


_A: Final = param("A")
_B: Final = param("B")
_LIST: Final = list_of(_A)
_MAP: Final = map_of(_A, _B)


def _binary(
    call: Callable[[Value, Value], Value], forms: dict[str, tuple[Type, Type, Type]]
) -> list[Overload]:
    return [
        unguarded(function(id_, [first, second], result, call))
        for id_, (first, second, result) in forms.items()
    ]


def _ordering(name: str, test: Callable[[int], bool]) -> list[Overload]:
    numbers = {"int64": INT, "uint64": UINT, "double": DOUBLE}
    forms = {f"{name}_bool": (BOOL, BOOL, BOOL)}
    for first, type_ in numbers.items():
        for second, other in numbers.items():
            suffix = first if first == second else f"{first}_{second}"
            forms[f"{name}_{suffix}"] = (type_, other, BOOL)
    for other_name, type_ in (
        ("string", STRING), ("bytes", BYTES), ("timestamp", TIMESTAMP), ("duration", DURATION),
    ):  # fmt: skip
        forms[f"{name}_{other_name}"] = (type_, type_, BOOL)
    return _binary(_ordered(test), forms)


def _sizes() -> list[Overload]:
    types = {"bytes": BYTES, "list": _LIST, "map": _MAP, "string": STRING}
    return [
        unguarded(form)
        for name, type_ in types.items()
        for form in (
            function(f"size_{name}", [type_], INT, size),
            method(f"{name}_size", [type_], INT, size),
        )
    ]


def _never(*_args: Value) -> Value:
    """Stands for what the compiler does itself."""
    raise _no_overload()


FUNCTIONS: Final[Functions] = {
    "_?_:_": [function("conditional", [BOOL, _A, _A], _A, _never)],
    "_&&_": [function("logical_and", [BOOL, BOOL], BOOL, _never)],
    "_||_": [function("logical_or", [BOOL, BOOL], BOOL, _never)],
    "!_": [unguarded(function("logical_not", [BOOL], BOOL, negation))],
    "@not_strictly_false": [function("not_strictly_false", [BOOL], BOOL, _never)],
    "_==_": [comparing(unguarded(function("equals", [_A, _A], BOOL, equal)))],
    "_!=_": [comparing(unguarded(function("not_equals", [_A, _A], BOOL, different)))],
    "_+_": _binary(add, {
        "add_bytes": (BYTES, BYTES, BYTES),
        "add_double": (DOUBLE, DOUBLE, DOUBLE),
        "add_duration_duration": (DURATION, DURATION, DURATION),
        "add_duration_timestamp": (DURATION, TIMESTAMP, TIMESTAMP),
        "add_timestamp_duration": (TIMESTAMP, DURATION, TIMESTAMP),
        "add_int64": (INT, INT, INT),
        "add_list": (_LIST, _LIST, _LIST),
        "add_string": (STRING, STRING, STRING),
        "add_uint64": (UINT, UINT, UINT),
    }),
    "_-_": _binary(subtract, {
        "subtract_double": (DOUBLE, DOUBLE, DOUBLE),
        "subtract_duration_duration": (DURATION, DURATION, DURATION),
        "subtract_int64": (INT, INT, INT),
        "subtract_timestamp_duration": (TIMESTAMP, DURATION, TIMESTAMP),
        "subtract_timestamp_timestamp": (TIMESTAMP, TIMESTAMP, DURATION),
        "subtract_uint64": (UINT, UINT, UINT),
    }),
    "_*_": _binary(multiply, {
        "multiply_double": (DOUBLE, DOUBLE, DOUBLE),
        "multiply_int64": (INT, INT, INT),
        "multiply_uint64": (UINT, UINT, UINT),
    }),
    "_/_": _binary(divide, {
        "divide_double": (DOUBLE, DOUBLE, DOUBLE),
        "divide_int64": (INT, INT, INT),
        "divide_uint64": (UINT, UINT, UINT),
    }),
    "_%_": _binary(modulo, {
        "modulo_int64": (INT, INT, INT),
        "modulo_uint64": (UINT, UINT, UINT),
    }),
    "-_": [
        unguarded(function("negate_double", [DOUBLE], DOUBLE, negate)),
        unguarded(function("negate_int64", [INT], INT, negate)),
    ],
    "_<_": _ordering("less", lambda order: order < 0),
    "_<=_": _ordering("less_equals", lambda order: order <= 0),
    "_>_": _ordering("greater", lambda order: order > 0),
    "_>=_": _ordering("greater_equals", lambda order: order >= 0),
    "@in": [comparing(one) for one in _binary(contained, {
        "in_list": (_A, _LIST, BOOL),
        "in_map": (_A, _MAP, BOOL),
    })],
    "_[_]": _binary(select, {
        "index_list": (_LIST, INT, _A),
        "index_map": (_MAP, _A, _B),
        "optional_list_index_int": (optional_of(_LIST), INT, optional_of(_A)),
        "optional_map_index_value": (optional_of(_MAP), _A, optional_of(_B)),
    }),
    "_[?_]": _binary(_never, {
        "list_optindex_optional_int": (_LIST, INT, optional_of(_A)),
        "optional_list_optindex_optional_int": (optional_of(_LIST), INT, optional_of(_A)),
        "map_optindex_optional_value": (_MAP, _A, optional_of(_B)),
        "optional_map_optindex_optional_value": (optional_of(_MAP), _A, optional_of(_B)),
    }),
    "size": _sizes(),
    "contains": [
        method("contains_string", [STRING, STRING], BOOL, lambda text, part: part in text)
    ],
    "endsWith": [
        method("ends_with_string", [STRING, STRING], BOOL, lambda text, end: text.endswith(end))
    ],
    "startsWith": [
        method("starts_with_string", [STRING, STRING], BOOL, lambda text, s: text.startswith(s))
    ],
    "matches": [
        unguarded(function("matches", [STRING, STRING], BOOL, _never)),
        unguarded(method("matches_string", [STRING, STRING], BOOL, _never)),
    ],
    "_?._": [function("select_optional_field", [DYN, STRING], optional_of(_A), _never)],
}  # fmt: skip
