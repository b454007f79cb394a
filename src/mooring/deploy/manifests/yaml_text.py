"""Objects as YAML for people: comments, literal blocks, short lists in one line.

The writers use it. PyYAML writes scalars; it cannot write comments, so the rest is done here. With
`chart=True` settings are written as templates of Helm.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import yaml

from mooring.deploy.manifests.nodes import (
    ChartFile,
    EmbeddedYaml,
    MoreEntries,
    MoreItems,
    Noted,
    Setting,
    Tree,
    is_left_out,
)
from mooring.wording import escaped
from mooring.yaml_text import Dumper

#: Longer lists get a line for each item.
_FLOW_WIDTH: Final = 60
#: Texts that PyYAML writes in one line.
_SIMPLE: Final = re.compile(r"[ -~]*")


def yaml_text(tree: Tree, *, chart: bool = False) -> str:
    """A document as text.

    Args:
        tree: what is in it.
        chart: write settings as templates of Helm.
    """
    return "".join(f"{line}\n" for line in _Writer(chart=chart).lines(tree))


def chart_file_text(file: ChartFile | EmbeddedYaml) -> str:
    """A file as a chart keeps it."""
    if isinstance(file, ChartFile):
        return file.text
    return "".join(f"{line}\n" for line in _Writer(chart=True, inner=True).lines(file.content))


def comment_lines(text: str) -> str:
    """A text as comment lines."""
    return "".join(f"# {escaped(line)}".rstrip() + "\n" for line in text.splitlines())


def scalar_text(value: object) -> str:
    """One scalar as YAML in one line."""
    if isinstance(value, str) and (not value or not _SIMPLE.fullmatch(value)):
        return "".join(map(_escaped, json.dumps(value, ensure_ascii=False)))
    text: str = yaml.dump(value, Dumper=Dumper, default_flow_style=True, width=math.inf)
    return text.removesuffix("\n").removesuffix("\n...").strip()


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    number = ord(character)
    return f"\\u{number:04x}" if number < 1 << 16 else f"\\U{number:08x}"


class _Writer:
    def __init__(self, *, chart: bool, inner: bool = False) -> None:
        self._chart = chart
        # A document inside of another is text: quotes would make it another one.
        self._quote = "" if inner else '"'

    def lines(self, tree: Tree) -> Iterator[str]:
        if isinstance(tree, dict) and tree:
            yield from self._mapping(tree)
        elif isinstance(tree, list) and tree:
            yield from self._list(tree)
        else:
            yield self._one_line(tree)

    def _mapping(self, tree: dict[str, Tree]) -> Iterator[str]:
        for key, value in tree.items():
            if not is_left_out(value) or self._chart:
                yield from self._entry(self._text(scalar_text(key)), value)

    def _entry(self, key: str, value: Tree) -> Iterator[str]:
        note = ""
        while isinstance(value, (Noted, Setting)):
            if isinstance(value, Setting):
                if self._chart:
                    yield from self._templated(key, value, note)
                    return
                value = value.default
            else:
                note, value = f" # {value.note}", value.value
        if isinstance(value, EmbeddedYaml) and self._chart:
            yield f"{key}: |{note}"
            yield f'  {{{{- tpl (.Files.Get "{value.name}") . | nindent 4 }}}}'
        elif isinstance(value, EmbeddedYaml):
            yield f"{key}: |{note}"
            yield from _indented(self.lines(value.content))
        elif isinstance(value, ChartFile) and self._chart and _literal(value) is None:
            yield f'{key}: {{{{ .Files.Get "{value.name}" | quote }}}}{note}'
        elif isinstance(value, ChartFile) and self._chart:
            yield f"{key}: |{note}"
            yield f'  {{{{- .Files.Get "{value.name}" | nindent 4 }}}}'
        elif (text := _literal(value)) is not None:
            yield f"{key}: |{_chomping(text)}{note}"
            yield from _indented(self._text(text.removesuffix("\n")).split("\n"))
        elif isinstance(value, (dict, list)) and value and not self._is_short(value):
            yield f"{key}:{note}"
            yield from _indented(self.lines(value))
        else:
            yield f"{key}: {self._one_line(value)}{note}"

    def _list(self, tree: list[Tree]) -> Iterator[str]:
        for item in tree:
            if isinstance(item, MoreItems):
                if self._chart:
                    yield from _more(item)
                continue
            first, *rest = self.lines(item)
            yield f"- {first}"
            yield from _indented(rest)

    def _templated(self, key: str, value: Setting, note: str) -> Iterator[str]:
        default = value.default
        if isinstance(value, MoreEntries):
            yield from _more(value)
        elif not value.template and (isinstance(default, (dict, list)) or default == ""):
            # What is empty is left out, as in manifests without a chart.
            yield f"{{{{- with .Values.{value.path} }}}}"
            if isinstance(default, str):
                yield f"{key}: {{{{ . | quote }}}}{note}"
            else:
                yield f"{key}:{note}"
                text = "tpl (toYaml .) $" if _has_settings(default) else "toYaml ."
                yield f"  {{{{- {text} | nindent INDENT }}}}"
            yield "{{- end }}"
        else:
            yield f"{key}: {self._template(value)}{note}"

    def _template(self, value: Setting) -> str:
        if value.template:
            return f"{self._quote}{value.template}{self._quote}"
        match value.default:
            case str():
                filtered = " | quote"
            case bool():
                filtered = ""
            case _:
                filtered = " | int64"  # else a large number becomes 1e+09
        return f"{{{{ .Values.{value.path}{filtered} }}}}"

    def _one_line(self, value: Tree) -> str:
        if isinstance(value, Noted):
            return f"{self._one_line(value.value)} # {value.note}"
        if isinstance(value, Setting):
            return self._template(value) if self._chart else self._one_line(value.default)
        if isinstance(value, ChartFile):
            return self._text(scalar_text(value.text))
        if isinstance(value, list):
            items = [one for one in value if not isinstance(one, MoreItems)]
            return f"[{', '.join(map(self._list_item, items))}]"
        return self._text(scalar_text(value))

    def _list_item(self, value: Tree) -> str:
        """An item of a list in one line, where commas and brackets are marks."""
        text = self._one_line(value)
        if isinstance(value, str) and set(text) & set(",[]{}") and text[0] not in "\"'":
            quoted = text.replace("'", "''")
            return f"'{quoted}'"
        return text

    def _text(self, text: str) -> str:
        """A text that Helm leaves as it is."""
        return text.replace("{{", '{{ "{{" }}') if self._chart else text

    def _is_short(self, value: Any) -> bool:
        """Whether a list is written in one line."""
        long = (dict, list, Noted, MoreItems) if self._chart else (dict, list, Noted)
        return (
            isinstance(value, list)
            and not any(isinstance(one, long) for one in value)
            and len(self._one_line(value)) <= _FLOW_WIDTH
        )


def _more(value: Setting) -> Iterator[str]:
    yield f"{{{{- with .Values.{value.path} }}}}"
    yield "{{- toYaml . | nindent INDENT }}"
    yield "{{- end }}"


def _has_settings(tree: Tree) -> bool:
    """Whether a value has templates inside."""
    if isinstance(tree, dict):
        return any(map(_has_settings, tree.values()))
    return any(map(_has_settings, tree)) if isinstance(tree, list) else isinstance(tree, Setting)


def _literal(value: Tree) -> str | None:
    """A text of several lines that can be written as it is."""
    text = value.text if isinstance(value, ChartFile) else value
    if not isinstance(text, str) or "\n" not in text or text.startswith((" ", "\n", "\t")):
        return None
    return text if all(one.isprintable() or one in "\n\t" for one in text) else None


def _chomping(text: str) -> str:
    if text.endswith("\n\n"):
        return "+"
    return "" if text.endswith("\n") else "-"


def _indented(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield f"  {line}" if line else ""


def with_indents(text: str) -> str:
    """A template with the number of spaces at each ``nindent INDENT``, and at files."""
    found = []
    for line in text.splitlines():
        spaces = len(line) - len(line.lstrip(" "))
        line = re.sub(r"nindent (INDENT|\d+)", f"nindent {spaces}", line)
        found.append(line)
    return "".join(f"{line}\n" for line in found)
