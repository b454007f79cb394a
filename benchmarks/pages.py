"""The tables of a run on their page of the documentation; called by the benchmarks and by a test.

A run with ``--out docs/benchmarks`` finds the page beside its results and puts its tables between
the two marks there.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.command import BenchError
from benchmarks.reporting import Part

_TABLES: Final = "tables"
_END: Final = "<!-- end -->"


def table(part: Part) -> str:
    """A table as Markdown."""
    title, columns, rows = part
    lines = [columns, tuple("---:" if place else "---" for place in range(len(columns))), *rows]
    shown = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"**{title}**\n\n{shown}"


def tables(parts: Sequence[Part], other_load: float) -> str:
    """All tables as Markdown, and how busy the machine was."""
    texts = [table(part) for part in parts]
    texts.append(f"Other programs used {other_load:.0%} of the CPUs meanwhile.")
    return "\n\n".join(texts)


def with_places(text: str, places: Mapping[str, str], page: Path) -> str:
    """A page with a text at each of its named places.

    Args:
        text: the page as it is.
        places: texts by name; a place is between ``<!-- NAME -->`` and ``<!-- end -->``.
        page: where it is from, for messages.

    Raises:
        BenchError: there is no such place.
    """
    for name, shown in places.items():
        head, begin, rest = text.partition(f"<!-- {name} -->")
        _, end, tail = rest.partition(_END)
        if not begin or not end:
            raise BenchError(f"{page} has no place for {name}, between <!-- {name} --> and {_END}.")
        text = f"{head}{begin}\n\n{shown}\n\n{end}{tail}"
    return text


def write_page(parts: Sequence[Part], other_load: float, page: Path) -> None:
    """Put the tables into a page, if it exists."""
    if not page.exists():
        return
    places = {_TABLES: tables(parts, other_load)}
    page.write_text(with_places(page.read_text(), places, page))
