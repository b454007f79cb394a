"""What a manifest is made of besides plain data: notes, chart values, YAML inside YAML.

The modules that make objects put these between dicts, lists and scalars; `plain_objects` takes
them out again, and `yaml_text` writes them. Nothing here knows what the objects are about.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

#: An object, or a part of one: dicts, lists, scalars, and the classes of this module.
Tree = Any


class Noted(msgspec.Struct, frozen=True):
    """A value with a comment behind it."""

    value: Tree
    note: str


class Setting(msgspec.Struct, frozen=True):
    """A value that a chart's users may change; plain manifests have its default.

    Attributes:
        default: the value; an empty one is left out of mappings.
        values: what it adds to the chart's values, by path, such as ``image.tag``.
        template: what a chart has in its place; empty for the only one of `values`.
    """

    default: Tree
    values: Mapping[str, Tree]
    template: str = ""

    @property
    def path(self) -> str:
        """The path of the only value."""
        (only,) = self.values
        return only


class MoreEntries(Setting, frozen=True):
    """Entries that a chart's users may add to a mapping; plain manifests have none.

    Its key in the mapping is written nowhere.
    """


class MoreItems(Setting, frozen=True):
    """Items that a chart's users may add to the end of a list; plain manifests have none."""


class ChartFile(msgspec.Struct, frozen=True):
    """The text of a file that a chart and a kustomization keep as it is.

    Attributes:
        name: the file's name.
        text: what is in it.
    """

    name: str
    text: str


class EmbeddedYaml(msgspec.Struct, frozen=True):
    """A YAML document as the text of a field, such as a configuration in a ConfigMap.

    Attributes:
        name: the file that a chart and a kustomization keep it in.
        content: what is in it.
    """

    name: str
    content: Tree


def setting(path: str, default: Tree) -> Setting:
    """A value of a chart under its own path."""
    return Setting(default, {path: default})


def more_entries(path: str) -> MoreEntries:
    """Further entries of a mapping, under a path of a chart's values."""
    return MoreEntries({}, {path: {}})


def more_items(path: str) -> MoreItems:
    """Further items of a list, under a path of a chart's values."""
    return MoreItems([], {path: []})


def extensible(items: list[Tree], path: str) -> Tree:
    """A list that a chart's users may extend; an empty one is left out of mappings."""
    return [*items, more_items(path)] if items else setting(path, [])


def is_left_out(value: Tree) -> bool:
    """Whether a mapping has no such entry: a setting whose default is empty."""
    return isinstance(value, Setting) and value.default in ({}, [], "", None)
