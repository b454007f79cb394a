"""What evaluating a call costs, in the units of Kubernetes.

Called by the compiler once per call of an expression. Costs are those that kube-scheduler counts
when it runs an expression, so that the same expressions exceed the limit.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from mooring.cel.libraries.named_formats import NamedFormat
from mooring.cel.libraries.network import Cidr, Ip
from mooring.cel.libraries.quantities import CelQuantity
from mooring.cel.libraries.semver import Version
from mooring.cel.libraries.urls import Url
from mooring.cel.limits import Effort
from mooring.cel.values import MISSING, CelMap, Optional, Value

#: What one evaluation may cost.
LIMIT: Final = 1_000_000
LIST: Final = 10
MAP: Final = 30

CallCost: TypeAlias = Callable[[tuple[Value, ...], Value], int]

_ONE: Final[CallCost] = lambda _args, _result: 1  # noqa: E731
_KUBERNETES: Final = (CelQuantity, Ip, Cidr, NamedFormat, Url, Version)


def _size(value: Value) -> int:
    """As the libraries of Kubernetes measure it."""
    kind = type(value)
    if kind is str or kind is bytes or kind is list:
        return len(value)
    if kind is CelMap:
        return len(value.entries)
    return value.size if kind is Ip or kind is Cidr else 1


def _core_size(value: Value) -> int:
    """As CEL itself measures it: through optionals."""
    while type(value) is Optional and value.value is not MISSING:
        value = value.value
    return _size(value)


def _tenths(size: int) -> int:
    return -(-size // 10)


def _traversal(value: Value, effort: Effort) -> int:
    effort.spend(1)
    kind = type(value)
    if kind is str:
        return len(value.encode("utf-8", "surrogatepass")) // 10
    if kind is bytes:
        return len(value) // 10
    if kind is list:
        return sum(_traversal(one, effort) for one in value)
    if kind is CelMap:
        return sum(
            _traversal(key, effort) + _traversal(value.find(key), effort)
            for key in value.key_values()
        )
    return 1


def _regex(text: int, pattern: int) -> int:
    return _tenths(text + 1) * -(-pattern // 4)


def _equals(args: tuple[Value, ...], _result: Value) -> int:
    if isinstance(args[0], _KUBERNETES):
        return 1
    return _tenths(min(_core_size(args[0]), _core_size(args[1])))


def _smaller(args: tuple[Value, ...], _result: Value) -> int:
    return _tenths(min(_core_size(args[0]), _core_size(args[1])))


def _allocated(factor: float, size: int) -> int:
    return int(size * factor) + 1 + LIST


def _self_compared(values: list[Value]) -> int:
    factor = 2.1 if values and type(values[0]) in (str, bytes) else 2.0
    return _allocated(factor, len(values) ** 2)


def _contains_ip(args: tuple[Value, ...], *, parsed: bool) -> int:
    cost = _tenths(2 * _size(args[0]))
    return cost + (_tenths(_size(args[1])) if parsed else 0)


def _contains_cidr(args: tuple[Value, ...], *, parsed: bool) -> int:
    return _contains_ip(args, parsed=parsed) + _tenths(_size(args[0])) + 1


def _first(factor: int = 1) -> CallCost:
    return lambda args, _result: _tenths(_size(args[0]) * factor)


def _of_output(_args: tuple[Value, ...], result: Value) -> int:
    return _allocated(1, _size(result))


_OF_JOINED: Final[CallCost] = lambda _, result: _tenths(_size(result) * 2)  # noqa: E731


def _sets(factor: int) -> CallCost:
    return lambda args, _result: 1 + _size(args[0]) * _size(args[1]) * factor


#: By the id of an overload; these come first.
_BY_OVERLOAD: Final[dict[str, CallCost]] = {
    "list_slice": _of_output,
    "list_flatten": lambda args, _: _allocated(1, _size(args[0])),
    "list_flatten_int": lambda args, _: _allocated(args[1], _size(args[0])),
    "lists_range": _of_output,
    "list_reverse": _of_output,
    "list_distinct": lambda args, _: _self_compared(args[0]),
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
}
_EXTREMES: Final[CallCost] = lambda args, _: _traversal(args[0], Effort())  # noqa: E731
#: By the name of a function.
_BY_FUNCTION: Final[dict[str, CallCost]] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _EXTREMES),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _first()),
    **dict.fromkeys(("replace", "split"), _first(2)),
    "join": _OF_JOINED,
    **dict.fromkeys(("find", "findAll"), lambda a, _: _regex(_size(a[0]), _size(a[1]))),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "ip"), _first()),
    "ip.isCanonical": _first(2),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _first()),
    "validate": lambda args, _: _regex(_size(args[1]), args[0].regex_size),
    "_==_": _equals,
}
#: By the id of an overload; these come last.
_CORE: Final[dict[str, CallCost]] = {
    **dict.fromkeys(
        ("starts_with_string", "ends_with_string", "string_to_bytes", "bytes_to_string",
         "strings_quote", "string_format"),
        lambda args, _: _tenths(_core_size(args[0])),
    ),
    "in_list": lambda args, _: _core_size(args[1]),
    **dict.fromkeys(
        (f"{name}_{kind}" for name in ("less", "greater", "less_equals", "greater_equals")
         for kind in ("string", "bytes")),
        _smaller,
    ),
    "not_equals": _smaller,
    **dict.fromkeys(
        ("add_string", "add_bytes"),
        lambda args, _: _tenths(_core_size(args[0]) + _core_size(args[1])),
    ),
    "matches_string": lambda args, _: _regex(_core_size(args[0]), _core_size(args[1])),
    "contains_string": lambda args, _: (
        _tenths(_core_size(args[0])) * _tenths(_core_size(args[1]))
    ),
}  # fmt: skip


def call_cost(function: str, overload: str) -> CallCost:
    """What a call costs; `overload` is empty where only the values can tell which one it is."""
    if overload in _BY_OVERLOAD:
        return _BY_OVERLOAD[overload]
    if overload.endswith("_sort"):
        return lambda args, _: _self_compared(args[0])
    if overload.endswith("_sortByAssociatedKeys"):
        return lambda args, _: _self_compared(args[1])
    if overload == "cidr_ip":
        return _ONE
    if function == "containsIP":
        parsed = overload == "cidr_contains_ip_string"
        return lambda args, _: _contains_ip(args, parsed=parsed)
    if function == "containsCIDR":
        parsed = overload == "cidr_contains_cidr_string"
        return lambda args, _: _contains_cidr(args, parsed=parsed)
    return _BY_FUNCTION.get(function) or _CORE.get(overload, _ONE)


def is_of_result(cost: CallCost) -> bool:
    """Whether the result of a call decides what it costs, and not its arguments alone."""
    return cost is _of_output or cost is _OF_JOINED


def is_one(cost: CallCost) -> bool:
    """Whether a call always costs one unit."""
    return cost is _ONE
