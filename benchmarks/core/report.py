"""What a run found, and its tables for people; called by `__main__`."""

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.core.by_plugin import ASSUME, FRAMEWORK, SHAPE, Costs
from benchmarks.core.growth import Growth
from benchmarks.core.speed import Speed
from benchmarks.core.workloads import WORKLOADS
from benchmarks.environment import Environment
from benchmarks.reporting import Goal, new_table, print_ending, times

#: Parts that are no plugin's, in the order in which they are shown.
NO_PLUGINS = (SHAPE, ASSUME, FRAMEWORK)
_LEAST_SHOWN = 0.05


class Report(msgspec.Struct):
    """Everything a run found.

    Attributes:
        other_load: the share of the machine's CPU time that other programs used meanwhile.
        by_plugin: the parts of a decision's time, for every number of nodes.
        growth: for the largest number of nodes.
    """

    environment: Environment
    quick: bool
    other_load: float
    speed: list[Speed]
    by_plugin: list[Costs]
    growth: list[Growth]
    goals: list[Goal]

    def largest(self) -> list[Costs]:
        """The parts of a decision's time at the largest number of nodes, by workload."""
        nodes = max((costs.nodes for costs in self.by_plugin), default=0)
        return [costs for costs in self.by_plugin if costs.nodes == nodes]


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
    console.print(_speed_table(report.speed, console))
    console.print(_plugin_table(report.largest(), console))
    console.print(_growth_table(report.growth, console))
    print_ending(report.other_load, report.goals, console)


def _speed_table(speeds: list[Speed], console: Console) -> Table:
    table = new_table("Decisions on one core, all nodes scored (range: slices)", console)
    table.add_column("workload", no_wrap=True)
    counts = sorted({speed.nodes for speed in speeds})
    for nodes in counts:
        for name in (f"{nodes:,} nodes\npods/s", "µs", "range"):
            table.add_column(name, justify="right", no_wrap=True)
    growing = len(counts) > 1
    if growing:
        title = f"{counts[-1]:,} nodes cost\ntimes {counts[-2]:,}"
        table.add_column(title, justify="right", no_wrap=True)
    by_workload: dict[str, dict[int, Speed]] = {}
    for speed in speeds:
        by_workload.setdefault(speed.workload, {})[speed.nodes] = speed
    for workload, found in by_workload.items():
        cells = [WORKLOADS[workload].title]
        for nodes in counts:
            speed = found[nodes]
            cells += [
                f"[bold]{speed.pods_per_second:,.0f}[/]",
                f"{speed.microseconds:,.0f}",
                f"{speed.fastest:,.0f}-{speed.slowest:,.0f}",
            ]
        if growing:
            ratio = found[counts[-1]].microseconds / found[counts[-2]].microseconds
            cells.append(times(ratio))
        table.add_row(*cells)
    return table


def _plugin_table(costs: list[Costs], console: Console) -> Table:
    nodes = costs[0].nodes
    table = new_table(f"Microseconds of a decision by plugin, {nodes:,} nodes", console)
    table.add_column("plugin", no_wrap=True)
    for one in costs:
        heading = one.workload.replace("-", "\n", 1)
        table.add_column(heading, justify="right", no_wrap=True, vertical="bottom")
    names = part_names(costs)
    for name in names:
        if name == SHAPE:
            table.add_section()
        parts = [one.parts.get(name, 0.0) for one in costs]
        table.add_row(name, *(_part(part) for part in parts))
    table.add_section()
    table.add_row("all", *(f"[bold]{one.microseconds:,.0f}[/]" for one in costs))
    table.add_row("clocks would add", *(f"{one.overhead:.0%}" for one in costs))
    return table


def _part(microseconds: float) -> str:
    if microseconds < _LEAST_SHOWN:
        return "-"
    return f"{microseconds:.1f}" if microseconds < 100 else f"{microseconds:,.0f}"


def _growth_table(growths: list[Growth], console: Console) -> Table:
    nodes = growths[0].nodes
    table = new_table(f"Growth with pods on the cluster, {nodes:,} nodes, µs", console)
    table.add_column("workload", no_wrap=True)
    for pods in growths[0].pods:
        table.add_column(f"{pods:,} pods", justify="right", no_wrap=True)
    table.add_column("last times first", justify="right", no_wrap=True)
    for growth in growths:
        costs = (f"{microseconds:,.0f}" for microseconds in growth.microseconds)
        table.add_row(WORKLOADS[growth.workload].title, *costs, f"[bold]{times(growth.ratio)}[/]")
    return table
