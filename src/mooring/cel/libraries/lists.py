"""Functions on lists and sets: Kubernetes' own, and those of cel-go (lists 3, sets).

Called through the declarations.
"""

import functools
from collections.abc import Callable
from typing import Final

from mooring.cel.equality import NO_OVERLOAD, compare, is_comparable, same
from mooring.cel.errors import CelValueError
from mooring.cel.libraries.operators import add
from mooring.cel.limits import Effort, check_size
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
    param,
)
from mooring.cel.values import CelDuration, Uint, Value, type_name

_COMPARABLE: Final = {
    "int": INT, "uint": UINT, "double": DOUBLE, "bool": BOOL, "duration": DURATION,
    "timestamp": TIMESTAMP, "string": STRING, "bytes": BYTES,
}  # fmt: skip
#: So many values a device may have for all its attributes.
_MAX_INCLUDED: Final = 48
_SUMMABLE: Final[dict[str, tuple[Type, Value]]] = {
    "int": (INT, 0),
    "uint": (UINT, Uint(0)),
    "double": (DOUBLE, 0.0),
    "duration": (DURATION, CelDuration(0)),
}


def _order(first: Value, second: Value) -> int | None:
    """As `compare`, but an error means that there is no order."""
    try:
        return compare(first, second)
    except CelValueError:
        return None


def _need_comparable(values: list[Value]) -> None:
    for value in values:
        if not is_comparable(value):
            raise CelValueError(NO_OVERLOAD)


def _is_sorted(values: list[Value]) -> bool:
    for i, value in enumerate(values):
        if not is_comparable(value):
            raise CelValueError(NO_OVERLOAD)
        if i and _order(values[i - 1], value) == 1:
            return False
    return True


def _sum(zero: Value) -> Callable[[list[Value]], Value]:
    return lambda values: functools.reduce(add, values, zero)


def _extreme(name: str, worse: int) -> Callable[[list[Value]], Value]:
    def extreme(values: list[Value]) -> Value:
        _need_comparable(values)
        if not values:
            raise CelValueError(f"{name} called on empty list")
        best = values[0]
        for value in values[1:]:
            if _order(best, value) == worse:
                best = value
        return best

    return extreme


def _index_of(values: list[Value], wanted: Value, effort: Effort | None = None) -> int:
    return next((i for i, value in enumerate(values) if same(value, wanted, effort)), -1)


def _last_index_of(values: list[Value], wanted: Value, effort: Effort | None = None) -> int:
    indices = range(len(values) - 1, -1, -1)
    return next((i for i in indices if same(values[i], wanted, effort)), -1)


def _slice(values: list[Value], start: int, end: int) -> list[Value]:
    call = f"cannot slice({start}, {end})"
    if start < 0 or end < 0:
        raise CelValueError(f"{call}, negative indexes not supported")
    if start > end:
        raise CelValueError(f"{call}, start index must be less than or equal to end index")
    if len(values) < end:
        raise CelValueError(f"{call}, list is length {len(values)}")
    return values[start:end]


def _flatten(values: list[Value], depth: int = 1) -> list[Value]:
    if type(values) is not list:
        raise CelValueError(NO_OVERLOAD)
    if depth < 0:
        raise CelValueError("level must be non-negative")
    while depth and any(type(value) is list for value in values):
        check_size(sum(len(value) if type(value) is list else 1 for value in values))
        values = [v for value in values for v in (value if type(value) is list else [value])]
        depth -= 1
    return values


def _sort_by_keys(values: list[Value], keys: list[Value]) -> list[Value]:
    if len(values) != len(keys):
        raise CelValueError("@sortByAssociatedKeys() expected a list of the same size as its keys")
    if not values:
        return values
    if not is_comparable(keys[0]):
        raise CelValueError("list elements must be comparable")
    kind = type_name(keys[0])
    if any(type_name(key) != kind for key in keys):
        raise CelValueError("list elements must have the same type")

    def order_of(i: int, j: int) -> int:
        return _order(keys[i], keys[j]) or 0

    indices = sorted(range(len(values)), key=functools.cmp_to_key(order_of))
    return [values[i] for i in indices]


def _sort(values: Value) -> list[Value]:
    if type(values) is not list:
        raise CelValueError(NO_OVERLOAD)
    return _sort_by_keys(values, values)


def _range(end: int) -> list[Value]:
    check_size(end)
    return list(range(end))


def _distinct(values: list[Value], effort: Effort | None = None) -> list[Value]:
    unique: list[Value] = []
    for value in values:
        if not _contains(unique, value, effort):
            unique.append(value)
    return unique


def _contains(values: list[Value], wanted: Value, effort: Effort | None = None) -> bool:
    return any(same(wanted, value, effort) for value in values)


def _contains_all(values: list[Value], wanted: list[Value], effort: Effort | None = None) -> bool:
    return all(_contains(values, value, effort) for value in wanted)


def _intersects(first: list[Value], second: list[Value], effort: Effort | None = None) -> bool:
    return any(_contains(second, value, effort) for value in first)


def _equivalent(first: list[Value], second: list[Value], effort: Effort | None = None) -> bool:
    return _contains_all(first, second, effort) and _contains_all(second, first, effort)


def _includes(target: Value, wanted: Value, effort: Effort | None = None) -> bool:
    if type(target) is not list:
        return same(target, wanted, effort)
    for i, value in enumerate(target):
        if i >= _MAX_INCLUDED:
            raise CelValueError(
                f"'includes' function cannot be applied to lists longer than {_MAX_INCLUDED} values"
            )
        if same(value, wanted, effort):
            return True
    return False


def _for_comparable(
    id_: str, call: Callable[[list[Value]], Value], result: Type | None = None
) -> list[Overload]:
    return [
        method(id_.format(name), [list_of(type_)], result or type_, call)
        for name, type_ in _COMPARABLE.items()
    ]


_T: Final = param("T")
_LIST: Final = list_of(_T)
_A: Final = param("A")
FUNCTIONS: Final[Functions] = {
    "isSorted": _for_comparable("list_{}_is_sorted_bool", _is_sorted, BOOL),
    "sum": [
        method(f"list_{name}_sum_{name}", [list_of(type_)], type_, _sum(zero))
        for name, (type_, zero) in _SUMMABLE.items()
    ],
    "max": _for_comparable("list_{0}_max_{0}", _extreme("max", -1)),
    "min": _for_comparable("list_{0}_min_{0}", _extreme("min", 1)),
    "indexOf": [comparing(method("list_a_index_of_int", [list_of(_A), _A], INT, _index_of))],
    "lastIndexOf": [
        comparing(method("list_a_last_index_of_int", [list_of(_A), _A], INT, _last_index_of))
    ],
    # Known to kube-scheduler although the feature it belongs to, DRAListTypeAttributes, is off.
    "includes": [comparing(method("dra_includes_dyn_dyn", [DYN, DYN], BOOL, _includes))],
    "slice": [method("list_slice", [_LIST, INT, INT], _LIST, _slice)],
    "flatten": [
        unguarded(method("list_flatten", [list_of(_LIST)], _LIST, _flatten)),
        unguarded(method("list_flatten_int", [list_of(DYN), INT], list_of(DYN), _flatten)),
    ],
    "sort": [
        unguarded(method(f"list_{type_.name}_sort", [list_of(type_)], list_of(type_), _sort))
        for type_ in _COMPARABLE.values()
    ],
    "@sortByAssociatedKeys": [
        unguarded(
            method(
                f"list_{type_.name}_sortByAssociatedKeys", [_LIST, list_of(type_)], _LIST,
                _sort_by_keys,
            )
        )
        for type_ in _COMPARABLE.values()
    ],
    "lists.range": [function("lists_range", [INT], list_of(INT), _range)],
    "reverse": [method("list_reverse", [_LIST], _LIST, lambda values: values[::-1])],
    "distinct": [comparing(method("list_distinct", [_LIST], _LIST, _distinct))],
    **{
        f"sets.{name}": [comparing(function(f"list_sets_{name}_list", [_LIST, _LIST], BOOL, call))]
        for name, call in (
            ("contains", _contains_all), ("equivalent", _equivalent), ("intersects", _intersects)
        )
    },
}  # fmt: skip
