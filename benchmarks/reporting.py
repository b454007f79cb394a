"""What all benchmarks write alike: goals, percentiles, tables for people, JSON for programs.

Called by each benchmark's own `report` and `goals`.
"""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.command import BenchError

Number = TypeVar("Number", int, float)
R = TypeVar("R", bound=msgspec.Struct)
#: A table as texts: its title, the names of its columns, and its rows.
Part = tuple[str, tuple[str, ...], list[tuple[str, ...]]]

#: Other programs that use more of the CPUs make times unreliable.
MOST_OTHER_LOAD = 0.1


class Goal(msgspec.Struct):
    """One goal and what was measured."""

    goal: str
    measured: str
    met: bool


def times(value: float) -> str:
    """A ratio for people: two decimals where they decide."""
    return f"{value:.2f}" if value < 2 else f"{value:.1f}"


def percentile(values: Sequence[Number], share: float) -> Number:
    """The smallest value that at least this share of all values do not exceed."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


def write_json(report: R, file: Path) -> R:
    """Write a report as indented JSON, numbers rounded to what they are worth; the same so."""
    written = rounded(report)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(written), indent=2) + b"\n")
    return written


def rounded(report: R) -> R:
    """The same figures as they are written; what is said about them is to be true of these."""
    return msgspec.convert(_rounded(msgspec.to_builtins(report)), type(report))


def read_report(file: Path, kind: type[R]) -> R:
    """Read what `write_json` wrote.

    Raises:
        BenchError: it is not there, or of another version.
    """
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError) as error:
        raise BenchError(f"{file} cannot be read: {error}.") from error


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return value


def new_table(title: str, console: Console) -> Table:
    """An empty table; plain text when the output is no terminal."""
    style = box.SIMPLE_HEAD if console.is_terminal else box.ASCII2
    return Table(title=title, title_justify="left", box=style, pad_edge=False)


def print_parts(parts: Iterable[Part], console: Console) -> None:
    """Print tables, the first column to the left and the others to the right."""
    for title, columns, rows in parts:
        table = new_table(title, console)
        table.add_column(columns[0], no_wrap=True)
        for name in columns[1:]:
            table.add_column(name, justify="right")
        for row in rows:
            table.add_row(*row)
        console.print(table)


def print_ending(other_load: float, goals: Iterable[Goal], console: Console) -> None:
    """Print how quiet the machine was, and the goals."""
    others = f"Other programs used {other_load:.0%} of the CPUs during this run"
    verdict = "too much to trust the numbers" if other_load > MOST_OTHER_LOAD else "fine"
    console.print(f"{others}: {verdict}.", highlight=False, soft_wrap=True)
    for goal in goals:
        mark = "[green]ok     [/]" if goal.met else "[red]NOT MET[/]"
        console.print(f"{mark} {goal.goal}: {goal.measured}", highlight=False, soft_wrap=True)
