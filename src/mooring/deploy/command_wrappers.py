"""Programs that start another one, such as ``tini``, ``env`` and ``nice``: where the other begins.

`shell_commands` and `container_programs` skip them in front of a program. Plain data, no I/O.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple


class _Wrapper(NamedTuple):
    """A program that starts another one.

    Attributes:
        options: those that take the next word as their value.
        operands: so many words stand between its options and the program.
    """

    options: tuple[str, ...] = ()
    operands: int = 0


_WRAPPERS: Final = {
    "catatonit": _Wrapper(),
    "command": _Wrapper(),
    "dumb-init": _Wrapper(("-r", "--rewrite")),
    "env": _Wrapper(("-u", "--unset", "-C", "--chdir")),
    "exec": _Wrapper(("-a",)),
    "go-runner": _Wrapper(),
    "gosu": _Wrapper(operands=1),
    "ionice": _Wrapper(("-c", "-n")),
    "nice": _Wrapper(("-n", "--adjustment")),
    "nohup": _Wrapper(),
    "setsid": _Wrapper(),
    "stdbuf": _Wrapper(("-i", "-o", "-e")),
    "su-exec": _Wrapper(operands=1),
    "time": _Wrapper(),
    "timeout": _Wrapper(("-k", "-s", "--kill-after", "--signal"), operands=1),
    "tini": _Wrapper(("-e", "-p")),
    "tini-static": _Wrapper(("-e", "-p")),
}
#: Scripts of images that end with ``exec "$@"``.
_ENTRY_POINT: Final = re.compile(r".*entry-?point.*|.*\.sh")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


def base_name(word: str) -> str:
    """The name of a program without its folder."""
    return word.rpartition("/")[2]


def program_at(words: Sequence[str]) -> int:
    """The place of the first word that is neither a wrapper nor an assignment, nor belongs to one.

    There may be no such word: then it is the number of words.
    """
    at = 0
    while at < len(words):
        name = base_name(words[at])
        wrapper = _WRAPPERS.get(name)
        if wrapper is None and _ENTRY_POINT.fullmatch(name):
            more = at + 1 < len(words) and not words[at + 1].startswith("-")
            wrapper = _Wrapper() if more else None
        if wrapper is not None:
            at = _after_options(words, at + 1, wrapper)
        elif _ASSIGNMENT.match(words[at]):
            at += 1
        else:
            break
    return min(at, len(words))


def _after_options(words: Sequence[str], at: int, wrapper: _Wrapper) -> int:
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "--":
            at += 1
            break
        at += 2 if words[at] in wrapper.options else 1
    return at + wrapper.operands
