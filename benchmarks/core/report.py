"""What a run found, and its tables for people and for the page; called by `__main__`."""

from collections.abc import Mapping, Sequence

from rich.console import Console

from benchmarks.core.by_plugin import ASSUME, FRAMEWORK, SHAPE, Costs
from benchmarks.core.confirming import Confirming
from benchmarks.core.devices import DEVICE_WORKLOADS, DeviceWorkload
from benchmarks.core.findings import Findings
from benchmarks.core.growth import Growth
from benchmarks.core.pauses import Pauses
from benchmarks.core.pythons import OfPython
from benchmarks.core.sizes import Sizes
from benchmarks.core.speed import Speed
from benchmarks.core.waking import Waking
from benchmarks.core.workloads import WORKLOADS, Workload
from benchmarks.environment import Environment
from benchmarks.reporting import Goal, Part, print_ending, print_parts, times

#: Parts that are no plugin's, in the order in which they are shown.
NO_PLUGINS = (SHAPE, ASSUME, FRAMEWORK)
_LEAST_SHOWN = 0.05
_SPEED = "Decisions on one core, all nodes scored (range: slices)"
_DEVICES = "Decisions about pods that need devices, on one core (range: slices)"


class Report(Findings, kw_only=True):
    """Everything a run found.

    Attributes:
        other_load: the share of the machine's CPU time that other programs used meanwhile.
        goals: those that what was measured is about.
    """

    environment: Environment
    quick: bool
    other_load: float
    goals: list[Goal]


def part_names(costs: list[Costs]) -> list[str]:
    """The names of all parts: plugins, the dearest first, then what is no plugin's."""
    totals: dict[str, float] = {}
    for one in costs:
        for name, part in one.parts.items():
            totals[name] = totals.get(name, 0.0) + part
    plugins = sorted(set(totals) - set(NO_PLUGINS), key=lambda name: (-totals[name], name))
    return [*plugins, *(name for name in NO_PLUGINS if name in totals)]


def print_report(report: Report, console: Console) -> None:
    """Print the tables and the goals; plain text when the output is no terminal."""
    print_parts(parts(report), console)
    print_ending(report.other_load, report.goals, console)


def parts(found: Findings) -> list[Part]:
    """The tables of what was measured."""
    return list(tables(found).values())


def tables(found: Findings) -> dict[str, Part]:
    """The tables of what was measured, by the names of the parts."""
    made: dict[str, Part | None] = {
        "speed": _speed(found.speed, _SPEED, WORKLOADS) if found.speed else None,
        "devices": _speed(found.devices, _DEVICES, DEVICE_WORKLOADS) if found.devices else None,
        "sizes": _sizes(found.sizes) if found.sizes else None,
        "growth": _growth(found.growth) if found.growth else None,
        "confirming": _confirming(found.confirming) if found.confirming else None,
        "waking": _waking(found.waking) if found.waking else None,
        "pauses": _pauses(found.pauses) if found.pauses else None,
        "pythons": _pythons(found.pythons) if found.pythons else None,
        "plugins": _plugins(found.largest()) if found.by_plugin else None,
    }
    return {name: part for name, part in made.items() if part is not None}


def _speed(
    speeds: list[Speed], title: str, workloads: Mapping[str, Workload | DeviceWorkload]
) -> Part:
    counts = sorted({speed.nodes for speed in speeds})
    columns = ["workload"]
    for nodes in counts:
        columns += [f"{nodes:,} nodes, pods/s", "µs", "range"]
    by_workload: dict[str, dict[int, Speed]] = {}
    for speed in speeds:
        by_workload.setdefault(speed.workload, {})[speed.nodes] = speed
    rows: list[tuple[str, ...]] = []
    for workload, found in by_workload.items():
        cells = [workloads[workload].title]
        for nodes in counts:
            speed = found[nodes]
            cells += [
                f"{speed.pods_per_second:,.0f}",
                f"{speed.microseconds:,.0f}",
                f"{speed.fastest:,.0f}-{speed.slowest:,.0f}",
            ]
        rows.append(tuple(cells))
    return title, tuple(columns), rows


def _plugins(costs: list[Costs]) -> Part:
    rows: list[tuple[str, ...]] = [
        (name, *(_part(one.parts.get(name, 0.0)) for one in costs)) for name in part_names(costs)
    ]
    rows.append(("all", *(f"{one.microseconds:,.0f}" for one in costs)))
    rows.append(("clocks would add", *(f"{one.overhead:.0%}" for one in costs)))
    title = f"Microseconds of a decision for which all plugins are asked, {costs[0].nodes:,} nodes"
    return title, ("plugin", *(one.workload for one in costs)), rows


def _part(microseconds: float) -> str:
    if microseconds < _LEAST_SHOWN:
        return "-"
    return f"{microseconds:.1f}" if microseconds < 100 else f"{microseconds:,.0f}"


def _growth(growths: list[Growth]) -> Part:
    columns = ("workload", *(f"{pods:,} pods" for pods in growths[0].pods), "last times first")
    title = f"Growth with pods on the cluster, {growths[0].nodes:,} nodes, µs"
    return title, columns, [_growing(one.workload, one.microseconds, one.ratio) for one in growths]


def _sizes(sizes: list[Sizes]) -> Part:
    columns = ("workload", *(f"{nodes:,} nodes" for nodes in sizes[0].nodes), "last times first")
    rows = [_growing(one.workload, one.microseconds, one.ratio) for one in sizes]
    return "Growth with nodes, µs", columns, rows


def _growing(workload: str, costs: Sequence[float], ratio: float) -> tuple[str, ...]:
    shown = (f"{microseconds:,.0f}" for microseconds in costs)
    return (WORKLOADS[workload].title, *shown, times(ratio))


def _confirming(found: list[Confirming]) -> Part:
    columns = (
        "workload", "the binding is answered", "the pod is confirmed", "a decision undisturbed",
        "with a pod confirmed before it", "times",
    )  # fmt: skip
    rows: list[tuple[str, ...]] = [
        (
            WORKLOADS[one.workload].title,
            f"{one.answered:.1f}",
            f"{one.confirmed:.1f}",
            f"{one.undisturbed:,.0f}",
            f"{one.disturbed:,.0f}",
            times(one.slowdown),
        )
        for one in found
    ]
    return f"Confirming an assumed pod, {found[0].nodes:,} nodes, µs", columns, rows


def _waking(found: list[Waking]) -> Part:
    columns = (
        "nodes", "unschedulable pods", "found so after, s", "woken", "new pod placed after, s",
        "decisions",
    )  # fmt: skip
    rows: list[tuple[str, ...]] = [
        (
            f"{one.nodes:,}",
            f"{one.pods:,}",
            f"{one.first_seconds:.2f}",
            f"{one.woken:,}",
            f"{one.seconds:.3f}",
            f"{one.decisions:,}",
        )
        for one in found
    ]
    return "Unschedulable pods of five templates, woken by one deleted pod", columns, rows


def _pauses(found: list[Pauses]) -> Part:
    columns = ("nodes", "pods", "placed meanwhile", "collections", "longest pause, ms", "of CPU")
    rows: list[tuple[str, ...]] = [
        (
            f"{one.nodes:,}",
            f"{one.pods:,}",
            f"{one.placed:,}",
            f"{one.collections:,}",
            f"{one.longest_ms:.1f}",
            f"{one.share:.1%}",
        )
        for one in found
    ]
    return "Garbage collection on a full cluster", columns, rows


def _pythons(found: list[OfPython]) -> Part:
    versions = list(dict.fromkeys(one.python for one in found))
    costs = {(one.workload, one.nodes, one.python): one.microseconds for one in found}
    rows: list[tuple[str, ...]] = []
    for workload, nodes in dict.fromkeys((one.workload, one.nodes) for one in found):
        cells = (f"{costs[workload, nodes, version]:.1f}" for version in versions)
        rows.append((WORKLOADS[workload].title, f"{nodes:,}", *cells))
    columns = ("workload", "nodes", *(f"Python {version}" for version in versions))
    return "A decision with several versions of Python, µs", columns, rows
