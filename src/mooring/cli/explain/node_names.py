"""Names of nodes for a screen: in natural order, and cut in the middle where there is no room.

Used by everything that ``moor explain`` prints for people. Names are cut only if the screen has a
width; a pipe gets whole names.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from mooring.wording import natural_key

#: A line names so many nodes; of more it names a few and says how many there are.
_NAMED: Final = 4
_FEW_NAMES: Final = 3
#: Less of a name says nothing.
_SHORTEST: Final = 12
#: What " and 4999 more" takes.
_MORE: Final = 15
#: How much of what is kept of a name may be its end.
_ENDS: Final = (0.65, 0.35, 0.0)
#: What may be a name in a sentence; the point at its end is none of it.
_WORD: Final = re.compile(r"[a-z0-9](?:[-.a-z0-9]*[a-z0-9])?")


class NodeNames:
    """Names of nodes that fit into so many characters.

    Args:
        names: all names, so that those that are cut still differ where they can.
        width: how many characters a list of names may take; None for any number.
    """

    def __init__(self, names: Sequence[str], width: int | None) -> None:
        self._width = width
        self._known = frozenset(names)
        self._kept = _ENDS[0]
        if width is not None:
            # Names differ at their ends (pools) or at their starts (addresses).
            self._kept = max(
                _ENDS, key=lambda end: len({cut(name, self._one, end) for name in names})
            )

    @property
    def _one(self) -> int:
        return max(_SHORTEST, (self._width or 0) - _MORE)

    def short(self, name: str, width: int | None = None) -> str:
        """One name, cut in the middle if it is too long."""
        if self._width is None:
            return name
        return cut(name, width or self._one, self._kept)

    def listed(self, names: Iterable[str], word: str = "and") -> str:
        """Names in natural order: all of a few, else the first ones and how many more there are."""
        ordered = sorted(names, key=natural_key)
        for number in (len(ordered), *range(_FEW_NAMES, 0, -1)):
            if number > _NAMED or number > len(ordered):
                continue
            text = self._told(ordered, number, word)
            if self._width is None or len(text) <= self._width or number == 1:
                return text
        return ""

    def in_text(self, text: str, width: int) -> str:
        """A sentence in which every name of a node takes at most so many characters."""
        if self._width is None:
            return text

        def shorter(found: re.Match[str]) -> str:
            return self.short(found[0], width) if found[0] in self._known else found[0]

        return _WORD.sub(shorter, text)

    def _told(self, names: Sequence[str], number: int, word: str) -> str:
        told = [self.short(name) for name in names[:number]]
        if number < len(names):
            return f"{', '.join(told)} {word} {len(names) - number} more"
        return ", ".join(told)


def cut(name: str, width: int, end: float = _ENDS[0]) -> str:
    """A name in so many characters, cut in the middle; `end` is the part kept of its end."""
    if len(name) <= width:
        return name
    last = int((width - 1) * end)
    return f"{name[: width - 1 - last]}…{name[len(name) - last :]}"
