"""YAML as Kubernetes reads it. Imported only where YAML is read, since the parser starts slowly."""

import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from mooring.yaml_depth import TooDeep, check_depth

_DOCUMENT: Final = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_TIMESTAMP: Final = "tag:yaml.org,2002:timestamp"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A safe loader for which a date is a text."""


_Loader.yaml_implicit_resolvers = {
    first: [one for one in resolvers if one[0] != _TIMESTAMP]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class YamlProblem(ValueError):  # noqa: N818 - reads as the sentence it is part of
    """A text is no YAML; the message says what is wrong and in which line."""


def parse(text: str, first_line: int = 0) -> Any:
    """One YAML document as plain data.

    Args:
        text: the document.
        first_line: the number of its first line in the file, counted from 0.

    Raises:
        YamlProblem: it is no YAML.
    """
    try:
        check_depth(text)
        return yaml.load(text, _Loader)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, TooDeep, ValueError, RecursionError) as error:
        raise _problem(error, first_line) from error


def _problem(error: Exception, first_line: int) -> YamlProblem:
    if isinstance(error, yaml.YAMLError):
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        where = f", in line {first_line + mark.line + 1}" if mark is not None else ""
        return YamlProblem(f"{problem}{where}")
    if isinstance(error, TooDeep):
        return YamlProblem(f"{error}, in line {first_line + error.line + 1}")
    return YamlProblem(f"{error}, in a document from line {first_line + 1} on")


def documents(text: str) -> Iterator[tuple[int, str]]:
    """The documents of a text, each with the number of its first line, counted from 0.

    They are cut before they are parsed, so that a broken one does not hide those after it.
    """
    place, line = 0, 0
    for found in (*_DOCUMENT.finditer(text), None):
        end = len(text) if found is None else found.start()
        document = text[place:end]
        if document.strip():
            yield line, document
        line += document.count("\n")
        place = end if found is None else found.end()


def compose(text: str) -> list[tuple[yaml.Node, Any]]:
    """Every document of a text: its nodes, which know where they are in it, and its data.

    Raises:
        YamlProblem: it is no YAML.
    """
    found = []
    try:
        check_depth(text)
        loader = _Loader(text)
        while loader.check_node():
            node = loader.get_node()
            found.append((node, loader.construct_document(node)))
    except (yaml.YAMLError, TooDeep, ValueError, RecursionError) as error:
        raise _problem(error, 0) from error
    return found
