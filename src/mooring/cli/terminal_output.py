"""How commands print tables and sentences: calm on a terminal of any width, plain in a pipe."""

import os
from collections.abc import Iterable, Sequence
from typing import Final

from rich.align import VerticalAlignMethod
from rich.console import (
    Console,
    ConsoleOptions,
    ConsoleRenderable,
    JustifyMethod,
    RenderableType,
    RenderHook,
    RenderResult,
)
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from mooring.wording import escaped

_NO_WRAP: Final = 100_000


def make_console(width: int | None = None, *, stderr: bool = False) -> Console:
    """A console that prints names and reasons as they are, save for what a terminal would obey.

    Args:
        width: the characters of a line; None for the terminal's.
        stderr: print to standard error.
    """
    console = Console(highlight=False, markup=False, emoji=False, width=width, stderr=stderr)
    console.push_render_hook(_EscapingHook())
    return console


class _EscapingHook(RenderHook):
    """Writes out control characters in everything that is printed."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """What is printed instead."""
        return [_Escaped(one) for one in renderables]


class _Escaped:
    """Something to print, in which only `rich` itself moves the cursor or changes colours."""

    def __init__(self, thing: ConsoleRenderable) -> None:
        self._thing = thing

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Its parts, as they are printed."""
        for segment in console.render(self._thing, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                lines = map(escaped, segment.text.split("\n"))
                yield Segment("\n".join(lines), segment.style)


class TerminalPrinter:
    """Prints tables and sentences to people and to pipes.

    Args:
        wide: lines may be longer than the terminal.
    """

    def __init__(self, *, wide: bool = False) -> None:
        console = make_console()
        # A pipe has no width, but people may give it one.
        limited = console.is_terminal or os.environ.get("COLUMNS", "").isdigit()
        if wide or not limited:
            console = make_console(_NO_WRAP)
        self._console = console
        #: How many characters a line has at most; None if there is no limit.
        self.width = console.width if console.width < _NO_WRAP else None

    def print(self, thing: RenderableType = "") -> None:
        """Print one thing; a pipe gets no spaces at the ends of lines."""
        if self._console.is_terminal:
            self._console.print(thing)
            return
        with self._console.capture() as captured:
            self._console.print(thing)
        print("\n".join(line.rstrip() for line in captured.get().splitlines()))

    def heading(self, text: str) -> None:
        """Print the heading of a part."""
        self.print()
        self.print(Text(text, style="bold"))


def answer_lines(mark: Text, sentences: Sequence[str]) -> Table:
    """Sentences behind a mark, the first one the loudest."""
    made = Table.grid(padding=(0, 1, 0, 0))
    for place, sentence in enumerate(sentences):
        made.add_row(mark if not place else "", Text(sentence, style="" if place else "bold"))
    return made


def table(*columns: str, numbers: Iterable[int] = (), lines: bool = False) -> Table:
    """An empty table in the style of the command line.

    Args:
        columns: the headers.
        numbers: the columns that hold numbers.
        lines: cells have several lines; else headers may.
    """
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    right = set(numbers)
    for place, column in enumerate(columns):
        vertical: VerticalAlignMethod = "bottom" if right and not lines else "top"
        justify: JustifyMethod = "right" if place in right else "left"
        made.add_column(
            column,
            justify=justify,
            no_wrap=place in right,
            vertical=vertical,
            overflow="ellipsis" if place in right else "fold",
        )
    return made


def yes_mark() -> Text:
    """The mark of what fits."""
    return Text("✓", style="green")


def no_mark() -> Text:
    """The mark of what does not."""
    return Text("✗", style="red")
