"""The lines of a file as they may be printed: the values of Secrets, keys and passwords are hidden.

The command line prints the diffs of ``--fix`` with it, whose context may be a neighbour that has
nothing to do with what was corrected. In doubt, too much is hidden. No I/O.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import yaml

from mooring import yaml_text

HIDDEN: Final = "(hidden)"
_KIND: Final = "Secret"
#: Fields of a Secret whose values are hidden; kubectl keeps a copy of it in an annotation.
_VALUES: Final = ("data", "stringData", "annotations")
_GENERATOR: Final = "secretGenerator"
#: A document that is not YAML is hidden if it may have secrets.
_MAY_HAVE_SECRETS: Final = re.compile(r"(?i)secret|passw|token|credential|key")
#: Environment variables whose values are hidden.
_SECRET_VARIABLE: Final = re.compile(r"(?i)passw|pwd|token|secret|credential|api_?key|private_?key")
#: Fields in texts of any kind, such as a kubeconfig in a ConfigMap, up to their values.
_FIELD: Final = re.compile(
    r"""(?ix)
    ( (?<![\w.-])
      (?: [\w.-]*passw(?:or)?d | (?:[a-z]+[-_])?token | keyData | client-key-data
        | client[-_]?secret | (?:[a-z]+[-_])?api[-_]?key )
      (?:\\*["'])? \s* : \s* )
    (?: (?P<quote>\\*["']) .*? (?: (?P=quote) | $ ) | [^\s"'\\{\[|>] .* )
    """
)
_CREDENTIALS: Final = re.compile(r"(://)[^/@\s]*:[^/@\s]*(@)")
#: The query of an address, whose values may be tokens.
_QUERY: Final = re.compile(r"""(://[^\s"'?#]*\?)([^\s"'#\\]+)""")
_KEY_BEGIN: Final = re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----)(.*)")
_KEY_END: Final = re.compile(r"-----END [A-Z ]*PRIVATE KEY-----")
_COMMENT: Final = re.compile(r"(^|\s)#.*")


class _Span(NamedTuple):
    """A part of a document; lines and columns from 0."""

    line: int
    column: int
    end_line: int
    end_column: int


def without_secrets(text: str) -> list[str]:
    """The lines of a text, as many as it has."""
    lines = text.splitlines()
    for first, document in yaml_text.documents(text):
        _hide_in_document(lines, first, document)
    return [*_without_keys(lines)]


def _hide_in_document(lines: list[str], first: int, document: str) -> None:
    inner = document.splitlines()
    # JSON may be indented with tabs, YAML may not; a space keeps every column.
    spaced = document.replace("\t", " ") if document.lstrip()[:1] in "{[" else document
    try:
        found = [node for node, _ in yaml_text.compose(spaced)]
    except yaml_text.YamlProblem:
        if _MAY_HAVE_SECRETS.search(document):
            for line in range(first, first + len(inner)):
                lines[line] = _hidden_line(lines[line])
        return
    # What separates it from the document before may be in its first line.
    shift = len(lines[first]) - len(inner[0])
    spans: set[_Span] = set()
    commented: set[int] = set()
    for root in found:
        for node in _mappings(root):
            if _field(node, "kind") == _KIND:
                whole = node is root
                end = len(inner) if whole else node.end_mark.line + 1
                commented |= {*range(0 if whole else node.start_mark.line, end)}
            spans.update(map(_span, _hidden_values(node)))
    for one in sorted(spans, reverse=True):  # what comes before keeps its place
        _hide_span(lines, first, shift, one)
    for line in commented:
        if first + line < len(lines):
            lines[first + line] = _COMMENT.sub(rf"\1# {HIDDEN}", lines[first + line])


def _mappings(root: yaml.Node) -> Iterator[yaml.MappingNode]:
    """All mappings of a document, each of them once."""
    todo, seen = [root], set()
    while todo:
        node = todo.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            yield node
            todo += [part for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            todo += node.value


def _field(node: yaml.MappingNode, name: str) -> str:
    for key, value in node.value:
        if getattr(key, "value", None) == name and isinstance(value, yaml.ScalarNode):
            return str(value.value)
    return ""


def _hidden_values(node: yaml.MappingNode) -> Iterator[yaml.ScalarNode]:
    """The values in a mapping that are secrets."""
    is_secret = _field(node, "kind") == _KIND
    is_variable = _SECRET_VARIABLE.search(_field(node, "name")) is not None
    for key, value in node.value:
        name = getattr(key, "value", None)
        is_value = (is_variable and name == "value") or (is_secret and name in _VALUES)
        if is_value or name == _GENERATOR:
            yield from _scalars(value)
        elif is_secret and name == "metadata" and isinstance(value, yaml.MappingNode):
            for inner, annotations in value.value:
                if getattr(inner, "value", None) in _VALUES:
                    yield from _scalars(annotations)


def _scalars(root: yaml.Node) -> Iterator[yaml.ScalarNode]:
    """All values below a node; names of fields are none."""
    todo, seen = [root], set()
    while todo:
        node = todo.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            yield node
        elif isinstance(node, yaml.MappingNode):
            todo += [value for _, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            todo += node.value


def _span(node: yaml.ScalarNode) -> _Span:
    begin, end = node.start_mark, node.end_mark
    return _Span(begin.line, begin.column, end.line, end.column)


def _hide_span(lines: list[str], first: int, shift: int, span: _Span) -> None:
    for number in range(span.line, span.end_line + 1):
        place = first + number
        if place >= len(lines):
            return
        line = lines[place]
        moved = shift if number == 0 else 0
        begin = span.column + moved if number == span.line else 0
        end = span.end_column + moved if number == span.end_line else len(line)
        part = line[begin:end]
        if part.strip():
            lines[place] = f"{line[:begin]}{_hidden_line(part)}{line[end:]}"


def _hidden_line(line: str) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    return f"{indent}{HIDDEN}" if line.strip() else line


def _without_keys(lines: list[str]) -> Iterator[str]:
    """The lines without private keys, passwords and tokens, whatever they are part of."""
    in_key = False
    for original in lines:
        line = original
        if in_key:
            end = _KEY_END.search(line)
            in_key = end is None
            line = _hidden_line(line) if end is None else line[end.start() :]
        begin = _KEY_BEGIN.search(line)
        if begin is not None:
            ends = [*_KEY_END.finditer(line, begin.end(1))]
            in_key = not ends
            rest = line[ends[-1].start() :] if ends else ""
            between = HIDDEN if begin[2] else ""
            line = f"{line[: begin.end(1)]}{between}{rest}"
        line = _CREDENTIALS.sub(rf"\1{HIDDEN}\2", line)
        line = _QUERY.sub(lambda found: found[1] + _hidden_query(found[2]), line)
        yield _FIELD.sub(rf"\1{HIDDEN}", line)


def _hidden_query(query: str) -> str:
    """A query with the names in it alone."""
    parts = (part.partition("=") for part in query.split("&"))
    return "&".join(f"{name}={HIDDEN}" if equals else HIDDEN for name, equals, _ in parts)
