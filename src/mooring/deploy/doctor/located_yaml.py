"""YAML with positions: which line a field is in, also inside a ConfigMap's value.

`manifest_reader` reads files with it, and checks ask it where to point and what to edit. No I/O.

A value of a block style (``config.yaml: |``) is a document in a document: its lines are lines of
the file, moved to the right by the indentation.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import yaml

from mooring import yaml_text
from mooring.deploy.doctor.findings import Edit

Path = Sequence[str | int]


class Position(NamedTuple):
    """Where a field's name and value begin; lines from 0 and columns from 0, of the whole file."""

    line: int
    column: int
    value_line: int
    value_column: int
    flow: bool
    quoted: bool


class LocatedDocument:
    """One document of a file, with the positions of its fields.

    Args:
        file: the name of the file.
        lines: all lines of the file.
        text: the text of the document.
        first_line: the line of the file that it begins with, counted from 0.
        indent: so many columns of the file are not part of the text.

    Raises:
        yaml_text.YamlProblem: it is not YAML.
    """

    def __init__(
        self, file: str, lines: Sequence[str], text: str, first_line: int = 0, indent: int = 0
    ) -> None:
        self.file = file
        self.text = text
        self._lines = lines
        self._first_line = first_line
        self._indent = indent
        # JSON may be indented with tabs, YAML may not; a space keeps every column.
        spaced = text.replace("\t", " ") if text.lstrip().startswith("{") else text
        found = yaml_text.compose(spaced, first_line)
        if len(found) > 1:
            raise yaml_text.YamlProblem(
                f"it has several documents that no --- separates, in line {first_line + 1}"
            )
        self.data: Any = None
        self._root: yaml.Node | None = None
        for self._root, self.data in found:
            pass

    @property
    def first_line(self) -> int:
        """The line it begins with, counted from 1."""
        return self._first_line + 1

    def position(self, path: Path) -> Position | None:
        """Where the field at a path is; None if there is none."""
        found = self._find(path)
        if found is None:
            return None
        key, value, flow = found
        begin = (key or value).start_mark
        return Position(
            begin.line + self._first_line,
            begin.column + self._indent,
            value.start_mark.line + self._first_line,
            value.start_mark.column + self._indent,
            flow,
            key is not None and getattr(key, "style", None) in ("'", '"'),
        )

    def line(self, path: Path) -> int:
        """The line of the field, or of the nearest one above it that exists, counted from 1."""
        for end in range(len(path), -1, -1):
            found = self.position(path[:end])
            if found is not None:
                return found.line + 1
        return self.first_line

    def nested(self, path: Path) -> "LocatedDocument | None":
        """The document that the value at a path is; None unless it is a text in block style.

        Raises:
            yaml_text.YamlProblem: it is not YAML.
        """
        found = self._find(path)
        if found is None or getattr(found[1], "style", None) != "|":
            return None
        text = found[1].value
        begin = found[1].start_mark.line + self._first_line + 1
        indent = 0
        for place, inner in enumerate(text.splitlines()):
            if inner.strip() and begin + place < len(self._lines):
                outer = self._lines[begin + place]
                indent = len(outer) - len(outer.lstrip()) - (len(inner) - len(inner.lstrip()))
                break
        return LocatedDocument(self.file, self._lines, text, begin, indent)

    def repeated(self) -> Iterator[Path]:
        """The fields that a mapping has more than once, each once."""
        seen: set[int] = set()  # aliases may lead to a node again
        todo: list[tuple[Path, yaml.Node | None]] = [((), self._root)]
        while todo:
            path, node = todo.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            if isinstance(node, yaml.MappingNode):
                names = [getattr(key, "value", None) for key, _ in node.value]
                texts = [one for one in names if isinstance(one, str) and one != "<<"]
                for name, times in Counter(texts).items():
                    if times > 1:
                        yield (*path, name)
                todo += [
                    ((*path, name), value)
                    for name, (_, value) in zip(names, node.value, strict=True)
                    if isinstance(name, str)
                ]
            elif isinstance(node, yaml.SequenceNode):
                todo += [((*path, at), one) for at, one in enumerate(node.value)]

    def replaced(self, path: Path, new: str) -> tuple[Edit, ...]:
        """The edit that gives a plain field another value; none if its place is not known."""
        found = self._find(path)
        where = self.position(path)
        if found is None or where is None or not isinstance(found[1], yaml.ScalarNode):
            return ()
        mark, end = found[1].start_mark, found[1].end_mark
        if mark.line != end.line:
            return ()
        line, column = where.value_line, where.value_column
        old = self._lines[line][column : column + end.column - mark.column]
        quote = old[:1] if old[:1] in "\"'" and old[:1] else ""
        return (Edit(self.file, line + 1, column, old, f"{quote}{new}{quote}"),)

    def renamed(self, path: Path, name: str) -> tuple[Edit, ...]:
        """The edit that gives a field another name."""
        found, where = self._find(path), self.position(path)
        if found is None or where is None or found[0] is None:
            return ()
        old = found[0].value
        shift = 1 if where.quoted else 0
        return (Edit(self.file, where.line + 1, where.column + shift, old, name),)

    def inserted(self, before: Path, field: str) -> tuple[Edit, ...]:
        """The edit that writes ``name: value`` before a field that exists, in its style.

        Args:
            before: the field.
            field: the new one in block style; further lines of it are indented as they are.
        """
        where = self.position(before)
        if where is None:
            return ()
        if not where.flow:
            indent = "\n" + " " * where.column
            return (Edit(self.file, where.line + 1, where.column, "", _joined(field, indent)),)
        data = yaml_text.parse(field)
        flow = json.dumps(data) if where.quoted else _flow(data)
        return (Edit(self.file, where.line + 1, where.column, "", f"{flow[1:-1]}, "),)

    def items_before(self, path: Path, items: Sequence[str]) -> tuple[Edit, ...]:
        """The edit that writes items before one of a list in block style; none in flow style."""
        where = self.position(path)
        if where is None or where.flow:
            return ()
        line = self._lines[where.line]
        dash = line.rfind("-", 0, where.column)
        if line[:dash].strip():
            return ()
        text = "".join(f"{line[:dash]}- {one}\n" for one in items)
        return (Edit(self.file, where.line + 1, 0, "", text),)

    def without_line(self, path: Path) -> tuple[Edit, ...]:
        """The edit that takes out the line of a field or an item that has one line to itself."""
        where = self.position(path)
        if where is None or where.flow:
            return ()
        return (Edit(self.file, where.line + 1, 0, f"{self._lines[where.line]}\n", ""),)

    def _find(self, path: Path) -> tuple[Any, Any, bool] | None:
        """The node of the field's name, that of its value, and whether it is in flow style."""
        node, key, flow = self._root, None, False
        for step in path:
            if isinstance(node, yaml.MappingNode):
                flow = bool(node.flow_style)
                match = [pair for pair in node.value if getattr(pair[0], "value", None) == step]
                if not match:
                    return None
                key, node = match[-1]
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                if step >= len(node.value):
                    return None
                flow, key, node = bool(node.flow_style), None, node.value[step]
            else:
                return None
        return None if node is None else (key, node, flow)


def _flow(data: object) -> str:
    text: str = yaml.safe_dump(data, default_flow_style=True, sort_keys=False, width=float("inf"))
    return text.strip()


def _joined(field: str, indent: str) -> str:
    return "".join(line + indent for line in field.splitlines())
