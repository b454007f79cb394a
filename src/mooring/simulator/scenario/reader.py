"""Reading a scenario file: from text to typed values, with the place of every mistake.

It opens no files; `scenario_run` reads what a scenario refers to through whoever calls it.
"""

import re
import types
import typing
from typing import Any, Final

import msgspec

from mooring import yaml_text
from mooring.located_yaml import LocatedDocument
from mooring.simulator.scenario.checks import check
from mooring.simulator.scenario.scenario_error import FieldMistake, Path, ScenarioError, located
from mooring.simulator.scenario.schema import Scenario

#: A scenario file has at most so many bytes; what is long belongs into a CSV file.
MOST_BYTES: Final = 4 * 1024 * 1024
_PLACE: Final = re.compile(r"(?P<problem>.*) - at (?:`key` in )?`\$(?P<path>[^`]*)`", re.DOTALL)
_STEP: Final = re.compile(r"\.(?P<name>[^.\[]+)|\[(?P<index>\d+)\]")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(?P<name>[^`]*)`")
_MISSING: Final = re.compile(r"Object missing required field `(?P<name>[^`]*)`")
_CHOICE: Final = re.compile(r"Invalid enum value (?P<value>'.*')", re.DOTALL)
_TYPES: Final = {
    "str": "a text", "int": "a whole number", "float": "a number", "bool": "true or false",
    "object": "a mapping", "array": "a list", "null": "nothing",
}  # fmt: skip


class ReadScenario(typing.NamedTuple):
    """A scenario, and where its fields are in its file."""

    scenario: Scenario
    document: LocatedDocument


def read_scenario(text: str, file: str) -> ReadScenario:
    """Read a scenario.

    Args:
        text: the content of the file.
        file: its name, for errors.

    Raises:
        ScenarioError: something in it is wrong.
    """
    if len(text) > MOST_BYTES:
        raise ScenarioError(f"{file}: it has more than {MOST_BYTES} characters; use a CSV file")
    try:
        document = LocatedDocument(file, text.splitlines(), text)
    except yaml_text.YamlProblem as error:
        place = f"{file}:{error.line}:{error.column}"
        raise ScenarioError(f"{place}: it is not valid YAML: {error}") from error
    try:
        if not isinstance(document.data, dict):
            raise FieldMistake((), "expected a mapping with at least the field cluster")
        for path in document.repeated():
            raise FieldMistake(path, "the field is there twice")
        scenario = _convert(document.data)
        check(scenario)
    except FieldMistake as problem:
        raise located(document, problem) from None
    return ReadScenario(scenario, document)


def _convert(data: dict[Any, Any]) -> Scenario:
    try:
        return msgspec.convert(data, Scenario)
    except msgspec.ValidationError as error:
        raise _problem(str(error), data) from None


def _problem(message: str, data: Any) -> FieldMistake:
    """What msgspec says, with the path as a path and in words for people."""
    found = _PLACE.fullmatch(message)
    problem, where = (found["problem"], found["path"]) if found else (message, "")
    path: list[str | int] = [
        step["name"] if step["index"] is None else int(step["index"])
        for step in _STEP.finditer(where.partition("[...]")[0])
    ]
    if "[...]" in where:  # some value of a mapping whose names are the author's
        path += _wrong_name(path, data)
    unknown, missing = _UNKNOWN.fullmatch(problem), _MISSING.fullmatch(problem)
    if unknown is not None:
        fields = ", ".join(_fields_at(path))
        expected = f"; expected one of {fields}" if fields else ""
        return FieldMistake([*path, unknown["name"]], f"there is no such field{expected}")
    if missing is not None:
        return FieldMistake(path, f"the field {missing['name']} is missing")
    chosen = _CHOICE.fullmatch(problem)
    if chosen is not None:
        choices = typing.get_args(_kind_at(path))
        expected = ", ".join(one for one in choices if isinstance(one, str))
        return FieldMistake(path, f"{chosen['value']} is not possible; expected one of {expected}")
    for word, text in _TYPES.items():
        problem = problem.replace(f"`{word}", f"`{text}").replace(f"| {word}", f"or {text}")
    problem = problem.replace("`", "").replace(" | ", " or ")
    return FieldMistake(path, problem[:1].lower() + problem[1:])


def _wrong_name(path: Path, data: Any) -> list[str | int]:
    """The name in a mapping whose value is of a wrong type, as a path; empty if nobody knows."""
    for step in path:
        data = data[step]
    values = typing.get_args(_kind_at(path))[1:]
    for name, value in data.items() if isinstance(data, dict) and values else ():
        try:
            msgspec.convert(value, values[0])
        except msgspec.ValidationError:
            return [name] if isinstance(name, str) else []
    return []


def _fields_at(path: Path) -> list[str]:
    """The fields that a mapping at a path may have."""
    struct = _struct(_kind_at(path))
    return [one.encode_name for one in msgspec.structs.fields(struct)] if struct else []


def _kind_at(path: Path) -> Any:
    """The type of the value at a path; None if it has none of its own."""
    kind: Any = Scenario
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
