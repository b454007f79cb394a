"""YAML as Kubernetes reads it. Imported only where YAML is read or written: it starts slowly."""

import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from mooring.yaml_depth import TooDeep, check_depth

#: How much a text with aliases may hold once they are written out.
MOST_ALIASED_VALUES: Final = 200_000
_ALIAS: Final = re.compile(r"[&*][^\s,\[\]{}]")
_DOCUMENT: Final = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_TIMESTAMP: Final = "tag:yaml.org,2002:timestamp"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A safe loader for which a date is a text."""


_Loader.yaml_implicit_resolvers = {
    first: [one for one in resolvers if one[0] != _TIMESTAMP]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _binary(loader: Any, node: yaml.ScalarNode) -> str:
    """What ``!!binary`` stands for: JSON, and so Kubernetes, has texts only."""
    try:
        return str(yaml.SafeLoader.construct_yaml_binary(loader, node), "utf-8")
    except UnicodeDecodeError:
        problem = "a value with the tag !!binary is no UTF-8 text"
        raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from None


def _no_json(_: Any, node: yaml.Node) -> None:
    problem = f"the tag {node.tag.replace('tag:yaml.org,2002:', '!!')} is not supported"
    raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


_Loader.add_constructor("tag:yaml.org,2002:binary", _binary)
for _kind in ("set", "omap", "pairs"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", _no_json)


class Dumper(yaml.SafeDumper):
    """A safe dumper that quotes texts which Go would read as numbers or switches."""


# parity v1.36.4: sigs.k8s.io/yaml goyaml.v2 resolve.go. PyYAML alone leaves 1e3, 089, 0o17 and y.
Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(\.[0-9_]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9_]+)?$"),
    [*"-+.0123456789"],
)
Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"[-+]?0[bBoOxX][0-9a-fA-F_]+$"), [*"-+0"]
)
Dumper.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"[yYnN]$"), [*"yYnN"])


class YamlProblem(ValueError):  # noqa: N818 - reads as the sentence it is part of
    """A text is not YAML; the message says what is wrong and in which line.

    Attributes:
        line: of the file, counted from 1.
        column: counted from 1.
    """

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class ExcessiveAliasing(YamlProblem):
    """A short text stands for a huge object, or for one that contains itself."""


def parse(text: str, first_line: int = 0) -> Any:
    """One YAML document as plain data.

    Args:
        text: the document.
        first_line: the number of its first line in the file, counted from 0.

    Raises:
        YamlProblem: it is not YAML.
    """
    try:
        check_depth(text)
        found = yaml.load(text, _Loader)  # noqa: S506 - a safe loader
        _check_aliases(text, found)
    except (yaml.YAMLError, TooDeep, ValueError, RecursionError) as error:
        raise _problem(error, text, first_line) from error
    return found


def check_utf8(text: str) -> None:
    """See that no lone surrogate stands for a byte of a file that is not UTF-8.

    Raises:
        YamlProblem: one does.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _problem(error, text, 0) from error


def _problem(error: Exception, text: str, first_line: int) -> YamlProblem:
    line, column = first_line + 1, 1
    if isinstance(error, UnicodeEncodeError):
        line += error.object.count("\n", 0, error.start)
        return YamlProblem(f"it is not valid UTF-8, in line {line}", line)
    if isinstance(error, yaml.YAMLError):
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        if mark is None and (found := yaml.reader.Reader.NON_PRINTABLE.search(text)) is not None:
            line += text.count("\n", 0, found.start())
            column = found.start() - text.rfind("\n", 0, found.start())
            problem = f"the character U+{ord(found[0]):04X} is not allowed"
        elif mark is not None:
            line, column = line + mark.line, mark.column + 1
        return YamlProblem(f"{problem}, in line {line}", line, column)
    if isinstance(error, TooDeep):
        line += error.line
        return YamlProblem(f"{error}, in line {line}", line)
    kind = ExcessiveAliasing if isinstance(error, ExcessiveAliasing) else YamlProblem
    return kind(f"{error}, in a document from line {line} on", line)


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
        line += len(f"{document}.".splitlines()) - 1  # as YAML counts: also after CR, NEL and LS
        place = end if found is None else found.end()


def _check_aliases(text: str, data: Any) -> None:
    """See that data are not large once aliases are written out: whoever walks them does that."""
    if _ALIAS.search(text) is None:
        return
    values = 0
    todo: list[Iterator[Any]] = [iter((data,))]
    while todo:
        one = next(todo[-1], todo)  # which is no value of it
        if one is todo:
            todo.pop()
            continue
        values += 1
        if values > MOST_ALIASED_VALUES:
            raise ExcessiveAliasing(
                f"it holds more than {MOST_ALIASED_VALUES} values once its aliases are written "
                "out, or refers to itself"
            )
        if isinstance(one, dict):
            todo.append(iter(one.values()))
        elif isinstance(one, list):
            todo.append(iter(one))


def compose(text: str, first_line: int = 0) -> list[tuple[yaml.Node, Any]]:
    """Every document of a text: its nodes, which know where they are in it, and its data.

    Args:
        text: the text.
        first_line: the number of its first line in the file, counted from 0.

    Raises:
        YamlProblem: it is not YAML.
    """
    found = []
    try:
        check_depth(text)
        loader = _Loader(text)
        while loader.check_node():
            node = loader.get_node()
            data = loader.construct_document(node)
            _check_aliases(text, data)
            found.append((node, data))
    except (yaml.YAMLError, TooDeep, ValueError, RecursionError) as error:
        raise _problem(error, text, first_line) from error
    return found
