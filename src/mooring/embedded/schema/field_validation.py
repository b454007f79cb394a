"""Whether an object has the form its kind wants; what it must not have is rejected or taken out.

`Api` calls it for every object it is sent, before anything else. An ordinary object is
checked by msgspec in a few microseconds (`_quick_type`); what does not pass there is walked through
field by field in `_Walk`, which knows the API server's words. Never looks at what values mean.
"""

import functools
import json
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import Meta

from mooring.embedded.resources import Obj, Resource
from mooring.embedded.schema.definitions import (
    Definition,
    Field,
    definition,
    definition_of,
    definition_of_kind,
    go_type,
)
from mooring.embedded.schema.scalars import base64_problem, quantity_problem, time_problem
from mooring.embedded.status_errors import bad_request

__all__ = [
    "Definition",
    "Field",
    "check_fields",
    "definition",
    "definition_of",
    "definition_of_kind",
]

_MAX_UNKNOWN: Final = 100  # parity: sigs.k8s.io/json lists no more


def check_fields(what: Resource | Definition, obj: Obj, *, strict: bool = True) -> list[str]:
    """Check the types of all fields and take out what the API server would not read.

    Unknown fields and nulls are removed from the object.

    Args:
        what: what the object must be.
        obj: the object; changed in place.
        strict: whether to list unknown fields.

    Returns:
        A text for each unknown field, such as ``unknown field "spec.nodName"``.

    Raises:
        StatusError: 400, a value has the wrong type.
    """
    wanted = what if isinstance(what, Definition) else definition_of(what)
    metadata = obj.get("metadata")
    if type(metadata) is dict and metadata.get("creationTimestamp", "") is None:
        del metadata["creationTimestamp"]  # older clients send it; the object is ordinary otherwise
    try:
        msgspec.convert(obj, _quick_type(wanted.name))
    except msgspec.ValidationError:
        walk = _Walk()
        try:
            walk.through(wanted, obj, "", "")
        except _UnreadableError as problem:
            walk.problem = str(problem)
        if walk.problem:
            raise bad_request(
                f'{wanted.kind} in version "{wanted.version}" cannot be handled as a '
                f"{wanted.kind}: {walk.problem}"
            ) from None
        return walk.unknown if strict else []
    return []


# -- quickly

_INTEGERS: Final = {
    "int32": Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)],
    "int64": Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)],
}
#: Types of values that are surely right; what is not of them may be right, too.
_SURE: Final[dict[str, Any]] = {
    "string": str,
    "boolean": bool,
    "number": float,
    "int-or-string": _INTEGERS["int32"] | str,
    "quantity": Annotated[
        str, Meta(pattern=r"^(0|[1-9][0-9]{0,14})(\.[0-9]{1,9})?([mkMGT]|[KMGT]i)?\Z")
    ],
    "bytes": Annotated[
        str,
        Meta(pattern=r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\Z"),
    ],
    "any": dict[str, Any] | list[Any] | str | int | float | bool,
}
_TIME: Final = (
    r"^[0-9]{4}-"
    r"((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)"
    r"T([01][0-9]|2[0-3])(:[0-5][0-9]){2}"
)
_TIMES: Final = {
    "": Annotated[str, Meta(pattern=_TIME + r"Z\Z")],
    "micro": Annotated[str, Meta(pattern=_TIME + r"\.[0-9]{6}Z\Z")],
}


@functools.cache
def _quick_type(name: str) -> type[msgspec.Struct]:
    """A struct for which msgspec accepts only objects that need no further look."""
    fields = definition(name).fields
    return msgspec.defstruct(
        "Quick" + definition(name).go_name,
        [(f"f{at}", _quick(field), None) for at, field in enumerate(fields.values())],
        forbid_unknown_fields=True,
        rename={f"f{at}": key for at, key in enumerate(fields)},
        gc=False,
    )


def _quick(field: Field) -> Any:
    match field.type:
        case "object":
            return _quick_type(field.ref)
        case "array" if field.items is not None:
            return list[_quick(field.items)]  # type: ignore[misc]
        case "map" if field.items is not None:
            return dict[str, _quick(field.items)]  # type: ignore[misc]
        case "integer":
            return _INTEGERS[field.format]
        case "time":
            # The API server itself writes null for a time that is not set.
            return _TIMES[field.format] | None
    return _SURE[field.type]


# -- thoroughly

#: A JSON value.
_Value: TypeAlias = Any
_JSON_NAMES: Final[dict[type, str]] = {
    str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object",
}  # fmt: skip
_WANTED: Final[dict[str, type]] = {
    "string": str, "boolean": bool, "object": dict, "array": list, "map": dict, "bytes": str,
}  # fmt: skip
#: What a null in a list or map becomes.
_ZERO: Final[dict[str, _Value]] = {
    "string": "", "boolean": False, "integer": 0, "number": 0, "bytes": "", "quantity": "0",
    "int-or-string": 0,
}  # fmt: skip
_BITS: Final = {"int32": 31, "int64": 63}


class _UnreadableError(Exception):
    """A value ends the reading at once; others let it go on, and the first is reported."""


class _Walk:
    """One object, as the JSON decoder of the API server goes through it.

    parity: sigs.k8s.io/json, internal/golang/encoding/json/decode.go.

    Attributes:
        unknown: messages about unknown fields.
        problem: the first value of a wrong type; empty if there is none.
    """

    def __init__(self) -> None:
        self.unknown: list[str] = []
        self.problem = ""

    def through(self, wanted: Definition, obj: Obj, at: str, stack: str) -> None:
        """Check an object.

        Args:
            wanted: what it must be.
            obj: the object; changed in place.
            at: where it is, as in ``spec.containers[0].``.
            stack: where it is for Go, as in ``spec.containers.``.
        """
        for key, value in list(obj.items()):
            field = wanted.fields.get(key)
            if field is None:
                self._add_unknown(at + key)
                del obj[key]
            elif value is None:
                del obj[key]
            else:
                via = f"{field.via}." if field.via else ""
                here = f"{stack}{via}{key}"
                obj[key] = self._value(field, value, at + key, here, wanted.go_name)

    def _add_unknown(self, path: str) -> None:
        message = f"unknown field {json.dumps(path, ensure_ascii=False)}"
        if len(self.unknown) < _MAX_UNKNOWN and message not in self.unknown:
            self.unknown.append(message)

    def _value(self, field: Field, value: _Value, at: str, stack: str, struct: str) -> _Value:
        """Check a value and return what it is read as."""
        match field.type:
            case "quantity":
                if problem := quantity_problem(value):
                    raise _UnreadableError(problem)
                return value.strip() if isinstance(value, str) else value
            case "int-or-string" if type(value) is not str:
                if problem := _integer_problem(value, "int32"):
                    raise _UnreadableError(_complaint(problem, struct, stack, "int32"))
            case "time":
                if type(value) is not str:
                    name = _JSON_NAMES[type(value)]
                    raise _UnreadableError(_complaint(name, struct, stack, "string"))
                if problem := time_problem(value, micro=field.format == "micro"):
                    raise _UnreadableError(problem)
            case "integer" | "number" | "string" | "boolean" | "bytes" | "object" | "array" | "map":
                return self._typed(field, value, at, stack, struct)
        return value

    def _typed(self, field: Field, value: _Value, at: str, stack: str, struct: str) -> _Value:
        """The same for a value whose type is wrong without ending the reading."""
        if problem := _type_problem(field, value):
            self._add_problem(_complaint(problem, struct, stack, go_type(field)))
        elif field.type == "bytes":
            if problem := base64_problem(value):
                self._add_problem(problem)
        elif field.type == "object":
            self.through(definition(field.ref), value, at + ".", stack + ".")
        elif field.items is not None:
            element = field.items
            places = enumerate(value) if field.type == "array" else value.items()
            form = "{}[{}]" if field.type == "array" else "{}.{}"
            for place, one in list(places):
                if one is None:
                    value[place] = _zero(element)
                else:
                    there = form.format(at, place)
                    value[place] = self._value(element, one, there, stack, struct)
        return value

    def _add_problem(self, problem: str) -> None:
        self.problem = self.problem or problem


def _type_problem(field: Field, value: _Value) -> str:
    """What JSON has in place of the field's type, in Go's words; empty if it is right."""
    if field.type == "integer":
        return _integer_problem(value, field.format)
    name = _JSON_NAMES[type(value)]
    if field.type == "number":
        return "" if name == "number" else name
    return "" if type(value) is _WANTED[field.type] else name


def _integer_problem(value: _Value, form: str) -> str:
    name = _JSON_NAMES[type(value)]
    if name != "number":
        return name
    if type(value) is int and -(2 ** _BITS[form]) <= value < 2 ** _BITS[form]:
        return ""
    return f"number {value!r}"


def _complaint(problem: str, struct: str, stack: str, wanted: str) -> str:
    return (
        f"json: cannot unmarshal {problem} into Go struct field {struct}.{stack} of type {wanted}"
    )


def _zero(field: Field) -> _Value:
    if field.type == "object" or field.type == "map":
        return {}
    if field.type == "array":
        return []
    return _ZERO.get(field.type)
