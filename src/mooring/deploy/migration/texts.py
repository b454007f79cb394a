"""YAML and JSON texts: which line a field is in, and changes that leave the rest as it is.

Called by `migration` and `scheduler_args`. Knows nothing about what is in a text.
"""

import re
from typing import Any, Final, NamedTuple

import msgspec
import yaml

from mooring import yaml_text
from mooring.deploy.migration.migration_error import MigrationError

#: No manifest and no ConfigMap comes near.
MOST_BYTES: Final = 4 * 2**20
_STEP: Final = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


class TextDocument(NamedTuple):
    """One document of a text."""

    node: yaml.Node
    data: Any


class EditedText:
    """A text, its documents, and the changes to make.

    Args:
        text: YAML or JSON.
        source: its name, for messages.

    Raises:
        MigrationError: it is not YAML, or too large.
    """

    def __init__(self, text: str, source: str) -> None:
        if len(text) > MOST_BYTES:
            most = f"{MOST_BYTES >> 20} MiB"
            raise MigrationError(f"{source} has more than {most}; give a smaller file", source)
        self.text = text
        self.source = source
        self.is_json = text.lstrip()[:1] in ("{", "[")
        # Tabs may stand between the words of JSON, but not of YAML.
        readable = text.replace("\t", " ") if self.is_json else text
        try:
            self.documents = [TextDocument(*one) for one in yaml_text.compose(readable)]
        except yaml_text.YamlProblem as error:
            raise MigrationError(f"{source} is not YAML: {error}", source) from error
        self._changes: list[tuple[int, int, str]] = []
        self._items: dict[tuple[int, str], tuple[yaml.MappingNode, list[dict[str, Any]]]] = {}
        self._appended: list[str] = []

    def replace(self, start: int, end: int, text: str) -> None:
        """Replace a part; doing it twice in the same way is doing it once."""
        if start == end or (start, end, text) not in self._changes:
            self._changes.append((start, end, text))

    def changed(self) -> str:
        """The text with all changes.

        Raises:
            MigrationError: two of them are about the same part and differ.
        """
        found, after = self.text, len(self.text)
        added = [self._items_added(one[0], name, one[1]) for (_, name), one in self._items.items()]
        # What is put in at a place stays in the order in which it was asked for.
        for start, end, text in sorted([*self._changes, *added], key=lambda one: one[:2])[::-1]:
            if end > after:
                raise MigrationError(
                    f"{self.source} has one configuration for several schedulers that differ; "
                    "give each of them its own",
                    self.source,
                )
            found = found[:start] + text + found[end:]
            after = start
        for text in self._appended:
            newline = "" if found.endswith("\n") else "\n"
            found += f"{newline}---\n{text}"
        return found

    def set_text(self, key: yaml.Node, node: yaml.Node, value: str) -> None:
        """Give a text of many lines, as the values of a ConfigMap are."""
        start, end = node.start_mark.index, node.end_mark.index
        if self.is_json or self._is_flow(key):
            self.replace(start, end, _quoted(value))
            return
        indent = " " * (key.start_mark.column + 2)
        lines = "".join(f"{indent}{line}\n" if line else "\n" for line in value.splitlines())
        if self.text[start] not in "|>":
            end = self._line_end(end)
        self.replace(start, end, f"|\n{lines}")

    def edit_items(
        self, sequence: yaml.SequenceNode, removed: set[int], replaced: dict[int, str]
    ) -> None:
        """Take items out of a list of words and give others another value."""
        items = sequence.value
        if sequence.flow_style:
            written = [
                msgspec.json.encode(replaced[at]).decode() if at in replaced else self._text_of(one)
                for at, one in enumerate(items)
                if at not in removed
            ]
            start, end = sequence.start_mark.index, sequence.end_mark.index
            self.replace(start, end, f"[{', '.join(written)}]")
            return
        for at, one in enumerate(items):
            if at in removed:
                self.replace(self._line_of_dash(sequence, one), self._block_end(one), "")
            elif at in replaced:
                self._replace_word(one, replaced[at])

    def _line_of_dash(self, sequence: yaml.SequenceNode, item: yaml.Node) -> int:
        """Where the line of an item's dash begins, which may stand above the item."""
        column = sequence.start_mark.column
        end = item.start_mark.index
        while True:
            start = self.text.rfind("\n", 0, end) + 1
            before = self.text[start : start + column + 1]
            if before == f"{' ' * column}-" or start <= sequence.start_mark.index:
                return start
            end = start - 1

    def _replace_word(self, node: yaml.Node, value: str) -> None:
        start, end = node.start_mark, node.end_mark
        if self.text[start.index] not in "|>":
            self.replace(start.index, end.index, _quoted(value))
            return
        dash = self.text.rfind("-", 0, start.index)
        indent = " " * (dash - self.text.rfind("\n", 0, dash) + 1)
        chomping = "" if value.endswith("\n") else "-"
        lines = "".join(f"{indent}{line}\n" if line else "\n" for line in value.splitlines())
        self.replace(start.index, self._block_end(node), f"|{chomping}\n{lines}")

    def _text_of(self, node: yaml.Node) -> str:
        return self.text[node.start_mark.index : node.end_mark.index]

    def remove_pair(self, mapping: yaml.MappingNode, key: yaml.Node, value: yaml.Node) -> None:
        """Take a field out of a mapping; one that loses its last field is empty then."""
        if len(mapping.value) == 1:
            empty = "{}" if mapping.flow_style else "{}\n"
            self.replace(mapping.start_mark.index, mapping.end_mark.index, empty)
        elif mapping.flow_style:
            pairs = [one for one, _ in mapping.value]
            at = pairs.index(key)
            if at + 1 < len(pairs):
                self.replace(key.start_mark.index, pairs[at + 1].start_mark.index, "")
            else:
                before = mapping.value[at - 1][1]
                self.replace(before.end_mark.index, value.end_mark.index, "")
        else:
            start = self.text.rfind("\n", 0, key.start_mark.index) + 1
            self.replace(start, self._block_end(value), "")

    def append_item(self, mapping: yaml.MappingNode, name: str, item: dict[str, Any]) -> None:
        """Append an object to the list that a field of a mapping has, or will have."""
        self._items.setdefault((id(mapping), name), (mapping, []))[1].append(item)

    def _items_added(
        self, mapping: yaml.MappingNode, name: str, items: list[dict[str, Any]]
    ) -> tuple[int, int, str]:
        """The change that appends objects to a list."""
        written = msgspec.json.encode(items).decode()
        sequence = field(mapping, name)
        if sequence is not None and not _is_inside(sequence, mapping):
            raise MigrationError(
                f"{self.source}, line {mapping.start_mark.line + 1}: {name} is an alias of what "
                "others have, too; write it out, so that it can be changed for one alone",
                self.source,
            )
        if isinstance(sequence, yaml.SequenceNode) and sequence.value:
            last = sequence.value[-1]
            if sequence.flow_style:
                return last.end_mark.index, last.end_mark.index, f", {written[1:-1]}"
            first = sequence.value[0].start_mark
            dash = self.text.rfind("-", 0, first.index)
            column = dash - (self.text.rfind("\n", 0, dash) + 1)
            end = self._block_end(last)
            # The last line of a file may have no end.
            newline = "" if self.text[:end].endswith("\n") else "\n"
            return end, end, f"{newline}{_items_text(items, column)}"
        at = mapping.start_mark
        if sequence is not None:  # an empty list, or nothing
            return sequence.start_mark.index, sequence.end_mark.index, f" {written}"
        if mapping.flow_style:
            return at.index + 1, at.index + 1, f'"{name}": {written}, '
        own = (key for key, _ in mapping.value if _is_inside(key, mapping))
        key = next(own, mapping).start_mark  # a merged key is elsewhere
        text = f"{name}:\n{_items_text(items, key.column)}{' ' * key.column}"
        return key.index, key.index, text

    def append_document(self, text: str) -> None:
        """Append a document, after everything else."""
        self._appended.append(text)

    def _block_end(self, node: yaml.Node) -> int:
        """Where the lines of a value end."""
        end = node.end_mark.index
        if node.end_mark.column == 0 and end > node.start_mark.index:
            return end
        if self.text[:end].rstrip(" ").endswith("\n"):
            return self.text.rfind("\n", 0, end) + 1
        return self._line_end(end)

    def _line_end(self, index: int) -> int:
        end = self.text.find("\n", index)
        return len(self.text) if end < 0 else end + 1

    def _is_flow(self, key: yaml.Node) -> bool:
        line = self.text.rfind("\n", 0, key.start_mark.index) + 1
        return bool(self.text[line : key.start_mark.index].strip(" -?\"'"))


def _is_inside(node: yaml.Node, mapping: yaml.MappingNode) -> bool:
    """Whether a node is written in a mapping, and not where an alias leads."""
    start, end = mapping.start_mark.index, mapping.end_mark.index
    return bool(start <= node.start_mark.index < end)


def _items_text(items: list[dict[str, Any]], column: int) -> str:
    written = yaml.dump(items, Dumper=yaml_text.Dumper, sort_keys=False, default_flow_style=False)
    return "".join(f"{' ' * column}{line}\n" for line in written.splitlines())


def _quoted(value: str) -> str:
    plain = re.fullmatch(r"[A-Za-z0-9_./=:@-]*[A-Za-z0-9_./=@-]", value)
    return value if plain and ": " not in value else msgspec.json.encode(value).decode()


def field(node: yaml.Node | None, name: str) -> yaml.Node | None:
    """The value of a field of a mapping, if there is one; the case does not matter."""
    found = pair(node, name)
    return found[1] if found is not None else None


def pair(node: yaml.Node | None, name: str) -> tuple[yaml.Node, yaml.Node] | None:
    """A field of a mapping with its name; the last one, as for Kubernetes."""
    if not isinstance(node, yaml.MappingNode):
        return None
    exact = [one for one in node.value if one[0].value == name]
    near = [one for one in node.value if str(one[0].value).lower() == name.lower()]
    found: list[tuple[yaml.Node, yaml.Node]] = exact or near
    return found[-1] if found else None


def line_of(node: yaml.Node, path: str) -> int:
    """The line, counted from 0, of a field such as ``profiles[0].plugins``, or of what is there."""
    line = node.start_mark.line
    for index, name in _STEP.findall(path):
        if index and isinstance(node, yaml.SequenceNode) and int(index) < len(node.value):
            node = node.value[int(index)]
            line = node.start_mark.line
        elif name and (found := pair(node, name)) is not None:
            node = found[1]
            line = found[0].start_mark.line
        else:
            break
    return line
