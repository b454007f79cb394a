"""The two servers: `moor cluster` and the real kube-apiserver with etcd; called by `measuring`."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.credentials import tls_context
from benchmarks.embedded.client import Target
from benchmarks.process import Server, cpu_ms, moor_command
from mooring.testing.real_kubernetes import ControlPlane

EMBEDDED = "moor cluster"
REAL = "kube-apiserver"


class Running:
    """A server that runs.

    Attributes:
        label: what it is.
        target: where it is.
        start_seconds: how long it took from its start to its first answer.
    """

    def __init__(self, label: str, target: Target, pids: list[int], start_seconds: float) -> None:
        self.label = label
        self.target = target
        self.start_seconds = start_seconds
        self._pids = pids

    def cpu_ms(self) -> float:
        """CPU time used so far."""
        return sum(map(cpu_ms, self._pids))

    def memory_mb(self) -> float:
        """The resident memory now."""
        kib = 0
        for pid in self._pids:
            status = Path(f"/proc/{pid}/status").read_text()
            kib += sum(int(line.split()[1]) for line in status.splitlines() if line[:6] == "VmRSS:")
        return kib * 1024 / 1e6


@contextmanager
def embedded() -> Iterator[Running]:
    """`moor cluster` with no nodes of its own and no kubelet, as the real one has none."""
    with TemporaryDirectory(prefix="mooring-bench-") as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        command = [*moor_command(), "cluster", "--nodes", "0", "--no-kubelet", "--port", "{port}"]
        server = Server(EMBEDDED, [*command, "--kubeconfig", str(kubeconfig)], health="/readyz")
        begin = time.perf_counter()
        with server:
            seconds = time.perf_counter() - begin
            yield Running(EMBEDDED, Target(server.port), [server.pid], seconds)


@contextmanager
def real() -> Iterator[Running]:
    """The real one, with etcd beside it."""
    begin = time.perf_counter()
    with ControlPlane() as plane:
        seconds = time.perf_counter() - begin
        target = Target(plane.port, tls_context(plane.kubeconfig))
        yield Running(REAL, target, list(plane.pids.values()), seconds)
