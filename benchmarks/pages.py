"""The tables of a run on their page of the documentation; called by the benchmarks and by a test.

A run with ``--out docs/benchmarks`` finds the page beside its results and puts its tables between
the two marks there.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.command import BenchError
from benchmarks.reporting import Part

_BEGIN: Final = "<!-- tables -->"
_END: Final = "<!-- end -->"


def tables(parts: Sequence[Part], other_load: float) -> str:
    """All tables as Markdown, and how busy the machine was."""
    texts = []
    for title, columns, rows in parts:
        lines = [columns, tuple("---:" if place else "---" for place in range(len(columns))), *rows]
        shown = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        texts.append(f"**{title}**\n\n{shown}")
    texts.append(f"Other programs used {other_load:.0%} of the CPUs meanwhile.")
    return "\n\n".join(texts)


def write_page(parts: Sequence[Part], other_load: float, page: Path) -> None:
    """Put the tables into a page, if it exists."""
    if not page.exists():
        return
    head, begin, rest = page.read_text().partition(_BEGIN)
    _, end, tail = rest.partition(_END)
    if not begin or not end:
        raise BenchError(f"{page} has no place for the tables, between {_BEGIN} and {_END}.")
    page.write_text(f"{head}{_BEGIN}\n\n{tables(parts, other_load)}\n\n{_END}{tail}")
