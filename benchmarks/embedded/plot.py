"""Draws the picture of a run; called by `__main__`."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.embedded.goals import LEAST_PODS_PER_SECOND, MOST_MEMORY_MB
from benchmarks.embedded.measuring import EmbeddedResults
from benchmarks.embedded.report import Report
from benchmarks.embedded.servers import EMBEDDED
from benchmarks.plotting import ACCENT, MOORING, OTHER, dress, save, write_above


def draw(report: Report, file: Path) -> None:
    """Write a PNG: pods a second, memory, and changes with and without a slow watcher."""
    figure = Figure(figsize=(12.0, 4.6))
    speed, memory, watching = figure.subplots(1, 3)
    found, effort = report.servers, report.effort
    _bars(speed, found, [one.pods_per_second for one in found])
    speed.axhline(LEAST_PODS_PER_SECOND, color=ACCENT, linewidth=1.5, label="goal: at least")
    dress(speed, "Pods created a second, more is better", "pods a second", log=False)
    _bars(memory, found, [one.memory_mb for one in found])
    memory.axhline(MOST_MEMORY_MB, color=ACCENT, linewidth=1.5, label="goal: at most")
    dress(memory, f"Memory with {effort.nodes:,} nodes, {effort.pods:,} pods", "MB", log=False)
    _watching(watching, found)
    for axes in (speed, memory, watching):
        axes.legend(frameon=False, fontsize=8, loc="upper right")
        axes.margins(y=0.15)
    save(figure, report.environment, file)


def _color(one: EmbeddedResults) -> str:
    return MOORING if one.server == EMBEDDED else OTHER


def _bars(axes: Axes, found: list[EmbeddedResults], values: list[float]) -> None:
    for place, (one, value) in enumerate(zip(found, values, strict=True)):
        axes.bar(place, value, width=0.6, color=_color(one))
        write_above(axes, place, value, f"{value:,.0f}", _color(one))
    axes.set_xticks(range(len(found)), [one.server for one in found])


def _watching(axes: Axes, found: list[EmbeddedResults]) -> None:
    for place, one in enumerate(found):
        for offset, value, alpha in (
            (-0.2, one.changes_per_second, 1.0),
            (0.2, one.with_slow_watcher, 0.55),
        ):
            axes.bar(place + offset, value, width=0.38, color=_color(one), alpha=alpha)
            write_above(axes, place + offset, value, f"{value:,.0f}", _color(one))
    axes.bar(0, 0, color=MOORING, label="all watchers read")
    axes.bar(0, 0, color=MOORING, alpha=0.55, label="one reads nothing")
    axes.set_xticks(range(len(found)), [one.server for one in found])
    dress(axes, "Changes a second seen by all watchers", "changes a second", log=False)
