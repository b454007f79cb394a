"""When values are equal, and which comes first.

Called by the operators and the libraries of lists and sets. Numbers of different types compare as
numbers; other types are never equal, but comparing a Kubernetes type with another type is an error.
"""

import math
from itertools import repeat

from mooring.cel.errors import CelValueError
from mooring.cel.limits import Effort
from mooring.cel.values import (
    MISSING,
    CelDuration,
    CelMap,
    Optional,
    Timestamp,
    TypeValue,
    Uint,
    Value,
    type_name,
)

NO_OVERLOAD = "no such overload"
#: An entry of a map takes as long to compare as so many elements of a list.
_MAP_ENTRY = 5


def equal(first: Value, second: Value, effort: Effort | None = None) -> bool:
    """Whether two values are equal.

    Args:
        first: a value.
        second: another one.
        effort: counts the comparisons of what lists and maps hold.

    Raises:
        CelValueError: the first is of a Kubernetes type and the second is not.
        CelCostError: they hold too much.
    """
    kind = type(first)
    if kind is str:
        return type(second) is str and first == second
    if first is None or second is None:
        return first is second
    if kind is bool or type(second) is bool:
        return kind is type(second) and first == second if kind is bool else _foreign(first, second)
    if kind is float or isinstance(first, int):
        if not isinstance(second, int | float):
            return False
        return not _nan(first) and not _nan(second) and number_order(first, second) == 0
    if kind is bytes:
        return type(second) is bytes and first == second
    if kind is list:
        return type(second) is list and _equal_lists(first, second, effort or Effort())
    if kind is CelMap:
        return type(second) is CelMap and _equal_maps(first, second, effort or Effort())
    if isinstance(first, CelDuration):
        return isinstance(second, CelDuration) and first.nanos == second.nanos
    if isinstance(first, Timestamp):
        return isinstance(second, Timestamp) and first.nanos == second.nanos
    if kind is TypeValue:
        return type(second) is TypeValue and first.name == second.name
    if kind is Optional:
        return type(second) is Optional and _equal_optionals(first, second, effort)
    return _foreign(first, second)


def different(first: Value, second: Value, effort: Effort | None = None) -> bool:
    """The operator ``!=``."""
    # parity v1.36.4: an error is not "equal"
    return not same(first, second, effort)


def same(first: Value, second: Value, effort: Effort | None = None) -> bool:
    """Whether two values are equal, where an error counts as different."""
    try:
        return equal(first, second, effort)
    except CelValueError:
        return False


def _foreign(first: Value, second: Value) -> bool:
    if type(first) is type(second):
        return bool(first == second)
    if hasattr(type(first), "type_name"):
        raise CelValueError(NO_OVERLOAD)
    return False


def _nan(value: Value) -> bool:
    return type(value) is float and math.isnan(value)


def _not_different(first: Value, second: Value, effort: Effort) -> bool:
    try:
        return equal(first, second, effort)
    except CelValueError:
        return True


def _equal_lists(first: list[Value], second: list[Value], effort: Effort) -> bool:
    if len(first) != len(second):
        return False
    effort.spend(len(first))
    return all(map(_not_different, first, second, repeat(effort)))


def _equal_maps(first: CelMap, second: CelMap, effort: Effort) -> bool:
    if len(first.entries) != len(second.entries):
        return False
    effort.spend(_MAP_ENTRY * len(first.entries))
    for key in first.key_values():
        other = second.find(key)
        if other is MISSING or not _not_different(first.find(key), other, effort):
            return False
    return True


def _equal_optionals(first: Optional, second: Optional, effort: Effort | None) -> bool:
    if first.value is MISSING or second.value is MISSING:
        return first.value is second.value
    return equal(first.value, second.value, effort)


def number_order(first: int | float, second: int | float) -> int:
    """-1, 0 or 1; an integer beside a double is rounded to one."""
    if isinstance(first, float) and not isinstance(second, float):
        return _double_order(first, second)
    if isinstance(second, float) and not isinstance(first, float):
        return -_double_order(second, first)
    return (first > second) - (first < second)


def _double_order(double: float, integer: int) -> int:
    low, high = (0.0, 2.0**64) if isinstance(integer, Uint) else (-(2.0**63), 2.0**63)
    if double < low:
        return -1
    if double > high:
        return 1
    other = float(integer)
    return (double > other) - (double < other)


def compare(first: Value, second: Value) -> int:
    """-1, 0 or 1.

    Raises:
        CelValueError: the values have no order.
    """
    kind = type(first)
    if kind is bool:
        if type(second) is bool:
            return int(first) - int(second)
    elif isinstance(first, int | float):
        if type(second) is not bool and isinstance(second, int | float):
            if _nan(first) or _nan(second):
                raise CelValueError("NaN values cannot be ordered")
            return number_order(first, second)
    elif kind in (str, bytes):
        if type(second) is kind:
            return bool(first > second) - bool(first < second)
    elif isinstance(first, CelDuration | Timestamp):
        wanted = CelDuration if isinstance(first, CelDuration) else Timestamp
        if isinstance(second, wanted):
            return (first.nanos > second.nanos) - (first.nanos < second.nanos)
    raise CelValueError(NO_OVERLOAD)


def is_comparable(value: Value) -> bool:
    """Whether values of this type have an order at all."""
    return type_name(value) in _COMPARABLE


_COMPARABLE_NAMES = (
    "bool int uint double string bytes google.protobuf.Duration google.protobuf.Timestamp "
)
_COMPARABLE = frozenset(_COMPARABLE_NAMES.split())


def is_zero(value: Value) -> bool:
    """Whether `optional.ofNonZeroValue` drops the value."""
    if isinstance(value, CelDuration):
        return value.nanos == 0
    if isinstance(value, Timestamp):
        return value.nanos == _YEAR_ONE
    if type(value) is CelMap:
        return not value.entries
    return value is None or (
        isinstance(value, bool | int | float | str | bytes | list) and not value
    )


_YEAR_ONE = -62135596800 * 10**9
