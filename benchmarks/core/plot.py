"""Draws the picture of a run; called by `__main__`."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.core.by_plugin import ASSUME, FRAMEWORK, SHAPE, Costs
from benchmarks.core.goals import GOAL_NODES, LEAST_PODS_PER_SECOND, MAX_RATIO, most_for_sizes
from benchmarks.core.growth import Growth
from benchmarks.core.report import Report, part_names
from benchmarks.core.sizes import Sizes
from benchmarks.core.speed import Speed
from benchmarks.plotting import (
    ACCENT,
    MOORING,
    NOTE,
    OTHER,
    PALE,
    TIMES,
    dress,
    save,
    write_above,
)
from benchmarks.reporting import times

_BY_SIZE = (PALE, OTHER, MOORING)
_NO_PLUGIN_COLORS = {SHAPE: OTHER, ASSUME: NOTE, FRAMEWORK: PALE}
#: A plugin that takes less than this share everywhere is drawn with the others.
_LEAST_SHARE = 0.02
_OTHERS = "other plugins"
#: So many names of workloads fit below a panel without slanting.
_LEVEL = 6


def draw(report: Report, file: Path) -> None:
    """Write a PNG of what was measured: pods a second, growth, the parts of a decision."""
    above: list[tuple[int, Callable[[Axes], None]]] = []
    if report.speed:
        above.append((8, partial(_draw_speed, speeds=report.speed)))
    if report.growth:
        above.append((5, partial(_draw_growth, growths=report.growth)))
    if report.sizes:
        above.append((5, partial(_draw_sizes, sizes=report.sizes)))
    rows = bool(above) + bool(report.by_plugin)
    if not rows:
        return
    width = max(sum(width for width, _ in above), 9 if report.by_plugin else 0)
    figure = Figure(figsize=(1.1 * width + 1.0, 5.0 * rows))
    grid = figure.add_gridspec(rows, 1)
    if above:
        panels = grid[0].subgridspec(1, len(above), width_ratios=[width for width, _ in above])
        for place, (_, drawn) in enumerate(above):
            drawn(figure.add_subplot(panels[place]))
    if report.by_plugin:
        _draw_parts(figure.add_subplot(grid[rows - 1]), report.largest())
    save(figure, report.environment, file)


def _name_places(axes: Axes, workloads: list[str]) -> None:
    """Write the workloads below the bars, slanting where many share a panel."""
    if len(workloads) <= _LEVEL:
        labels = [workload.replace("-", "\n", 1) for workload in workloads]
        axes.set_xticks(range(len(labels)), labels, fontsize=8.5)
        return
    axes.set_xticks(
        range(len(workloads)),
        workloads,
        rotation=35,
        ha="right",
        rotation_mode="anchor",
        fontsize=8.5,
    )


def _draw_speed(axes: Axes, speeds: list[Speed]) -> None:
    workloads = list(dict.fromkeys(speed.workload for speed in speeds))
    counts = sorted({speed.nodes for speed in speeds})
    width = 0.84 / len(counts)
    drawn = set()
    for speed in speeds:
        order = counts.index(speed.nodes)
        place = workloads.index(speed.workload) + (order + 0.5) * width - 0.42
        color = _BY_SIZE[order - len(counts)] if len(counts) <= len(_BY_SIZE) else MOORING
        label = "" if speed.nodes in drawn else f"{speed.nodes:,} nodes"
        drawn.add(speed.nodes)
        axes.bar(place, speed.pods_per_second, width=width * 0.94, color=color, label=label)
        least = LEAST_PODS_PER_SECOND.get(speed.workload)
        if speed.nodes == counts[-1]:
            text = f"{speed.pods_per_second / 1000:.0f}k"
            write_above(axes, place, speed.pods_per_second, text, MOORING)
        if speed.nodes == GOAL_NODES and least is not None:
            axes.hlines(least, place - width / 2, place + width / 2, color=ACCENT, linewidth=2)
    if GOAL_NODES in counts:
        axes.plot([], [], color=ACCENT, linewidth=2, label=f"goal at {GOAL_NODES:,} nodes")
    _name_places(axes, workloads)
    dress(axes, "Decisions on one core, more is better", "pods a second", log=False)
    goal = max(LEAST_PODS_PER_SECOND.values()) if GOAL_NODES in counts else 0
    axes.set_ylim(top=max(goal, *(speed.pods_per_second for speed in speeds)) * 1.25)
    axes.legend(frameon=False, loc="upper right", ncols=2, fontsize=9)


def _draw_parts(axes: Axes, costs: list[Costs]) -> None:
    names = part_names(costs)
    shown = [name for name in names if name in _NO_PLUGIN_COLORS or _matters(name, costs)]
    plugins = [name for name in shown if name not in _NO_PLUGIN_COLORS]
    palette = colormaps["Set2"]
    colors = {
        **{name: palette(place % palette.N) for place, name in enumerate(plugins)},
        _OTHERS: "#343a40",
        **_NO_PLUGIN_COLORS,
    }
    for place, one in enumerate(costs):
        parts = {name: one.parts.get(name, 0.0) for name in [*plugins, _OTHERS, *_NO_PLUGIN_COLORS]}
        parts[_OTHERS] = one.microseconds - sum(parts.values())
        bottom = 0.0
        for name, part in parts.items():
            label = name if place == 0 else ""
            axes.bar(place, part, 0.7, bottom=bottom, color=colors[name], label=label)
            bottom += part
        write_above(axes, place, bottom, f"{bottom:,.0f}", NOTE)
    _name_places(axes, [one.workload for one in costs])
    title = f"One decision at {costs[0].nodes:,} nodes, all plugins asked, less is better"
    dress(axes, title, "µs of CPU time", log=False)
    axes.set_ylim(top=max(one.microseconds for one in costs) * 1.1)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), reverse=True)


def _matters(name: str, costs: list[Costs]) -> bool:
    return any(one.parts.get(name, 0.0) >= _LEAST_SHARE * one.microseconds for one in costs)


def _draw_growth(axes: Axes, growths: list[Growth]) -> None:
    first, *_, last = growths[0].pods
    title = f"Cost with {last:,} pods on {growths[0].nodes:,} nodes,\n{TIMES} that with {first:,}"
    _draw_ratios(axes, title, [(one.workload, one.ratio, MAX_RATIO) for one in growths])


def _draw_sizes(axes: Axes, sizes: list[Sizes]) -> None:
    first, *_, last = sizes[0].nodes
    title = f"Cost on {last:,} nodes,\n{TIMES} that on {first:,}"
    ratios = [(one.workload, one.ratio, most_for_sizes(one.workload)) for one in sizes]
    _draw_ratios(axes, title, ratios)


def _draw_ratios(axes: Axes, title: str, ratios: list[tuple[str, float, float]]) -> None:
    for place, (_, ratio, most) in enumerate(ratios):
        axes.bar(place, ratio, 0.7, color=MOORING)
        write_above(axes, place, ratio, times(ratio), MOORING)
        label = "" if place else "goal: not above"
        axes.hlines(most, place - 0.45, place + 0.45, color=ACCENT, linewidth=2, label=label)
    _name_places(axes, [workload for workload, _, _ in ratios])
    dress(axes, title, "times", log=False)
    axes.set_ylim(bottom=0, top=max(max(ratio, most) for _, ratio, most in ratios) * 1.2)
    axes.legend(frameon=False, loc="upper right", fontsize=9)
