"""YAML with positions: which line a field is in, also inside a text that is YAML itself.

Who reports mistakes in a file reads it with this: the doctor, and scenarios. No I/O.

A value of a block style (``config.yaml: |``) is a document in a document: its lines are lines of
the file, moved to the right by the indentation.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import yaml

from mooring import yaml_text

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

    def nested(self, path: Path) -> Self | None:
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
        return type(self)(self.file, self._lines, text, begin, indent)

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
