"""One run: a cluster, replicas, phases one after the other, and what must hold after each.

`__main__` and the short form in the tests call it. Everything that a phase does comes from the
script; the driver only waits, keeps replicas alive, mends what the trouble has left, and checks.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from mooring.testing import FaultyProxy
from mooring.testing.real_kubernetes import ControlPlane
from tools.soak import audit, checks, fencing
from tools.soak.api import Admin
from tools.soak.comparing import compare_states
from tools.soak.history import History
from tools.soak.kubelets import Kubelets
from tools.soak.replicas import Replica
from tools.soak.report import PhaseResult, RunResult
from tools.soak.script import Phase
from tools.soak.troubles import TROUBLES
from tools.soak.workload import SoakObjects

_TEND_SECONDS: Final = 0.2
_PROBE_SECONDS: Final = 2.0
#: After the trouble, all must be well again within this time: far more than it takes.
PATIENCE_SECONDS: Final = 200.0
_IDLE_SECONDS: Final = 3.0
_ON_ITS_WAY_SECONDS: Final = 0.5
#: A share of one core, and memory, far above what a replica of this cluster needs.
MOST_IDLE_CPU: Final = 0.25
MOST_MEMORY_MB: Final = 350.0


class Violated(Exception):  # noqa: N818 - reads as the sentence it is raised with
    """The cluster did not come to rest after a phase."""


class Soak:
    """A cluster under trouble; a `Stage` for the troubles.

    Args:
        plane: runs already, and writes down what `audit.policy` says.
        proxy: runs already, with a journal.
        journal: the proxy's.
        replicas: how many.
        patience: how many seconds anything may take.
    """

    def __init__(
        self,
        plane: ControlPlane,
        proxy: FaultyProxy,
        journal: Path,
        replicas: int,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self._patience = patience
        self.admin = Admin(plane)
        self.proxy = proxy
        self.history = History(self.admin)
        self.kubelets = Kubelets(self.admin, self.history)
        self.objects = SoakObjects(self.admin, self.history, self.kubelets)
        self.audit = audit.Audit(plane.audit_file, journal)
        self.replicas = [Replica(plane, proxy, name) for name in "abcdef"[:replicas]]
        self.fencing = fencing.Fencing([], [], 0, 0)
        self.held_back = self.at_wakeup = 0
        self._gone_at: float | None = None
        self._leaderless: float | None = None
        self._probed = 0.0
        self._beside: list[Future[None]] = []

    @contextmanager
    def running(self) -> Iterator[None]:
        """The cluster, its kubelets and the replicas for the time of the block."""
        with ExitStack() as stack:
            self.objects.begin()
            self.history.start()
            stack.callback(self.history.stop)
            self.kubelets.start()
            stack.callback(self.kubelets.stop)
            for replica in self.replicas:
                stack.callback(replica.stop)
                replica.start()
            self.leader()
            yield

    # -- what troubles need

    def leader(self) -> Replica:
        """Who leads, waiting for somebody to."""
        found: list[Replica] = []

        def leads() -> bool:
            found[:] = [one for one in self.replicas if one.running and one.leading]
            return bool(found)

        self._until(leads, "a replica to lead")
        return found[0]

    def others(self, replica: Replica) -> list[Replica]:
        """The other replicas."""
        return [one for one in self.replicas if one is not replica]

    def wait(self, seconds: float) -> None:
        """Let time pass; replicas that end are started again."""
        until = time.monotonic() + seconds
        while True:
            self._tend()
            left = until - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, _TEND_SECONDS))

    def wait_for_workload(self, seconds: float) -> None:
        """Let at least so much time pass, and more until all pods and nodes have come."""
        self.wait(seconds)
        self._until(lambda: all(one.done() for one in self._beside), "the workload to be there")

    def gone(self) -> None:
        """The leader is gone from now on."""
        self._note_leaderless()
        self._gone_at = time.time()

    # -- a phase

    def run(self, phase: Phase) -> PhaseResult:
        """Carry a phase out, and check what must hold."""
        result = PhaseResult(phase=phase)
        began, bound, preempted = time.monotonic(), self._bound(), self._preempted()
        since = time.time()
        faults, pods = dict(self.proxy.counts), self.objects.created
        restarts = sum(one.restarts for one in self.replicas)
        self._gone_at = self._leaderless = None
        try:
            with ThreadPoolExecutor(2) as pool:
                work = (self.objects.fill, self.objects.churn)
                self._beside = [pool.submit(one, phase) for one in work]
                try:
                    TROUBLES[phase.trouble](self, phase)
                finally:
                    self._mend()
                self.wait_for_workload(0)
                for one in self._beside:
                    one.result()
            self.objects.restore()
            over = time.monotonic()
            self._settle()
            result.recovered = time.monotonic() - over
            self._note_leaderless()
            result.idle_cpu = self._idle_cpu()
            result.violations = self._check(since)
            if result.idle_cpu > MOST_IDLE_CPU:
                result.violations.append(f"{result.idle_cpu:.0%} of a core when nothing happens")
            result.memory_mb = max(one.memory_mb() for one in self.replicas)
            if result.memory_mb > MOST_MEMORY_MB:
                result.violations.append(f"{result.memory_mb:.0f} MB of memory")
        except Violated as violation:
            result.violations = [str(violation), *self._check(since, settled=False)]
        result.leaderless = self._leaderless
        result.pods = self.objects.created - pods
        result.bound = self._bound() - bound
        result.preempted = self._preempted() - preempted
        result.faults = {
            kind: count - faults.get(kind, 0)
            for kind, count in self.proxy.counts.items()
            if count > faults.get(kind, 0)
        }
        result.restarts = sum(one.restarts for one in self.replicas) - restarts
        if not result.violations:
            self.objects.tidy()
        result.seconds = time.monotonic() - began
        return result

    def _mend(self) -> None:
        """End all trouble: nothing goes wrong any more, and everybody runs."""
        self.proxy.clear()
        self.proxy.mend()
        pids = self.admin.plane.pids
        if "etcd" not in pids:
            self.admin.plane.start_etcd()
        if "kube-apiserver" not in pids:
            self.admin.plane.start_apiserver()
        for replica in self.replicas:
            replica.tend()

    def _settle(self) -> None:
        """Wait until nobody waits who could run, and everybody is ready."""
        left: list[str] = []

        def settled() -> bool:
            left[:] = checks.waiting(self.admin.pods(), self.admin.nodes())
            left.extend(self._not_ready())
            # A new leader tries all pods with claims again, which no check of the pods can see.
            untried = sum(one.untried for one in self.replicas if one.running and one.leading)
            if untried:
                left.append(f"{untried} pods to be tried")
            return not left and self.kubelets.idle

        self._until(settled, lambda: "; ".join(checks.shown(left)) or "the kubelets to rest", 1.0)

    def _not_ready(self) -> list[str]:
        found = []
        for replica in self.replicas:
            for path in ("/readyz", "/livez"):
                status, text = replica.answer(path)
                if status != 200:
                    found.append(f"{path} of {replica.name} says {status}: {text.strip()[:300]}")
        leaders = [one for one in self.replicas if one.running and one.leading]
        if len(leaders) != 1:
            names = ", ".join(one.name for one in leaders)
            found.append(f"{len(leaders)} replicas lead: {names or 'none'}")
        return found

    def _check(self, since: float, *, settled: bool = True) -> list[str]:
        """What is wrong."""
        pods, nodes = self.admin.pods(), self.admin.nodes()
        writes = self.audit.writes()
        continued = {one.user: one.continued_at for one in self.replicas}
        now = self.fencing = fencing.check(writes, continued, since)
        self.held_back += now.held_back
        self.at_wakeup += now.at_wakeup
        found = [
            checks.bound_once(pods, self.audit.bindings()),
            self.history.pods.moved,
            checks.overfull(pods, nodes),
            self.kubelets.overcommitted,
            checks.left_nominated(pods),
            self.fencing.violations,
            checks.tracebacks(log for one in self.replicas for log in one.logs),
            *(one.problems for one in self.replicas),
        ]
        if settled:
            found += [self._not_ready(), compare_states(self.replicas)]
        return [one for some in found for one in checks.shown(some)]

    # -- time

    def _idle_cpu(self) -> float:
        before = {one.name: one.cpu_seconds() for one in self.replicas}
        began = time.monotonic()
        time.sleep(_IDLE_SECONDS)
        lasted = time.monotonic() - began
        return max((one.cpu_seconds() - before[one.name]) / lasted for one in self.replicas)

    def _tend(self) -> None:
        for replica in self.replicas:
            replica.tend()
        if time.monotonic() - self._probed > _PROBE_SECONDS:
            for replica in self.replicas:
                replica.probe()
            self._probed = time.monotonic()

    def _until(
        self, ready: Callable[[], bool], what: str | Callable[[], str], pause: float = 0.5
    ) -> None:
        until = time.monotonic() + self._patience
        while not ready():
            if time.monotonic() > until:
                text = what if isinstance(what, str) else what()
                raise Violated(f"after {self._patience:g} s still waiting: {text}")
            self.wait(pause)

    def _bound(self) -> int:
        return sum(one.done for one in self.audit.bindings())

    def _preempted(self) -> int:
        deleted = ("delete", "pods")
        return sum(one.done for one in self.audit.writes() if (one.verb, one.resource) == deleted)

    def _note_leaderless(self) -> None:
        """How long it was, at most, until a pod was bound again."""
        if self._gone_at is None:
            return
        # What was on its way when the leader went does not count.
        since = self._gone_at + _ON_ITS_WAY_SECONDS
        after = [one.went for one in self.audit.bindings() if one.done and one.sent > since]
        if after:
            self._leaderless = max(self._leaderless or 0.0, min(after) - self._gone_at)
        self._gone_at = None


def soak(
    folder: Path,
    script: Iterable[Phase],
    result: RunResult,
    told: Callable[[PhaseResult], None] = lambda _: None,
    *,
    patience: float = PATIENCE_SECONDS,
) -> RunResult:
    """Run phases until the time of `result` is up, or something must not be.

    Args:
        folder: keeps all logs.
        script: the phases.
        result: says seed, replicas and minutes; filled in.
        told: is told of every phase.
        patience: how many seconds anything may take.
    """
    until = time.monotonic() + result.minutes * 60
    users = [f"moor-{name}" for name in "abcdef"[: result.replicas]]
    journal = folder / "proxy-journal.jsonl"
    with (
        ControlPlane(folder, audit_policy=audit.policy(users)) as plane,
        FaultyProxy(result.seed, journal=journal) as proxy,
    ):
        one = Soak(plane, proxy, journal, result.replicas, patience)
        with one.running():
            for phase in script:
                if time.monotonic() > until:
                    break
                done = one.run(phase)
                result.phases.append(done)
                told(done)
                if done.violations:
                    break
        result.terms = len(one.fencing.terms)
        result.held_back, result.at_wakeup = one.held_back, one.at_wakeup
        result.rejected = one.kubelets.rejected
    return result
