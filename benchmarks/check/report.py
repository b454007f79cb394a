"""The tables of comparisons; called by `__main__`."""

from collections.abc import Sequence

import msgspec
from rich.console import Console

from benchmarks.check.turns import Comparison
from benchmarks.reporting import Part, print_parts

#: More of these times what it was is a loss.
MOST = 1.15


class Counted(msgspec.Struct):
    """Instructions of a decision in one case, before and now."""

    workload: str
    nodes: int
    before: float
    now: float

    @property
    def ratio(self) -> float:
        """How many times as many they are now."""
        return self.now / self.before


def losses(found: Sequence[Comparison | Counted]) -> list[str]:
    """The cases that have become dearer, by a sentence each."""
    return [
        f"{one.workload} on {one.nodes:,} nodes costs {one.ratio:.2f} times what it did, "
        f"more than {MOST}."
        for one in found
        if (one.low if isinstance(one, Comparison) else one.ratio) > MOST
    ]


def print_table(part: Part, found: Sequence[Comparison | Counted], console: Console) -> None:
    """Print a table and what has become dearer."""
    print_parts([part], console)
    for loss in losses(found):
        console.print(f"[red]DEARER [/] {loss}", highlight=False, soft_wrap=True)


def comparisons(found: Sequence[Comparison], revision: str) -> Part:
    """CPU time of two source trees, as a table."""
    columns = ("workload", "nodes", f"{revision}, µs", "this tree, µs", "times", "95 % within")
    rows: list[tuple[str, ...]] = [
        (
            one.workload,
            f"{one.nodes:,}",
            f"{one.base:,.1f}",
            f"{one.now:,.1f}",
            f"{one.ratio:.3f}",
            f"{one.low:.3f} to {one.high:.3f}",
        )
        for one in found
    ]
    return "CPU time of a decision, in turns", columns, rows


def counts(found: Sequence[Counted], before: str) -> Part:
    """Instructions of a decision before and now, as a table."""
    columns = ("workload", "nodes", f"{before}, thousands", "this tree, thousands", "times")
    rows: list[tuple[str, ...]] = [
        (
            one.workload,
            f"{one.nodes:,}",
            f"{one.before / 1000:,.1f}",
            f"{one.now / 1000:,.1f}",
            f"{one.ratio:.3f}",
        )
        for one in found
    ]
    return "Instructions of a decision", columns, rows
