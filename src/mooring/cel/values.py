"""The values of expressions while they are evaluated.

bool, int, float, str, bytes, None and list are Python's own; the rest is here. Lists are never
changed once another value can see them. Called by every function library.
"""

from collections.abc import Hashable, Iterator
from typing import Any, Final, TypeAlias

from mooring.cel.errors import CelRuntimeError
from mooring.cel.limits import Bounds
from mooring.cel.types import Type

#: Any value of an expression.
Value: TypeAlias = Any

MISSING: Final = object()


class Uint(int):
    """An unsigned integer."""

    __slots__ = ()


class CelDuration:
    """A length of time in nanoseconds."""

    __slots__ = ("nanos",)

    def __init__(self, nanos: int) -> None:
        self.nanos = nanos


class Timestamp:
    """A point in time: nanoseconds since 1970, and the offset (seconds) it was written with."""

    __slots__ = ("nanos", "offset")

    def __init__(self, nanos: int, offset: int = 0) -> None:
        self.nanos = nanos
        self.offset = offset


class TypeValue:
    """The type of a value, as a value; as a key it is found by its name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeValue) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


class Optional:
    """A value that may be missing."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


NONE: Final = Optional(MISSING)


class CelMap:
    """A map; strings are their own keys inside, other keys are a pair of kind and value.

    Attributes:
        entries: the values by inner key.
        default: what a lookup of a missing key gives, if not an error.
        only_strings: keys of other types are not even looked up.
    """

    __slots__ = ("default", "entries", "only_strings")

    def __init__(
        self,
        entries: dict[Any, Value],
        default: Value = MISSING,
        *,
        only_strings: bool = False,
    ) -> None:
        self.entries = entries
        self.default = default
        self.only_strings = only_strings

    def find(self, key: Value) -> Value:
        """The value of a key, or MISSING; numbers of other types that are equal are found, too."""
        if type(key) is str:
            return self.entries.get(key, self.default)
        if self.only_strings or not self.entries:
            return self.default
        inner = inner_key(key)
        found = self.entries.get(inner, MISSING)
        if found is MISSING and isinstance(inner, tuple):
            for other in _equal_numbers(inner):
                found = self.entries.get(other, MISSING)
                if found is not MISSING:
                    break
        return self.default if found is MISSING else found

    def contains(self, key: Value) -> bool:
        """Whether the key is in the map; the default does not count."""
        if self.default is MISSING:
            return self.find(key) is not MISSING
        return type(key) is str and key in self.entries

    def key_values(self) -> Iterator[Value]:
        """The keys as values."""
        return (_outer_key(key) if isinstance(key, tuple) else key for key in self.entries)


_INT: Final = Bounds(-(2**63), 2**63)
_UINT: Final = Bounds(0, 2**64)


def inner_key(key: Value) -> Hashable:
    """The key under which a map or set finds a value.

    Raises:
        CelRuntimeError: values of the type cannot be keys (Kubernetes panics, which nothing
            absorbs).
    """
    kind = type(key)
    if kind is str:
        return str(key)
    if kind is float:
        return ("double", key if key == key else object())
    if kind is int or kind is bool or key is None:
        return (kind.__name__, key)
    if kind is Uint:
        return ("uint", Uint(key))
    if kind is CelDuration:
        return ("duration", DurationKey(key.nanos))
    if kind is Timestamp:
        return ("timestamp", TimestampKey(key.nanos))
    if kind is TypeValue:
        return (f"type {key.name}", key)
    if kind is bytes or getattr(kind, "unhashable", False):
        raise CelRuntimeError(f"internal error: hash of unhashable type {type_name(key)}")
    if kind is list:
        return ("list", _ListKey(key))
    return ("object", key)


def _outer_key(key: tuple[str, Value]) -> Value:
    """The value that a key stands for."""
    return key[1].value if key[0] == "list" else key[1]


class _ListKey:
    """A list as a key: it is found by itself, not by a list that equals it, as in Kubernetes."""

    __slots__ = ("value",)

    def __init__(self, value: list[Value]) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ListKey) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


class DurationKey(CelDuration):
    """A duration that equals itself as a key."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DurationKey) and self.nanos == other.nanos

    def __hash__(self) -> int:
        return hash(self.nanos)


class TimestampKey(Timestamp):
    """A timestamp that equals itself as a key."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TimestampKey) and self.nanos == other.nanos

    def __hash__(self) -> int:
        return hash(self.nanos)


def _equal_numbers(inner: tuple[Any, ...]) -> Iterator[Hashable]:
    kind, value = inner
    if kind == "double" and isinstance(value, float) and value.is_integer():
        if int(value) in _INT:
            yield ("int", int(value))
        if int(value) in _UINT:
            yield ("uint", Uint(value))
    elif kind == "int" and value >= 0:
        yield ("uint", Uint(value))
    elif kind == "uint" and value in _INT:
        yield ("int", int(value))


_NAMES: Final[dict[type, str]] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    CelMap: "map",
    CelDuration: "google.protobuf.Duration",
    DurationKey: "google.protobuf.Duration",
    Timestamp: "google.protobuf.Timestamp",
    TimestampKey: "google.protobuf.Timestamp",
    TypeValue: "type",
    Optional: "optional_type",
}


def type_name(value: Value) -> str:
    """The name of a value's type; values of the libraries bring theirs."""
    name = _NAMES.get(type(value))
    return name if name is not None else str(type(value).type_name)


def fits(type_: Type, value: Value) -> bool:
    """Whether a value may be passed for a declared type; of lists the first element decides."""
    kind = type_.kind
    if kind in ("dyn", "any", "param"):
        return True
    if type_.name != type_name(value):
        return False
    if kind == "list":
        return not value or fits(type_.params[0], value[0])
    if kind == "map":
        for key in value.key_values():
            return fits(type_.params[0], key) and fits(type_.params[1], value.find(key))
    return True
