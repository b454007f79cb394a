"""Draws the picture of a run; called by `__main__`."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from benchmarks.extender.report import Report
from benchmarks.extender.scheduler import (
    GO_WHOLE,
    MOORING_CACHE,
    MOORING_WHOLE,
    NO_EXTENDER,
    SchedulerResult,
)
from benchmarks.extender.wire import WireResult
from benchmarks.plotting import ACCENT, MOORING, NOTE, OTHER, PALE, TIMES, dress, save, write_above
from benchmarks.reporting import times

_COLORS = {GO_WHOLE: OTHER, MOORING_WHOLE: MOORING, MOORING_CACHE: ACCENT, NO_EXTENDER: PALE}


def draw(report: Report, file: Path) -> None:
    """Write a PNG with one panel for each part that ran."""
    parts = (bool(report.wire), bool(report.scheduler))
    widths = [width for width, there in zip((9.0, 5.4), parts, strict=True) if there]
    figure = Figure(figsize=(sum(widths), 5.6))
    axes = list(figure.subplots(1, len(widths), width_ratios=widths, squeeze=False)[0])
    if report.wire:
        _draw_wire(axes[0], report.wire)
    if report.scheduler:
        _draw_scheduler(axes[-1], report.scheduler)
    save(figure, report.environment, file)


def _draw_wire(axes: Axes, results: list[WireResult]) -> None:
    places: list[float] = []
    groups: dict[str, list[float]] = {}
    for result in results:
        step = 1.0 if result.case in groups else 1.6
        places.append(places[-1] + step if places else 0.0)
        groups.setdefault(result.case, []).append(places[-1])
    for place, result in zip(places, results, strict=True):
        go, mooring = result.go.p50_ms, result.mooring.p50_ms
        axes.bar(place - 0.2, go, width=0.4, color=OTHER)
        axes.bar(place + 0.2, mooring, width=0.4, color=MOORING)
        text = f"{times(result.times_faster)}{TIMES}"
        write_above(axes, place, max(go, mooring), text, MOORING)
    axes.set_xticks(places, [result.verb.replace("_", "\n") for result in results], fontsize=8.5)
    for label, members in groups.items():
        axes.annotate(
            label,
            (sum(members) / len(members), 0),
            xycoords=("data", "axes fraction"),
            xytext=(0, -44),
            textcoords="offset points",
            ha="center",
            fontweight="bold",
        )
    dress(
        axes,
        f"One request, less is better\n({TIMES}: how many times faster than Go)",
        "median in ms (log scale)",
    )
    medians = [side.p50_ms for result in results for side in (result.go, result.mooring)]
    axes.set_ylim(bottom=min(medians) / 3, top=max(medians) * 2)
    handles = [Patch(color=OTHER, label="Go extender"), Patch(color=MOORING, label="moor serve")]
    axes.legend(handles=handles, frameon=False, loc="upper left")


def _draw_scheduler(axes: Axes, results: list[SchedulerResult]) -> None:
    counts = sorted({result.nodes for result in results})
    labels = list(dict.fromkeys(result.setup for result in results))
    go = {result.nodes: result.pods_per_second for result in results if result.setup == GO_WHOLE}
    width = 0.88 / len(labels)
    for result in results:
        rate = result.pods_per_second
        place = counts.index(result.nodes) + (labels.index(result.setup) + 0.5) * width - 0.44
        axes.bar(place, rate, width=width * 0.94, color=_COLORS[result.setup])
        text = f"{rate:.1f}" if rate < 100 else f"{rate:.0f}"
        compared = result.setup in (MOORING_WHOLE, MOORING_CACHE)
        if compared:
            text += f"\n{times(rate / go[result.nodes])}{TIMES}"
        write_above(axes, place, rate, text, _COLORS[result.setup] if compared else NOTE)
    axes.set_xticks(range(len(counts)), [f"{count:,} nodes" for count in counts], fontweight="bold")
    dress(
        axes,
        f"The real kube-scheduler, more is better\n({TIMES}: times the Go extender)",
        "pods bound a second (log scale)",
    )
    # Room for the legend above the bars.
    rates = [result.pods_per_second for result in results]
    axes.set_ylim(bottom=min(rates) / 3, top=max(rates) * 15)
    handles = [Patch(color=_COLORS[label], label=label) for label in labels]
    axes.legend(handles=handles, frameon=False, loc="upper left", fontsize=9)
