"""A Dockerfile as data: its stages, and the steps of each.

Only the part of the language that our files use is understood; everything else is an error, so
that no step is passed over in silence. `rules` and `build` read the result.
"""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

_NAMES: Final = ("ARG", "FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "ENTRYPOINT")
_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


class DockerfileError(Exception):
    """Something in a Dockerfile is wrong or not understood; the text says in which line."""


class Step(msgspec.Struct, frozen=True):
    """An instruction.

    Attributes:
        line: where it begins, from 1.
        name: such as ``COPY``.
        text: what follows, on one line.
    """

    line: int
    name: str
    text: str

    def words(self) -> list[str]:
        """The text in words, as a shell splits it."""
        return shlex.split(self.text)

    def exec_form(self) -> list[str] | None:
        """The words of a JSON array; None if it is for a shell."""
        if not self.text.startswith("["):
            return None
        return msgspec.convert(json.loads(self.text), list[str])

    def copied(self) -> tuple[str, list[str], str]:
        """For ``COPY``: the stage it is from (empty for the context), the sources, the target."""
        words = self.words()
        stage = ""
        while words and words[0].startswith("--"):
            option, _, value = words.pop(0).partition("=")
            if option != "--from":
                raise DockerfileError(f"line {self.line}: COPY {option} is not understood")
            stage = value
        if len(words) < 2:
            raise DockerfileError(f"line {self.line}: COPY needs a source and a target")
        *sources, target = words
        return stage, sources, target

    def settings(self) -> dict[str, str]:
        """For ``ENV``: values by name."""
        found = {}
        for word in self.words():
            name, equals, value = word.partition("=")
            if not equals:
                raise DockerfileError(f"line {self.line}: ENV {word} is not NAME=VALUE")
            found[name] = value
        return found


class Stage(msgspec.Struct, frozen=True):
    """What one ``FROM`` begins.

    Attributes:
        base: an image, or the name of a stage before.
        name: after ``AS``; may be empty.
        steps: all but the ``FROM``.
    """

    base: str
    name: str
    steps: list[Step]


def read_dockerfile(text: str, arguments: Mapping[str, str] | None = None) -> list[Stage]:
    """The stages of a Dockerfile.

    Args:
        text: the file.
        arguments: as ``docker build --build-arg`` gives them.

    Raises:
        DockerfileError: something is not understood.
    """
    values: dict[str, str] = {}
    stages: list[Stage] = []
    for step in _steps(text):
        if step.name not in _NAMES:
            raise DockerfileError(f"line {step.line}: {step.name} is not understood")
        if step.name == "ARG" and not stages:
            name, equals, default = step.text.partition("=")
            values[name] = (arguments or {}).get(name, default if equals else "")
        elif step.name == "ARG":
            raise DockerfileError(f"line {step.line}: ARG after FROM is not understood")
        elif step.name == "FROM":
            stages.append(_stage(step, values))
        elif not stages:
            raise DockerfileError(f"line {step.line}: {step.name} stands before FROM")
        else:
            stages[-1].steps.append(step)
    if not stages:
        raise DockerfileError("there is no FROM")
    return stages


def filled_in(text: str, values: Mapping[str, str]) -> str:
    """A text with ``$NAME`` and ``${NAME}`` replaced by values; unknown ones are empty."""
    return _VARIABLE.sub(lambda found: values.get(found[1] or found[2], ""), text)


def _stage(step: Step, values: Mapping[str, str]) -> Stage:
    match filled_in(step.text, values).split():
        case [base]:
            return Stage(base, "", [])
        case [base, word, name] if word.upper() == "AS":
            return Stage(base, name, [])
    raise DockerfileError(f"line {step.line}: FROM {step.text} is not understood")


def _steps(text: str) -> Iterator[Step]:
    """The instructions, with continued lines put together."""
    begun = 0
    parts: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#") or (not parts and not line.strip()):
            if re.match(r"#\s*\w+=", line) and not begun:
                raise DockerfileError(f"line {number}: parser directives are not understood")
            continue
        begun = begun if parts else number
        parts.append(line.rstrip().removesuffix("\\").strip())
        if line.rstrip().endswith("\\"):
            continue
        name, _, rest = " ".join(parts).partition(" ")
        if "<<" in rest:
            raise DockerfileError(f"line {begun}: here-documents are not understood")
        yield Step(begun, name.upper(), rest.strip())
        parts = []
    if parts:
        raise DockerfileError(f"line {begun}: the last line ends with a backslash")
