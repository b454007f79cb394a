"""What a run found, as values, as JSON and as a table."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from rich.console import Console
from rich.table import Table

from mooring.wording import counted
from tools.soak.script import TROUBLES, TROUBLES_OF_TWO, Phase


class PhaseResult(msgspec.Struct, kw_only=True):
    """What came of one phase.

    Attributes:
        phase: what happened.
        seconds: how long it took in all.
        recovered: seconds from the end of the trouble until no pod waited that could run.
        leaderless: seconds from the leader's end to the next Binding; None if that is not asked.
        pods: pods created.
        bound: Bindings that took effect.
        preempted: pods that replicas deleted, to make room for others.
        faults: what the proxy did, by kind.
        restarts: how often a replica was started.
        memory_mb: the most memory a replica had at the end.
        idle_cpu: the part of one core that the busiest replica used when nothing happened.
        violations: what should not have been.
    """

    phase: Phase
    seconds: float = 0.0
    recovered: float = 0.0
    leaderless: float | None = None
    pods: int = 0
    bound: int = 0
    preempted: int = 0
    faults: dict[str, int] = {}
    restarts: int = 0
    memory_mb: float = 0.0
    idle_cpu: float = 0.0
    violations: list[str] = []


class RunResult(msgspec.Struct, kw_only=True):
    """What came of a run.

    Attributes:
        seed: of the script.
        replicas: how many there were.
        minutes: how long it was to take.
        phases: one after the other.
        terms: how often leadership moved.
        held_back: writes that were sent in time and came to the API server late.
        at_wakeup: writes of the first moment after a pause.
        rejected: pods that fake kubelets rejected on nodes that had been made smaller.
    """

    seed: int
    replicas: int
    minutes: float
    phases: list[PhaseResult] = []
    terms: int = 0
    held_back: int = 0
    at_wakeup: int = 0
    rejected: int = 0

    @property
    def violations(self) -> int:
        """How many there were."""
        return sum(len(one.violations) for one in self.phases)

    def totals(self) -> dict[str, object]:
        """One line for the whole run."""
        phases = self.phases
        faults: dict[str, int] = {}
        for one in phases:
            for kind, times in one.faults.items():
                faults[kind] = faults.get(kind, 0) + times
        return {
            "seed": self.seed,
            "replicas": self.replicas,
            "minutes": self.minutes,
            "phases": len(phases),
            "pods": sum(one.pods for one in phases),
            "bound": sum(one.bound for one in phases),
            "preempted": sum(one.preempted for one in phases),
            "faults": faults,
            "restarts": sum(one.restarts for one in phases),
            "terms": self.terms,
            "held_back": self.held_back,
            "at_wakeup": self.at_wakeup,
            "rejected": self.rejected,
            "longest_recovery_seconds": _most(one.recovered for one in phases),
            "longest_leaderless_seconds": _most(one.leaderless or 0.0 for one in phases),
            "most_memory_mb": _most(one.memory_mb for one in phases),
            "most_idle_cpu": _most(one.idle_cpu for one in phases),
            "violations": self.violations,
        }


def _most(values: Iterable[float]) -> float:
    return round(max(values, default=0.0), 2)


TITLES: Final = (
    "phase", "trouble", "s", "pods", "bound", "preempted", "faults", "starts", "no leader",
    "recovered", "MB", "idle CPU", "",
)  # fmt: skip
_TROUBLE: Final = TITLES.index("trouble")
#: A number has so many characters at most; there is hardly a larger one.
_CELL: Final = 6


def cells(one: PhaseResult) -> list[str]:
    """A phase as a row of the table."""
    return [
        str(one.phase.number),
        one.phase.trouble,
        f"{one.seconds:.0f}",
        str(one.pods),
        str(one.bound),
        str(one.preempted),
        str(sum(one.faults.values())),
        str(one.restarts),
        "" if one.leaderless is None else f"{one.leaderless:.1f} s",
        f"{one.recovered:.1f} s",
        f"{one.memory_mb:.0f}",
        f"{one.idle_cpu:.0%}",
        "VIOLATED" if one.violations else "",
    ]


def line(of: Sequence[str]) -> str:
    """Titles or cells as a line, below or above others of the kind while the run goes on."""
    widths = [max(len(title), _CELL) for title in TITLES]
    widths[_TROUBLE] = max(map(len, (*TROUBLES, *TROUBLES_OF_TWO)))
    parts = [
        f"{one:<{width}}" if place == _TROUBLE else f"{one:>{width}}"
        for place, (one, width) in enumerate(zip(of, widths, strict=True))
    ]
    return "  ".join(parts).rstrip()


def show(result: RunResult, console: Console) -> None:
    """Print the whole run as a table."""
    table = Table(
        title=f"seed {result.seed}, {counted(result.replicas, 'replica')}", title_justify="left"
    )
    for title in TITLES:
        table.add_column(title, justify="left" if title == "trouble" else "right", no_wrap=True)
    for one in result.phases:
        table.add_row(*cells(one))
    console.print(table)
    for key, value in result.totals().items():
        console.print(f"{key:>28}: {value}", highlight=False)
