"""A bar that shows virtual time, on a terminal only."""

import time
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn

from mooring.cli.simulate.view import duration
from mooring.cli.terminal_output import make_console

if TYPE_CHECKING:
    from mooring.simulator.scenario.schema import Scenario

_SECONDS: Final = 0.1


def progress_of(scenario: "Scenario", until: float | None) -> "VirtualTimeBar":
    """A bar for a scenario; its end is known if the scenario has one."""
    from mooring.simulator.scenario.values import seconds

    if until is None and scenario.until:
        until = seconds(scenario.until, ())
    return VirtualTimeBar(until)


class VirtualTimeBar:
    """Shows how far virtual time is.

    Args:
        until: the end; None if nobody knows it.
    """

    def __init__(self, until: float | None) -> None:
        console = make_console(stderr=True)
        self._until = until
        self._shown = 0.0
        self._task: TaskID | None = None
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )

    def __enter__(self) -> Self:
        self._bar.start()
        self._task = self._bar.add_task("virtual time 0s", total=self._until)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def show(self, now: float) -> bool:
        """Show the virtual time, now and then; always True."""
        moment = time.monotonic()
        if self._task is not None and moment - self._shown > _SECONDS:
            self._shown = moment
            text = f"virtual time {duration(now)}"
            self._bar.update(self._task, completed=now, description=text)
        return True
