"""Draws the picture of a run; called by `__main__`."""

import re
from collections.abc import Sequence
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
from benchmarks.scheduler.results import Report, Result
from benchmarks.scheduler.ways import CREATE, DRAIN

_COLORS = {contenders.KUBE_SCHEDULER: OTHER, contenders.MOORING: MOORING}
_CLAIMS = "claims"
_TITLES = {
    DRAIN: "Pods that wait", CREATE: "Pods created meanwhile", _CLAIMS: "Pods with claims"
}  # fmt: skip
_LOOPS = {DRAIN: "bound", CREATE: "created and bound", _CLAIMS: "the same writes"}
_WIDTH = 0.4


def draw(report: Report, file: Path) -> Figure | None:
    """Write a PNG with one panel for each way and number of nodes; the figure, to look at."""
    panels: dict[tuple[str, int], list[Result]] = {}
    for way in _TITLES:
        for result in sorted(report.results, key=lambda one: one.nodes):
            if _panel(result) == way and any(result.run(name) for name in _COLORS):
                panels.setdefault((way, result.nodes), []).append(result)
    if not panels:
        return None
    most = max(map(len, panels.values()))
    figure = Figure(figsize=(max(6.0, 1.25 * most + 1.5), 1.0 + 4.4 * len(panels)))
    grid = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
    for axes, ((way, nodes), results) in zip(grid, panels.items(), strict=True):
        bounds = [_bound(report, result) for result in results]
        _draw(axes, f"{_TITLES[way]}, {nodes:,} nodes, more is better", results, bounds)
    save(figure, report.environment, file)
    return figure


def _panel(result: Result) -> str:
    return _CLAIMS if result.claims else result.way


def _bound(report: Report, result: Result) -> float | None:
    """What a loop can do that decides nothing."""
    limit = report.limit(result.workload, result.nodes)
    if limit is None or result.way != CREATE:
        return report.most(result)
    return limit.both_per_second


def _draw(axes: Axes, title: str, results: list[Result], bounds: Sequence[float | None]) -> None:
    highest = 0.0
    for place, (result, bound) in enumerate(zip(results, bounds, strict=True)):
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
            highest = max(highest, rate)
        if bound is not None:
            axes.hlines(bound, place - 0.45, place + 0.45, color=ACCENT, linestyle="--")
            highest = max(highest, bound)
    axes.set_xticks(range(len(results)), [_label(result) for result in results], fontsize=8.5)
    handles: list[Patch | Line2D] = [
        Patch(color=OTHER, label="kube-scheduler v1.36.4"),
        Patch(color=MOORING, label=f"moor run ({TIMES}: times kube-scheduler)"),
    ]
    if any(bound is not None for bound in bounds):
        label = _LOOPS[_panel(results[0])]
        handles.append(
            Line2D([], [], color=ACCENT, linestyle="--", label=f"{label} without a scheduler")
        )
    dress(axes, title, "pods a second", log=False)
    legend_above(axes, handles, highest)


def _label(result: Result) -> str:
    """The workload's name on several lines, and how many pods."""
    words = re.findall("[A-Z][a-z]+", result.workload.removeprefix("Scheduling"))
    return "\n".join([*words, f"{result.pods:,} pods"])
