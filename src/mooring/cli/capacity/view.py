"""What ``moor capacity`` prints for people: the answer first, then the node groups."""

from typing import Any

import msgspec
from rich.text import Text

from mooring.cli.terminal_output import TerminalPrinter, answer_lines, no_mark, table, yes_mark
from mooring.simulator.capacity.filling import CapacityReport
from mooring.simulator.capacity.node_search import NodesNeeded
from mooring.simulator.capacity.pod_sets import WantedPod
from mooring.wording import are, counted


def labels(wanted: tuple[WantedPod, ...]) -> dict[str, Any]:
    """What was asked for, as plain data."""
    return {"asked": [{"pod": one.label, "number": one.number} for one in wanted]}


def plain(found: CapacityReport) -> dict[str, Any]:
    """An answer as plain data."""
    made: dict[str, Any] = msgspec.to_builtins(found)
    return made


def print_capacity(found: CapacityReport, wanted: tuple[WantedPod, ...]) -> None:
    """Print how many more pods fit."""
    out = TerminalPrinter()
    sentences = [_how_many(found, wanted)]
    if found.stopped >= 0:
        sentences.append(f"The next {wanted[found.stopped].label} does not fit: it {found.text}.")
    else:
        sentences.append("No more were tried (--max).")
    out.print(answer_lines(yes_mark() if found.sets else no_mark(), sentences))
    out.print()
    names = [one.label for one in wanted]
    numbers = range(1, len(names) + 2)
    made = table("node group", "nodes", *names, "why not one more", numbers=numbers, lines=True)
    for one in found.groups:
        why = "\n".join(
            f"{reason} ({counted(number, 'node')})" for reason, number in one.reasons.items()
        )
        made.add_row(one.group, str(one.nodes), *(f"+{number}" for number in one.pods), Text(why))
    out.print(made)


def _how_many(found: CapacityReport, wanted: tuple[WantedPod, ...]) -> str:
    if len(wanted) == 1 and wanted[0].number == 1:
        number = found.pods[0]
        fit = "fits" if number == 1 else "fit"
        return f"{number or 'No'} more {wanted[0].label} {fit}."
    content = " and ".join(f"{one.number} {one.label}" for one in wanted)
    sets = counted(found.sets, "set") if found.sets else "Not one set"
    fit = "fits" if found.sets < 2 else "fit"
    placed = ", ".join(
        f"{number} {one.label}" for number, one in zip(found.pods, wanted, strict=True)
    )
    return f"{sets} of {content} {fit} ({placed} in all)."


def print_needed(found: NodesNeeded, *, priced: bool) -> None:
    """Print which nodes are needed until all pods fit."""
    out = TerminalPrinter()
    pods = counted(found.pods, "pod")
    if found.nodes is None:
        sentences = [
            f"No number of such nodes is enough for {pods}.",
            f"{found.pod} does not fit even then: it {found.text}.",
        ]
        out.print(answer_lines(no_mark(), sentences))
        return
    added = {name: number for name, number in found.nodes.items() if number}
    if not found.pods:
        out.print(answer_lines(yes_mark(), ["No pod is pending."]))
        return
    if not added:
        out.print(answer_lines(yes_mark(), [f"{pods} {_fit(found.pods)} without a new node."]))
        return
    told = " and ".join(f"{counted(number, 'node')} like {name}" for name, number in added.items())
    total = sum(added.values())
    sentences = [f"{told} {are(total)} needed for {pods}."]
    if priced:
        sentences.append(f"That costs {found.price:.2f} an hour.")
    if len(found.nodes) > 1:
        what = "cheaper" if priced else "smaller"
        sentences.append(
            f"No {what} mix is enough."
            if found.cheapest
            else f"There may be a {what} mix: the search ended after {found.trials} trials."
        )
    out.print(answer_lines(yes_mark(), sentences))


def _fit(number: int) -> str:
    return "fits" if number == 1 else "fit"
