"""The replicas of ``moor run``: started, killed, paused, and started again when they end.

What a kubelet does for a Deployment's pods. Each replica has a user of its own and its own way
through the proxy. A process that ends in a way nobody asked for is remembered.
"""

import http.client
import os
import re
import signal
import time
from pathlib import Path
from typing import Any, Final

from mooring.testing import FaultyProxy
from mooring.testing.moor_run import MoorRun
from mooring.testing.real_kubernetes import ControlPlane

LEASE: Final = "soak"
#: As kube-scheduler has them.
LEASE_SECONDS: Final = 15
RENEW_SECONDS: Final = 10
RETRY_SECONDS: Final = 2
_HERTZ: Final = os.sysconf("SC_CLK_TCK")
_LOST: Final = "is no longer the leader"
_PROBE_SECONDS: Final = 10.0
_ENDING_SECONDS: Final = 10.0
#: A process that was stopped or is being started may be late with its answers.
_EXCUSED_SECONDS: Final = 20.0


class Replica:
    """One place for a process of ``moor run``.

    Args:
        plane: the cluster.
        proxy: what it goes through.
        name: such as ``a``; its user is ``moor-a``.

    Attributes:
        restarts: how often it was started after the first time.
        problems: sentences about what must not be: odd ends, failing liveness.
        logs: the log of every process there was.
    """

    def __init__(self, plane: ControlPlane, proxy: FaultyProxy, name: str) -> None:
        self.name = name
        self.user = f"moor-{name}"
        self.restarts = -1
        self.problems: list[str] = []
        self.logs: list[Path] = []
        direct = plane.kubeconfig_for(self.user, ["system:masters"])
        self._run = MoorRun(
            plane, _config(), kubeconfig=proxy.through(direct, client=name), wait=False
        )
        self._paused = False
        self._doomed = False
        self._excused_until = 0.0
        #: When it was told to go on after a pause, in seconds since 1970.
        self.continued_at: list[float] = []

    # -- its life

    def start(self) -> None:
        """Start it, and wait until it answers at all."""
        self._doomed = False
        self._excuse()
        self._run.start()
        self.restarts += 1
        self.logs.append(self._run.folder / "moor-run.log")

    def stop(self) -> None:
        """End it for good."""
        if self._paused:
            self.go_on()
        self._run.stop()

    def kill(self) -> None:
        """SIGKILL; `tend` starts it again."""
        self._doomed = True
        self._run.send(signal.SIGKILL)

    def terminate(self) -> None:
        """SIGTERM; `tend` starts it again."""
        self._doomed = True
        self._run.send(signal.SIGTERM)

    def pause(self) -> None:
        """SIGSTOP."""
        self._paused = True
        self._run.send(signal.SIGSTOP)

    def go_on(self) -> None:
        """SIGCONT."""
        self._paused = False
        self._excuse()
        self.continued_at.append(time.time())
        self._run.send(signal.SIGCONT)

    def tend(self) -> None:
        """Start it again if it has ended; remember an end that nobody asked for."""
        if self._paused or self._run.running:
            return
        code = self._run.wait_ended(1)
        wanted = (0, -signal.SIGKILL) if self._doomed else ()
        if code not in wanted and not (code == 1 and _LOST in self.log()):
            self.problems.append(f"replica {self.name} ended by itself with {code}: {self._last()}")
        self._run.stop()
        self.start()

    # -- how it is

    @property
    def running(self) -> bool:
        """Whether there is a process that is neither stopped nor told to end."""
        return self._run.running and not self._paused and not self._doomed

    @property
    def leading(self) -> bool:
        """Whether its metrics say that it leads."""
        found = self.metric("leader_election_master_status")
        return found is not None and found > 0

    @property
    def untried(self) -> int:
        """How many pods it could try at once."""
        return int(self.metric("scheduler_pending_pods", 'queue="active"') or 0)

    def metric(self, name: str, label: str = "") -> float | None:
        """The sum of a metric over its labels; None if it does not answer or has none.

        Args:
            name: the metric's.
            label: only the series with this label, as it is written there.
        """
        status, text = self.answer("/metrics")
        if status != http.client.OK:
            return None
        labels = rf"\{{[^}}]*{label}[^}}]*\}}" if label else r"(?:\{[^}]*\})?"
        values = re.findall(rf"^{name}{labels} (\S+)$", text, re.MULTILINE)
        return sum(map(float, values)) if values else None

    def answer(self, path: str) -> tuple[int, str]:
        """What it serves at a path; status 0 if it does not answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self._run.port, timeout=_PROBE_SECONDS)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        except (OSError, http.client.HTTPException) as error:
            return 0, str(error)
        finally:
            connection.close()

    def probe(self) -> None:
        """Ask for its liveness; a process that runs is alive, whatever the API server does."""
        if not self.running or time.monotonic() < self._excused_until:
            return
        status, text = self.answer("/livez")
        if status == http.client.OK:
            return
        # A process that ends stops answering first.
        until = time.monotonic() + _ENDING_SECONDS
        while self._run.running:
            if time.monotonic() > until:
                self.problems.append(f"/livez of replica {self.name} says {status}: {text.strip()}")
                return
            time.sleep(0.1)

    def memory_mb(self) -> float:
        """Its resident memory."""
        text = Path(f"/proc/{self._run.pid}/status").read_text()
        found = re.search(r"^VmRSS:\s+(\d+) kB", text, re.MULTILINE)
        return int(found[1]) / 1024 if found else 0.0

    def cpu_seconds(self) -> float:
        """The CPU time it has used."""
        fields = Path(f"/proc/{self._run.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _HERTZ

    def compare(self) -> None:
        """Have it compare its state with the cluster: SIGUSR2."""
        self._run.send(signal.SIGUSR2)

    def log(self) -> str:
        """What the present process has written."""
        return self._run.log()

    def _last(self) -> str:
        return " | ".join(self.log().splitlines()[-3:])

    def _excuse(self) -> None:
        self._excused_until = time.monotonic() + _EXCUSED_SECONDS


def _config() -> dict[str, Any]:
    return {
        "leaderElection": {
            "leaderElect": True,
            "resourceNamespace": "default",
            "resourceName": LEASE,
            "leaseDuration": f"{LEASE_SECONDS}s",
            "renewDeadline": f"{RENEW_SECONDS}s",
            "retryPeriod": f"{RETRY_SECONDS}s",
        },
        "podInitialBackoffSeconds": 1,
        "podMaxBackoffSeconds": 4,
    }
