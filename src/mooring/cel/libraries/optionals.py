"""Functions on optional values.

Called through the declarations; `or` and `orValue` are compiled, as they evaluate lazily.
"""

from typing import Final

from mooring.cel.equality import is_zero
from mooring.cel.errors import CelValueError
from mooring.cel.overloads import Functions, function, method
from mooring.cel.types import BOOL, list_of, map_of, optional_of, param
from mooring.cel.values import MISSING, NONE, CelMap, Optional, Value, inner_key


def _of_non_zero(value: Value) -> Optional:
    return NONE if is_zero(value) else Optional(value)


def _value(optional: Optional) -> Value:
    if optional.value is MISSING:
        raise CelValueError("optional.none() dereference")
    return optional.value


def _unwrap(values: list[Value]) -> list[Value]:
    if any(type(value) is not Optional for value in values):
        raise CelValueError("value is not optional")
    return [value.value for value in values if value.value is not MISSING]


def _first(values: list[Value]) -> Optional:
    return Optional(values[0]) if values else NONE


def _last(values: list[Value]) -> Optional:
    return Optional(values[-1]) if values else NONE


def _lazy(*_args: Value) -> Value:
    raise CelValueError("no such overload")


def insert(target: CelMap, *update: Value) -> CelMap:
    """A map with one more entry, or with those of another map.

    Raises:
        CelValueError: a key is in the map already.
    """
    added = CelMap({inner_key(update[0]): update[1]}) if len(update) > 1 else update[0]
    for key in added.key_values():
        if target.find(key) is not MISSING:
            raise CelValueError(f"insert failed: key {key} already exists")
    return CelMap({**target.entries, **added.entries})


_V: Final = param("V")
_OPTIONAL: Final = optional_of(_V)
_MAP: Final = map_of(param("K"), _V)
FUNCTIONS: Final[Functions] = {
    "optional.of": [function("optional_of", [_V], _OPTIONAL, Optional)],
    "optional.ofNonZeroValue": [function("optional_ofNonZeroValue", [_V], _OPTIONAL, _of_non_zero)],
    "optional.none": [function("optional_none", [], _OPTIONAL, lambda: NONE)],
    "value": [method("optional_value", [_OPTIONAL], _V, _value)],
    "hasValue": [method("optional_hasValue", [_OPTIONAL], BOOL, lambda o: o.value is not MISSING)],
    "or": [method("optional_or_optional", [_OPTIONAL, _OPTIONAL], _OPTIONAL, _lazy)],
    "orValue": [method("optional_orValue_value", [_OPTIONAL, _V], _V, _lazy)],
    "first": [method("list_first", [list_of(_V)], _OPTIONAL, _first)],
    "last": [method("list_last", [list_of(_V)], _OPTIONAL, _last)],
    "optional.unwrap": [function("optional_unwrap", [list_of(_OPTIONAL)], list_of(_V), _unwrap)],
    "unwrapOpt": [method("optional_unwrapOpt", [list_of(_OPTIONAL)], list_of(_V), _unwrap)],
    "cel.@mapInsert": [
        function("@mapInsert_map_key_value", [_MAP, param("K"), _V], _MAP, insert),
        function("@mapInsert_map_map", [_MAP, _MAP], _MAP, insert),
    ],
}
