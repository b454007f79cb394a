"""A mistake in a scenario: where it is, and what is expected there."""

from collections.abc import Sequence

from mooring.errors import InputError
from mooring.located_yaml import LocatedDocument

Path = Sequence[str | int]


class ScenarioError(InputError):
    """A scenario cannot be played; the message begins with file, line and column."""


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


def located(document: LocatedDocument, problem: FieldMistake) -> ScenarioError:
    """The mistake with its place: that of the field, or of the nearest one that is there."""
    line, column = document.first_line, 1
    for end in range(len(problem.path), -1, -1):
        found = document.position(problem.path[:end])
        if found is not None:
            line, column = found.line + 1, found.column + 1
            break
    field = field_name(problem.path)
    what = f"{field}: {problem.message}" if field else problem.message
    return ScenarioError(f"{document.file}:{line}:{column}: {what}")


def field_name(path: Path) -> str:
    """A field as people write it, such as ``workloads[2].arrival``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text
