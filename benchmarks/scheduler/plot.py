"""Draws the picture of a run; called by `__main__`."""

import re
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from benchmarks.plotting import (
    ACCENT,
    MOORING,
    NOTE,
    OTHER,
    TIMES,
    dress,
    legend_above,
    save,
    write_above,
)
from benchmarks.reporting import times
from benchmarks.scheduler import contenders
from benchmarks.scheduler.limits import Limit
from benchmarks.scheduler.results import Report, Result

_COLORS = {contenders.KUBE_SCHEDULER: OTHER, contenders.MOORING: MOORING}
_WIDTH = 0.4


def draw(report: Report, file: Path) -> Figure:
    """Write a PNG with one panel for each number of nodes; the figure, to look at."""
    counts = sorted({result.nodes for result in report.results})
    most = max(sum(result.nodes == nodes for result in report.results) for nodes in counts)
    figure = Figure(figsize=(max(6.0, 1.25 * most + 1.5), 1.0 + 4.4 * len(counts)))
    panels = figure.subplots(len(counts), 1, squeeze=False)[:, 0]
    for axes, nodes in zip(panels, counts, strict=True):
        results = [result for result in report.results if result.nodes == nodes]
        limit = next((limit for limit in report.limits if limit.nodes == nodes), None)
        _draw(axes, nodes, results, limit)
    save(figure, report.environment, file)
    return figure


def _draw(axes: Axes, nodes: int, results: list[Result], limit: Limit | None) -> None:
    for place, result in enumerate(results):
        for side, (name, color) in zip((-0.5, 0.5), _COLORS.items(), strict=True):
            run = result.run(name)
            if run is None:
                continue
            rate = run.pods_per_second
            axes.bar(place + side * _WIDTH, rate, width=_WIDTH * 0.94, color=color)
            text = f"{rate:,.0f}"
            if name == contenders.MOORING and result.ratio is not None:
                text += f"\n{times(result.ratio)}{TIMES}"
            shade = color if name == contenders.MOORING else NOTE
            write_above(axes, place + side * _WIDTH, rate, text, shade)
    axes.set_xticks(range(len(results)), [_label(result) for result in results], fontsize=8.5)
    handles: list[Patch | Line2D] = [
        Patch(color=OTHER, label="kube-scheduler v1.36.4"),
        Patch(color=MOORING, label=f"moor run ({TIMES}: times kube-scheduler)"),
    ]
    if limit is not None:
        axes.axhline(limit.both_per_second, color=ACCENT, linestyle="--", linewidth=1.5)
        label = "created and bound without a scheduler"
        handles.append(Line2D([], [], color=ACCENT, linestyle="--", label=label))
    dress(axes, f"{nodes:,} nodes, more is better", "pods a second", log=False)
    highest = max(run.pods_per_second for result in results for run in result.runs)
    legend_above(axes, handles, max(highest, limit.both_per_second if limit else 0.0))


def _label(result: Result) -> str:
    """The workload's name on several lines, and how many pods."""
    words = re.findall("[A-Z][a-z]+", result.workload.removeprefix("Scheduling"))
    return "\n".join([*words, f"{result.pods:,} pods"])
