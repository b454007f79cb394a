"""What the pictures of all benchmarks have in common; called by each benchmark's own `plot`."""

import math
from collections.abc import Sequence
from pathlib import Path

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.environment import Environment

MOORING = "#0b7285"
OTHER = "#9aa5b1"
ACCENT = "#e8890c"
PALE = "#d5dae0"
NOTE = "#868e96"
TIMES = "\N{MULTIPLICATION SIGN}"
#: Shares of a panel's height: a line of the legend, and what stands between it and the bars.
_LEGEND_LINE = 0.06
_ABOVE_BARS = 0.16


def save(figure: Figure, machine: Environment, file: Path) -> None:
    """Write a PNG with a note of the machine and the versions below."""
    versions = [f"Python {machine.python}", f"numpy {machine.numpy}", machine.go]
    parts = [f"{machine.cpu}, {machine.cores} cores", *versions, f"mooring {machine.mooring}"]
    text = " · ".join(part for part in parts if part)
    figure.text(0.01, 0.012, text, fontsize=8, color=NOTE)
    figure.tight_layout(rect=(0, 0.035, 1, 1), w_pad=3)
    figure.savefig(file, dpi=150)


def dress(axes: Axes, title: str, values: str, *, log: bool = True) -> None:
    """Give a panel its title, its axis and its grid."""
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_ylabel(values)
    if log:
        axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    axes.grid(axis="y", color="#e9ecef")
    axes.set_axisbelow(True)
    axes.tick_params(axis="x", length=0)
    axes.spines[["top", "right"]].set_visible(False)


def write_above(axes: Axes, place: float, value: float, text: str, color: str) -> None:
    """Write a text above a bar; lines that cross it are hidden behind it."""
    axes.annotate(
        text,
        (place, value),
        xytext=(0, 4),
        textcoords="offset points",
        ha="center",
        color=color,
        fontweight="bold",
        fontsize=9,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0, "alpha": 0.85},
    )


def legend_above(axes: Axes, handles: Sequence[Artist], highest: float) -> None:
    """Put the legend above the bars, in as many columns as the panel is wide enough for.

    Args:
        axes: the panel; its upper limit is set so that the legend covers nothing.
        handles: what the legend explains.
        highest: the highest value that is drawn.
    """
    figure = axes.get_figure(root=True)
    for columns in range(len(handles), 0, -1):
        legend = axes.legend(
            handles=list(handles), frameon=False, loc="upper right", ncols=columns, fontsize=9
        )
        if figure is None or columns == 1:
            break
        figure.draw_without_rendering()
        if legend.get_window_extent().width <= axes.get_window_extent().width:
            break
    lines = math.ceil(len(handles) / columns)
    axes.set_ylim(top=highest / (1 - _ABOVE_BARS - _LEGEND_LINE * lines))
