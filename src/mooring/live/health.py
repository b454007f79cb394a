"""Whether the scheduler is well, as checks with names.

`server` shows them in the form all Kubernetes components have: ``ok``, or a line for each check.
Checks look at what is there and never wait.
"""

# parity v1.36.4: apiserver/pkg/server/healthz/healthz.go, cmd/kube-scheduler/app/server.go

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from mooring.kube.informer import Informer

log = logging.getLogger("mooring.live")

#: A loop that neither did anything nor rested for so long hangs or spins.
STUCK_SECONDS: Final = 60.0
#: Who could not watch the cluster for so long decides on what may not be true any more.
STALE_SECONDS: Final = 60.0


class Check(NamedTuple):
    """One thing that can be wrong.

    Attributes:
        name: what it is called.
        problem: what is wrong now; empty if nothing is.
    """

    name: str
    problem: Callable[[], str]


class HealthReport(NamedTuple):
    """What some checks say.

    Attributes:
        well: whether nothing is wrong.
        text: what to show: a line for each check.
    """

    well: bool
    text: str


PING: Final = Check("ping", lambda: "")


def run_checks(name: str, checks: Sequence[Check], excluded: Collection[str] = ()) -> HealthReport:
    """Ask all checks.

    Args:
        name: of the endpoint, such as ``readyz``.
        checks: what to ask.
        excluded: the names of checks that do not matter now.
    """
    lines, well = [], True
    for check in checks:
        if check.name in excluded:
            lines.append(f"[+]{check.name} excluded: ok")
            continue
        problem = check.problem()
        well = well and not problem
        lines.append(f"[-]{check.name} failed: {problem}" if problem else f"[+]{check.name} ok")
    unknown = sorted(set(excluded) - {check.name for check in checks})
    if unknown:
        named = ", ".join(f'"{one}"' for one in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {named}")
    lines.append(f"{name} check {'passed' if well else 'failed'}")
    return HealthReport(well, "\n".join(lines) + "\n")


class Health:
    """The scheduler's checks.

    Args:
        informers: what keeps the state up to date, by resource.
        clock: seconds that only grow, the same clock the loop has.

    Attributes:
        stopping: the process ends soon.
        handlers_synced: everything that the first lists had is in the state.
        api_server_error: why the API server cannot be reached; empty if it can.
    """

    def __init__(self, informers: Mapping[str, Informer[Any]], clock: Callable[[], float]) -> None:
        self.stopping = False
        self.handlers_synced = False
        self.api_server_error = ""
        self._informers = informers
        self._clock = clock
        self._last_progress: Callable[[], float] | None = None
        self._leading: Callable[[], bool] | None = None
        self._elected = False
        self._stuck = False

    def expect_election(self) -> None:
        """There is leader election."""
        self._elected = True

    def started_leading(self, leading: Callable[[], bool]) -> None:
        """This process leads from now on; it has to go on doing so."""
        self._leading = leading

    def started_scheduling(self, last_progress: Callable[[], float]) -> None:
        """The loop runs from now on; says when it last did something or rested."""
        self._last_progress = last_progress

    def live_checks(self) -> list[Check]:
        """Why the process should be started again."""
        return [PING, Check("scheduling-loop", self._loop)]

    def health_checks(self) -> list[Check]:
        """What is wrong with the process."""
        return [*self.live_checks(), *self._election()]

    def ready_checks(self) -> list[Check]:
        """Why the process cannot work yet, or any more."""
        return [
            *self._election(),
            Check("shutdown", lambda: "process is shutting down" if self.stopping else ""),
            Check("informer-sync", self._sync),
            Check(
                "sched-handler-sync",
                lambda: "" if self.handlers_synced else "handlers are not fully synchronized",
            ),
            Check("informer-stale", self._stale),
        ]

    def _election(self) -> list[Check]:
        return [Check("leaderElection", self._lost)] if self._elected else []

    def _lost(self) -> str:
        if self._leading is None or self._leading() or self.stopping:
            return ""
        return "the Lease was lost and the process has not exited"

    def _loop(self) -> str:
        if self._last_progress is None or self.stopping:
            return ""
        silent = self._clock() - self._last_progress()
        stuck = silent > STUCK_SECONDS
        if stuck and not self._stuck:
            log.error("the scheduling loop has made no progress for %.0fs", silent)
        self._stuck = stuck
        return f"no progress for {silent:.0f}s" if stuck else ""

    def _stale(self) -> str:
        stale = [
            f"{resource} ({informer.lost_seconds:.0f}s)"
            for resource, informer in self._informers.items()
            if informer.synced.is_set() and informer.lost_seconds > STALE_SECONDS
        ]
        return f"no data for {', '.join(stale)}" if stale else ""

    def _sync(self) -> str:
        missing = []
        for resource, informer in self._informers.items():
            if not informer.synced.is_set():
                why = f" ({str(informer.error).rstrip('.')})" if informer.error else ""
                missing.append(f"{resource}{why}")
        if not missing:
            return ""
        why = f"{self.api_server_error.rstrip('.')}; " if self.api_server_error else ""
        return f"{why}{len(missing)} informers not synced yet: {', '.join(missing)}"
