"""The leader ends: two replicas with kube-scheduler's lease times. Called by `__main__`."""

import signal
import statistics
import time
from contextlib import ExitStack
from typing import Final

import msgspec

from benchmarks.command import BenchError
from benchmarks.faults import contenders, objects, placing
from benchmarks.scheduler.clients import Clients
from benchmarks.scheduler.watch import watching
from mooring.testing.real_kubernetes import ControlPlane

_END_SECONDS: Final = 60.0
_PATIENCE_SECONDS: Final = 120.0


class Leader(msgspec.Struct):
    """How long nobody binds pods.

    Attributes:
        scheduler: its name.
        rounds: how often each was done; the seconds are medians.
        kill_seconds: from SIGKILL of the leader until the other replica has bound a pod.
        kill_worst_seconds: the longest of them.
        term_seconds: from SIGTERM of the leader, which releases its Lease.
        term_worst_seconds: the longest of them.
    """

    scheduler: str
    rounds: int
    kill_seconds: float
    kill_worst_seconds: float
    term_seconds: float
    term_worst_seconds: float


def measure(plane: ControlPlane, name: str, rounds: int) -> Leader:
    """Let two replicas of one scheduler take over from each other."""
    where = placing.new_namespace(plane, "leader", name)
    with ExitStack() as stack:
        pair = _Pair(plane, name, where, stack)
        killed = [pair.take_over(signal.SIGKILL) for _ in range(rounds)]
        ended = [pair.take_over(signal.SIGTERM) for _ in range(rounds)]
    placing.clear(plane, where)
    return Leader(
        scheduler=name,
        rounds=rounds,
        kill_seconds=statistics.median(killed),
        kill_worst_seconds=max(killed),
        term_seconds=statistics.median(ended),
        term_worst_seconds=max(ended),
    )


class _Pair:
    """A replica that leads and one that waits."""

    def __init__(self, plane: ControlPlane, name: str, where: str, stack: ExitStack) -> None:
        self._plane = plane
        self._where = where
        self._pods = 0
        self._leading = stack.enter_context(contenders.make(plane, name, elect=True))
        self._bind_one(None)
        self._standby = stack.enter_context(contenders.make(plane, name, elect=True))

    def take_over(self, number: signal.Signals) -> float:
        """End the leader by a signal; seconds until a pod that came then was bound."""
        seconds = self._bind_one(number)
        self._leading.stop()
        self._leading, self._standby = self._standby, self._leading
        self._standby.start()
        return seconds

    def _bind_one(self, number: signal.Signals | None) -> float:
        self._pods += 1
        pods = list(objects.ordinary_pods(range(self._pods, self._pods + 1), self._where))

        async def work() -> float:
            async with Clients(self._plane, 1) as clients, watching(clients, self._where) as watch:
                begin = time.perf_counter()
                if number is not None:
                    self._leading.send(number)
                    # So that it does not bind the pod itself; the Lease is free only at its end.
                    self._leading.wait_ended(_END_SECONDS)
                await clients.send_all(pods)
                patience = _PATIENCE_SECONDS
                if not await watch.wait(1, patience=patience, seconds=patience):
                    raise BenchError(f"no replica has bound a pod for {patience:g} s.")
                return max(watch.bound.values()) - begin

        return placing.run(work())
