"""Which devices a pod gets on its node, as ``moor explain`` prints it.

Read from what a record says would be written into claims.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from mooring.cli.terminal_output import TerminalPrinter, table
from mooring.framework.decisions.record import Record

#: So many devices are printed.
_LINES: Final = 16


def print_devices(out: TerminalPrinter, record: Record, node: str = "") -> None:
    """Print the devices that the pod gets on a node, or on the first of the best nodes.

    Args:
        out: the terminal.
        record: the decision.
        node: the node; empty for the first of those among which the scheduler chooses.
    """
    if not node and not record.selected:
        return
    name = node or record.selected[0]
    claims = record.notes.get("allocations", {}).get(name, {})
    rows = list(_rows(claims))
    if not rows:
        return
    out.heading(f"Devices it gets on {name}")
    out.print(_table(rows[:_LINES]))
    if len(rows) > _LINES:
        out.print(Text(f"and {len(rows) - _LINES} more (-o json shows all)", style="dim"))
    if name in record.notes.get("bindingWait", ()):
        out.print(Text("the pod is bound when its devices are ready", style="dim"))


def _rows(claims: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for key, allocation in claims.items():
        for one in allocation["devices"].get("results") or ():
            place = f"{one['driver']}/{one['pool']}"
            yield one["device"], place, key.rpartition("/")[2], one["request"]


def _table(rows: list[tuple[str, ...]]) -> Table:
    made = table("device", "pool", "claim", "request")
    for row in rows:
        made.add_row(*map(Text, row))
    return made
