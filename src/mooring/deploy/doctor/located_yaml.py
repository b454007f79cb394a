"""Edits of YAML that keep everything else in a file as it is.

`manifest_reader` reads files with it, and checks ask it where to point and what to edit. No I/O.
"""

import json
from collections.abc import Sequence

import yaml

from mooring import located_yaml, yaml_text
from mooring.deploy.doctor.findings import Edit
from mooring.located_yaml import Path, Position

__all__ = ["EditableDocument", "Path", "Position"]


class EditableDocument(located_yaml.LocatedDocument):
    """One document of a file, with the positions of its fields and what would change them."""

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


def _flow(data: object) -> str:
    text: str = yaml.safe_dump(data, default_flow_style=True, sort_keys=False, width=float("inf"))
    return text.strip()


def _joined(field: str, indent: str) -> str:
    return "".join(line + indent for line in field.splitlines())
