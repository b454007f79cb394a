"""The memory of `moor run` before, while and after a tenant's pods are there; called by `__main__`.

Each tenant gets a fresh `moor run`; they share one embedded cluster.
"""

import asyncio
import re
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from benchmarks.command import BenchError, Say
from benchmarks.embedded.client import Target, node_requests, send_all
from benchmarks.embedded.servers import Running, embedded
from benchmarks.memory.tenants import Tenant, delete_requests, pod_requests
from benchmarks.process import Server, moor_command
from mooring.embedded.kubeconfig import kubeconfig_text

_CLIENTS: Final = 8
_SAMPLE_SECONDS: Final = 0.25
_SETTLE_SECONDS: Final = 5.0
_PATIENCE_SECONDS: Final = 900.0
_ATTEMPTS: Final = re.compile(r"^scheduler_schedule_attempts_total\{.*\} (\S+)$", re.MULTILINE)
_PODS: Final = re.compile(r'^scheduler_cache_size\{type="pods"\} (\S+)$', re.MULTILINE)
_WAITING: Final = re.compile(r'^scheduler_pending_pods\{queue="active"\} (\S+)$', re.MULTILINE)


class Effort(msgspec.Struct, frozen=True):
    """How much is done.

    Attributes:
        nodes: how many nodes there are.
        names: how many pods a tenant makes, each with names of its own.
        rest_seconds: how long after the last pod is gone the memory is looked at again.
    """

    nodes: int = 5000
    names: int = 10_000
    rest_seconds: float = 60.0


class MemoryResults(msgspec.Struct):
    """What one tenant's names cost, in MB of resident memory (VmRSS) of `moor run`.

    Attributes:
        tenant: what was invented.
        start: with all nodes known, before the first pod.
        most: the most that was ever seen above the start.
        after: what is left above the start, some time after the last pod is gone.
        seconds: how long the pods took.
    """

    tenant: str
    start: float
    most: float
    after: float
    seconds: float


@contextmanager
def cluster(effort: Effort, say: Say) -> Iterator[Running]:
    """The embedded cluster with its nodes."""
    with embedded() as server:
        say(f"{effort.nodes:,} nodes")
        asyncio.run(send_all(server.target, node_requests(effort.nodes), _CLIENTS))
        yield server


def measure(server: Running, tenant: Tenant, effort: Effort, say: Say) -> MemoryResults:
    """Let one tenant come and go."""
    with _scheduler(server.target.port) as run:
        return asyncio.run(_measure(server.target, run, tenant, effort, say))


@contextmanager
def _scheduler(port: int) -> Iterator[Server]:
    with TemporaryDirectory(prefix="mooring-bench-") as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        kubeconfig.write_text(kubeconfig_text(f"http://127.0.0.1:{port}"))
        command = [*moor_command(), "run", "--kubeconfig", str(kubeconfig), "--no-leader-elect"]
        with Server("moor run", [*command, "--port", "{port}"], health="/readyz") as server:
            yield server


async def _measure(
    target: Target, run: Server, tenant: Tenant, effort: Effort, say: Say
) -> MemoryResults:
    await asyncio.sleep(_SETTLE_SECONDS)
    start = _resident_mb(run.pid)
    most = start

    async def sample() -> None:
        nonlocal most
        while True:
            most = max(most, _resident_mb(run.pid))
            await asyncio.sleep(_SAMPLE_SECONDS)

    sampling = asyncio.create_task(sample())
    try:
        begin = time.perf_counter()
        await send_all(target, pod_requests(tenant, effort.names), _CLIENTS)
        await _until(run, lambda text: _done(text, tenant, effort.names), "all pods are tried")
        await asyncio.sleep(_SETTLE_SECONDS)
        seconds = time.perf_counter() - begin - _SETTLE_SECONDS
        say(f"{tenant.name}: {most - start:+.0f} MB with {effort.names:,} of them")
        await send_all(target, delete_requests(effort.names), _CLIENTS)
        await _until(run, lambda text: _number(_PODS, text) == 0, "all pods are gone")
        await asyncio.sleep(effort.rest_seconds)
        after = _resident_mb(run.pid)
        say(f"{tenant.name}: {after - start:+.0f} MB afterwards")
    finally:
        sampling.cancel()
    return MemoryResults(
        tenant=tenant.name, start=start, most=most - start, after=after - start, seconds=seconds
    )


def _done(text: str, tenant: Tenant, names: int) -> bool:
    if _number(_PODS, text) < names:
        return False
    tried = sum(map(float, _ATTEMPTS.findall(text)))
    return not tenant.ours or (tried >= names and _number(_WAITING, text) == 0)


def _number(form: re.Pattern[str], text: str) -> float:
    found = form.search(text)
    return float(found[1]) if found is not None else 0.0


async def _until(run: Server, is_so: Callable[[str], bool], what: str) -> None:
    begin = time.monotonic()
    while not is_so(await asyncio.to_thread(_metrics, run.port)):
        if time.monotonic() - begin > _PATIENCE_SECONDS:
            raise BenchError(f"It took too long until {what}.")
        await asyncio.sleep(0.5)


def _metrics(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        text: str = answer.read().decode()
    return text


def _resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return sum(int(line.split()[1]) for line in status.splitlines() if line[:6] == "VmRSS:") / 1000
