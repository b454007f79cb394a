"""Where informers hand in the changes they saw.

Before this process schedules, because it waits for its first lists or for the Lease, changes are
applied at once: a process that waits for days must not pile them up. From then on the loop gets
them, which applies them between two decisions.
"""

import logging
from collections.abc import Callable
from typing import Any, Protocol

from mooring.errors import InputError
from mooring.live.sync_hooks import SyncHooks
from mooring.model.change import Change
from mooring.process.deadline import Deadline
from mooring.scheduler.core import Core

log = logging.getLogger("mooring.live")


class ChangeMetrics(Protocol):
    """Counts changes."""

    def event_handled(self, event: str, seconds: float) -> None:
        """A change of one kind was applied."""


class ChangeIntake:
    """Applies changes or forwards them, on the event loop's thread.

    Args:
        core: has the state.
        clock: seconds that only grow, the loop's clock.
        deadline: for plugins that are asked about changes.
        metrics: counts.

    Attributes:
        incomplete: changes were left out, because the process is to stop.
    """

    def __init__(
        self,
        core: Core,
        clock: Callable[[], float],
        deadline: Deadline,
        metrics: ChangeMetrics,
    ) -> None:
        self._core = core
        self._metrics = metrics
        self._sync_hooks = SyncHooks(deadline, "the change")
        self._clock = clock
        self._loop: Callable[[list[Change[Any]]], object] | None = None
        self._stopped = False
        self.incomplete = False

    def on_changes(self, changes: list[Change[Any]]) -> None:
        """Called by informers with what they saw."""
        if self._loop is not None:
            self._loop(changes)
            return
        with self._sync_hooks:
            self._apply(changes)

    def _apply(self, changes: list[Change[Any]]) -> None:
        now = self._clock()
        for change in changes:
            if self._stopped:
                self.incomplete = True
                return
            try:
                self._sync_hooks.begin()
                self._core.handle((change,), now)
            except InputError as error:
                log.warning("skipped %r: %s", change.object, error)
            except Exception:
                log.exception("skipped %r: internal error", change.object)
            now = count_change(change, now, self._clock(), self._metrics)

    def stop(self) -> None:
        """Nobody will schedule with what was not applied yet; may be called in a hook, too."""
        self._stopped = True

    def forward_to(self, loop: Callable[[list[Change[Any]]], object]) -> None:
        """The loop runs and gets all changes from now on."""
        self._loop = loop


def count_change(change: Change[Any], start: float, end: float, metrics: ChangeMetrics) -> float:
    """Count how long a change took; the end, at which the next one begins."""
    metrics.event_handled(type(change.object).kind_name, end - start)
    return end
