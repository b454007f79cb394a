"""Typed values from YAML that people write: a mistake is told with its field and its place.

Scenarios and files with devices are read with it. It opens no files.
"""

import re
import types
import typing
from collections.abc import Sequence
from typing import Any, Final, TypeVar

import msgspec

from mooring.located_yaml import LocatedDocument

Path = Sequence[str | int]
S = TypeVar("S", bound=msgspec.Struct)

_PLACE: Final = re.compile(r"(?P<problem>.*) - at (?:`key` in )?`\$(?P<path>[^`]*)`", re.DOTALL)
_STEP: Final = re.compile(r"\.(?P<name>[^.\[]+)|\[(?P<index>\d+)\]")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(?P<name>[^`]*)`")
_MISSING: Final = re.compile(r"Object missing required field `(?P<name>[^`]*)`")
_CHOICE: Final = re.compile(r"Invalid enum value (?P<value>'.*')", re.DOTALL)
_TYPES: Final = {
    "str": "a text", "int": "a whole number", "float": "a number", "bool": "true or false",
    "object": "a mapping", "array": "a list", "null": "nothing",
}  # fmt: skip


class FieldMistake(Exception):  # noqa: N818 - a value on its way to whoever knows the file
    """A mistake whose place in the file is not known yet.

    Attributes:
        path: the field.
        message: what is wrong, and what is expected.
    """

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = tuple(path)
        self.message = message


def located_text(document: LocatedDocument, problem: FieldMistake) -> str:
    """The mistake with its place: that of the field, or of the nearest one that is there."""
    line, column = document.first_line, 1
    for end in range(len(problem.path), -1, -1):
        found = document.position(problem.path[:end])
        if found is not None:
            line, column = found.line + 1, found.column + 1
            break
    field = field_name(problem.path)
    what = f"{field}: {problem.message}" if field else problem.message
    return f"{document.file}:{line}:{column}: {what}"


def field_name(path: Path) -> str:
    """A field as people write it, such as ``workloads[2].arrival``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def check_repeated(document: LocatedDocument) -> None:
    """See that no mapping of a document has a field twice.

    Raises:
        FieldMistake: one has.
    """
    for path in document.repeated():
        raise FieldMistake(path, "the field is there twice")


def convert(data: dict[Any, Any], kind: type[S]) -> S:
    """A mapping as a struct.

    Raises:
        FieldMistake: something in it is of a wrong type, missing or unknown.
    """
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise _problem(str(error), data, kind) from None


def _problem(message: str, data: Any, root: type[msgspec.Struct]) -> FieldMistake:
    """What msgspec says, with the path as a path and in words for people."""
    found = _PLACE.fullmatch(message)
    problem, where = (found["problem"], found["path"]) if found else (message, "")
    path: list[str | int] = [
        step["name"] if step["index"] is None else int(step["index"])
        for step in _STEP.finditer(where.partition("[...]")[0])
    ]
    if "[...]" in where:  # some value of a mapping whose names are the author's
        path += _wrong_name(path, data, root)
    unknown, missing = _UNKNOWN.fullmatch(problem), _MISSING.fullmatch(problem)
    if unknown is not None:
        fields = ", ".join(_fields_at(path, root))
        expected = f"; expected one of {fields}" if fields else ""
        return FieldMistake([*path, unknown["name"]], f"there is no such field{expected}")
    if missing is not None:
        return FieldMistake(path, f"the field {missing['name']} is missing")
    chosen = _CHOICE.fullmatch(problem)
    if chosen is not None:
        choices = typing.get_args(_kind_at(path, root))
        expected = ", ".join(one for one in choices if isinstance(one, str))
        return FieldMistake(path, f"{chosen['value']} is not possible; expected one of {expected}")
    for word, text in _TYPES.items():
        problem = problem.replace(f"`{word}", f"`{text}").replace(f"| {word}", f"or {text}")
    problem = problem.replace("`", "").replace(" | ", " or ")
    return FieldMistake(path, problem[:1].lower() + problem[1:])


def _wrong_name(path: Path, data: Any, root: type[msgspec.Struct]) -> list[str | int]:
    """The name in a mapping whose value is of a wrong type, as a path; empty if nobody knows."""
    for step in path:
        data = data[step]
    values = typing.get_args(_kind_at(path, root))[1:]
    for name, value in data.items() if isinstance(data, dict) and values else ():
        try:
            msgspec.convert(value, values[0])
        except msgspec.ValidationError:
            return [name] if isinstance(name, str) else []
    return []


def _fields_at(path: Path, root: type[msgspec.Struct]) -> list[str]:
    """The fields that a mapping at a path may have."""
    struct = _struct(_kind_at(path, root))
    return [one.encode_name for one in msgspec.structs.fields(struct)] if struct else []


def _kind_at(path: Path, root: type[msgspec.Struct]) -> Any:
    """The type of the value at a path; None if it has none of its own."""
    kind: Any = root
    for step in path:
        if isinstance(step, int):
            kind = next(iter(typing.get_args(kind)), None)
        else:
            struct = _struct(kind)
            if struct is None:
                return None
            fields = {one.encode_name: one.type for one in msgspec.structs.fields(struct)}
            kind = fields.get(step)
        kind = _list_or_struct(kind)
    return kind


def _list_or_struct(kind: Any) -> Any:
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        return next((one for one in typing.get_args(kind) if _struct(one) is not None), None)
    return kind


def _struct(kind: Any) -> type[msgspec.Struct] | None:
    return kind if isinstance(kind, type) and issubclass(kind, msgspec.Struct) else None
