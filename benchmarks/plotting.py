"""What the pictures of all benchmarks have in common; called by each benchmark's own `plot`."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.environment import Environment

MOORING = "#0b7285"
OTHER = "#9aa5b1"
ACCENT = "#e8890c"
PALE = "#d5dae0"
NOTE = "#868e96"
TIMES = "\N{MULTIPLICATION SIGN}"


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
    """Write a text above a bar."""
    axes.annotate(
        text,
        (place, value),
        xytext=(0, 3),
        textcoords="offset points",
        ha="center",
        color=color,
        fontweight="bold",
        fontsize=9,
    )
