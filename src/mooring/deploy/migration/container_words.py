"""Changes to the words that a container starts a program with.

Called by `scheduler_args`. The words are the items of ``command`` and ``args`` or, if these run a
shell, words in the string for ``sh -c``.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Protocol

import yaml

from mooring.deploy.container_programs import ContainerProgram
from mooring.deploy.migration.scheduler_flags import REMOVED_FLAGS
from mooring.deploy.migration.texts import EditedText
from mooring.deploy.shell_commands import without_word


class EditedWords(Protocol):
    """The words of a program, which places are counted in."""

    def edit(self, text: EditedText, removed: set[int], replaced: Mapping[int, str]) -> None:
        """Take words out and give others another value."""


class ListedWords:
    """The items of a container's ``command`` and ``args``, one after the other."""

    def __init__(self, lists: Sequence[yaml.SequenceNode]) -> None:
        self._items = [(node, at) for node in lists for at in range(len(node.value))]

    @property
    def values(self) -> list[str]:
        """The words."""
        return [str(node.value[at].value) for node, at in self._items]

    def item(self, place: int) -> tuple[yaml.SequenceNode, int]:
        """The list that a word is in, and its place there."""
        return self._items[place]

    def edit(self, text: EditedText, removed: set[int], replaced: Mapping[int, str]) -> None:
        """Take words out and give others another value."""
        for node in {id(one): one for one, _ in self._items}.values():
            places = {at: place for place, (one, at) in enumerate(self._items) if one is node}
            gone = {at for at, place in places.items() if place in removed}
            new = {at: replaced[place] for at, place in places.items() if place in replaced}
            if gone or new:
                text.edit_items(node, gone, new)


class ShellWords:
    """The words of a program in a string for ``sh -c``.

    Args:
        node: the list that the string is in.
        at: its place there.
        program: the program.
    """

    def __init__(self, node: yaml.SequenceNode, at: int, program: ContainerProgram) -> None:
        self._node = node
        self._at = at
        self._text = str(node.value[at].value)
        self._program = program

    @property
    def unknown(self) -> str:
        """The first word that only the shell knows and that a migration would have to know."""
        for flag in self._program.flags:
            words = [self._program.words[at] for at in flag.places]
            if flag.name in REMOVED_FLAGS and not all(one.fixed for one in words):
                return " ".join(self._text[one.start : one.end] for one in words)
        return ""

    @property
    def expanded(self) -> list[str]:
        """Words of their own that the shell expands, in which there may be flags, too."""
        values = {at for flag in self._program.flags for at in flag.places[1:]}
        return [
            self._text[one.start : one.end]
            for at, one in enumerate(self._program.words)
            if not one.fixed and one.value.startswith(("$", "`")) and at not in values
        ]

    def edit(self, text: EditedText, removed: set[int], replaced: Mapping[int, str]) -> None:
        """Take words out and give others another value."""
        changed = self._text
        for at in sorted(removed | replaced.keys(), reverse=True):
            word = self._program.words[at]
            if at in replaced:
                new = shlex.quote(replaced[at])
                changed = changed[: word.start] + new + changed[word.end :]
            else:
                changed = without_word(changed, word)
        text.edit_items(self._node, set(), {self._at: changed})
