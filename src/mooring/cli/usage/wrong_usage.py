"""One sentence about a command line that cannot be understood, in the user's words.

`main` calls it with what typer says, which speaks of programs, not of what was typed.
"""

import re
from collections.abc import Callable
from typing import Final

#: What typer suggests for a name that is wrong, in its several ways.
_MEANT: Final = re.compile(
    r"\.? \(?(?:Did you mean|Possible options:|Did you mean one of:) ([^?)]+)[?)]*$"
)
#: What typer says, and what is clearer.
_PLAINER: Final[tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]] = (
    (re.compile("Value error, "), ""),
    (re.compile(r"Input should be a valid integer\b.*"), "must be an integer"),
    (re.compile(r"Input should be a valid number\b.*"), "must be a number"),
    (re.compile("Input should be greater than or equal to "), "must be at least "),
    (re.compile("Input should be less than or equal to "), "must be at most "),
    (re.compile(r"\. Choose from: "), "; choose from "),
    (
        re.compile(r"^Got unexpected extra arguments?(?:\(s\))? \((.+)\)$"),
        r"unexpected argument \1; if it belongs to an option, write the option before it",
    ),
    (re.compile(r"(?<=^Missing argument )'(\w+)'"), lambda found: found[1].upper()),
)


def usage_sentence(message: str, command: str) -> str:
    """One sentence about wrong usage, with what may have been meant."""
    what = " ".join(message.split()).rstrip(".")
    for pattern, plain in _PLAINER:
        what = pattern.sub(plain, what)
    meant = _MEANT.search(what)
    if meant is not None:
        what = f"{what[: meant.start()]}; did you mean {meant[1].replace(', ', ' or ')}?"
    see = f" See {command} --help" if what.endswith("?") else f"; see {command} --help"
    return f"{what[0].lower()}{what[1:]}{see}"
