"""Types as the checker sees them, and when a value of one may stand where another is wanted.

Called by the checker and the declarations of functions. A type is an immutable value; type
parameters are bound in a `TypeBindings`, which can be rolled back when an overload does not fit.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple


class Type(NamedTuple):
    """A type: its kind, its name, and its parameters (of list, map, type and optional)."""

    kind: str
    name: str
    params: tuple["Type", ...] = ()

    def __str__(self) -> str:
        if self.kind == "null":
            return "null"
        if self.kind == "error":
            return "!error!"
        if not self.params:
            return _SHORT.get(self.name, self.name)
        return f"{self.name}({', '.join(str(param) for param in self.params)})"


_SHORT: Final = {
    "google.protobuf.Any": "any",
    "google.protobuf.Duration": "duration",
    "google.protobuf.Timestamp": "timestamp",
}

ANY: Final = Type("any", "google.protobuf.Any")
BOOL: Final = Type("bool", "bool")
BYTES: Final = Type("bytes", "bytes")
DOUBLE: Final = Type("double", "double")
DURATION: Final = Type("duration", "google.protobuf.Duration")
DYN: Final = Type("dyn", "dyn")
ERROR: Final = Type("error", "*error*")
INT: Final = Type("int", "int")
NULL: Final = Type("null", "null_type")
STRING: Final = Type("string", "string")
TIMESTAMP: Final = Type("timestamp", "google.protobuf.Timestamp")
TYPE: Final = Type("type", "type")
UINT: Final = Type("uint", "uint")
IP: Final = Type("opaque", "net.IP")
CIDR: Final = Type("opaque", "net.CIDR")
QUANTITY: Final = Type("struct", "kubernetes.Quantity")
SEMVER: Final = Type("struct", "kubernetes.Semver")
URL: Final = Type("struct", "kubernetes.URL")
FORMAT: Final = Type("struct", "kubernetes.NamedFormat")
DEVICE: Final = Type("struct", "kubernetes.DRADevice")


def list_of(element: Type) -> Type:
    """The type of a list."""
    return Type("list", "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """The type of a map."""
    return Type("map", "map", (key, value))


def optional_of(value: Type) -> Type:
    """The type of an optional value."""
    return Type("opaque", "optional_type", (value,))


def type_of(value: Type) -> Type:
    """The type of the name of a type."""
    return Type("type", "type", (value,))


def param(name: str) -> Type:
    """A type parameter."""
    return Type("param", name)


def is_optional(type_: Type) -> bool:
    """Whether values of this type are optional values."""
    return type_.name == "optional_type"


def unwrap_optional(type_: Type) -> tuple[Type, bool]:
    """What an optional holds, and whether it is one."""
    return (type_.params[0], True) if is_optional(type_) else (type_, False)


def is_dyn(type_: Type) -> bool:
    """Whether only the evaluation can tell the type."""
    return type_.kind in ("dyn", "any")


def is_dyn_or_error(type_: Type) -> bool:
    """Whether anything goes for this type."""
    return type_.kind in ("dyn", "any", "error")


class TypeSizeError(Exception):
    """The types of an expression are too large, or take too long to compare.

    A map whose keys and values have the same type doubles it, so that a short expression can have
    a type that no machine can hold.
    """


#: So many parts a type may have.
_MAX_PARTS: Final = 2000
#: So many parts of types may be looked at for one expression.
_MAX_STEPS: Final = 2_000_000


def check_parts(type_: Type) -> None:
    """Refuse a type that is too large.

    Raises:
        TypeSizeError: it is.
    """
    stack, n_parts = [type_], 0
    while stack:
        n_parts += 1
        if n_parts > _MAX_PARTS:
            raise TypeSizeError
        stack.extend(stack.pop().params)


_NULLABLE: Final = frozenset({"opaque", "struct", "any", "duration", "timestamp", "null"})


class TypeBindings:
    """What type parameters stand for, as found so far in an expression."""

    def __init__(self) -> None:
        self._bound: dict[str, Type] = {}
        self._log: list[tuple[str, Type | None]] = []
        self._n_steps = 0

    def assignable(self, first: Type, second: Type) -> bool:
        """Whether the types fit; binds parameters if so, else leaves them as they were."""
        return self.assignable_lists((first,), (second,))

    def assignable_lists(self, first: Sequence[Type], second: Sequence[Type]) -> bool:
        """Whether all pairs fit, in order; binds parameters if so."""
        mark = len(self._log)
        if len(first) == len(second) and all(map(self._fits, first, second)):
            self._log.clear()
            return True
        for name, before in reversed(self._log[mark:]):
            if before is None:
                del self._bound[name]
            else:
                self._bound[name] = before
        del self._log[mark:]
        return False

    def substitute(self, type_: Type, *, free_is_dyn: bool = False) -> Type:
        """The type with its parameters replaced by what they stand for.

        Raises:
            TypeSizeError: it would be too large.
        """
        substituted = self._substitute(type_, free_is_dyn=free_is_dyn)
        if substituted.params:
            check_parts(substituted)
        return substituted

    def _substitute(self, type_: Type, *, free_is_dyn: bool) -> Type:
        self._step()
        if type_.kind == "param":
            bound = self._bound.get(type_.name)
            if bound is not None:
                return self._substitute(bound, free_is_dyn=free_is_dyn)
            return DYN if free_is_dyn else type_
        if type_.params:
            params = tuple(self._substitute(p, free_is_dyn=free_is_dyn) for p in type_.params)
            return Type(type_.kind, type_.name, params)
        return type_

    def _step(self) -> None:
        self._n_steps += 1
        if self._n_steps > _MAX_STEPS:
            raise TypeSizeError

    def _bind(self, parameter: Type, type_: Type) -> None:
        self._log.append((parameter.name, self._bound.get(parameter.name)))
        self._bound[parameter.name] = type_

    def _fits(self, first: Type, second: Type) -> bool:
        self._step()
        if second.kind == "param":
            valid, bound = self._fits_parameter(first, second)
            if valid or bound:
                return valid
        if first.kind == "param":
            return self._fits_parameter(second, first)[0]
        if is_dyn_or_error(first) or is_dyn_or_error(second):
            return True
        if first.kind == "null":
            return second.kind in _NULLABLE
        if second.kind == "null":
            return first.kind in _NULLABLE
        if first.kind == "type":
            return second.kind == "type"
        if first.kind in ("opaque", "list", "map"):
            return (
                first.kind == second.kind
                and first.name == second.name
                and len(first.params) == len(second.params)
                and all(map(self._fits, first.params, second.params))
            )
        return first == second

    def _fits_parameter(self, type_: Type, parameter: Type) -> tuple[bool, bool]:
        """Whether the type may be bound to the parameter, and whether something was before."""
        if type_ == parameter:
            return True, True
        bound = self._bound.get(parameter.name)
        if bound is not None:
            if type_ == bound:
                return True, True
            if self._fits(type_, bound):
                general = most_general(type_, bound)
                if self._absent(parameter, general):
                    self._bind(parameter, general)
                return True, True
            return False, True
        if self._absent(parameter, type_):
            self._bind(parameter, type_)
            return True, False
        return False, False

    def _absent(self, parameter: Type, within: Type) -> bool:
        self._step()
        if parameter == within:
            return False
        if within.kind == "param":
            bound = self._bound.get(within.name)
            return bound is None or self._absent(parameter, bound)
        return all(self._absent(parameter, inner) for inner in within.params)


def most_general(first: Type, second: Type) -> Type:
    """The one that includes the other."""
    return first if _includes(first, second) else second


def _includes(first: Type, second: Type) -> bool:
    if is_dyn(first) or first.kind == "param":
        return True
    if is_dyn(second) or second.kind == "param" or first.kind != second.kind:
        return False
    if first.kind in ("opaque", "list", "map"):
        return (
            first.name == second.name
            and len(first.params) == len(second.params)
            and all(map(_includes, first.params, second.params))
        )
    return first.kind == "type" or first == second


def equivalent(first: Type, second: Type) -> bool:
    """Whether values of both types may be elements of one literal."""
    return (
        first.kind == second.kind
        and (first.name == second.name or first.kind == "param")
        and len(first.params) == len(second.params)
        and all(map(equivalent, first.params, second.params))
    )


def signature(types: Iterable[Type], *, method: bool) -> str:
    """Argument types as an error shows them."""
    shown = [str(type_) for type_ in types]
    prefix = f"{shown.pop(0)}." if method else ""
    return f"{prefix}({', '.join(shown)})"
