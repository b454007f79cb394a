"""A scheduler that runs in this process, and what a test does with it."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mooring.config.configuration import read_configuration
from mooring.config.runtimes import build_profiles
from mooring.http.sockets import listen
from mooring.kube.lease import LeaseSettings
from mooring.live.options import RunOptions, SchedulerSettings
from mooring.live.run import run as run_scheduler
from mooring.plugins.in_tree import default_registry
from tests.unit.live.fake_cluster import FakeCluster

#: Asks often; no Lease is lost or taken over because a busy machine was slow.
FAST = LeaseSettings(lease_seconds=120.0, renew_seconds=60.0, retry_seconds=0.2)
#: Others' Leases run out soon.
BRIEF = LeaseSettings(lease_seconds=4.0, renew_seconds=3.0, retry_seconds=0.2)


def make_settings(cluster: FakeCluster, config: dict[str, Any], **more: Any) -> SchedulerSettings:
    registry = default_registry()
    return SchedulerSettings(
        configuration=read_configuration(config),
        profiles=build_profiles(config, registry, more.get("policies", ())),
        registry=registry,
        cluster=cluster.config,
        **more,
    )


async def eventually(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(300):
        while not condition():  # noqa: ASYNC110 - a log has no events
            await asyncio.sleep(0.01)


class Scheduler:
    """A running scheduler and the cluster it schedules."""

    def __init__(self, cluster: FakeCluster, task: asyncio.Task[int], port: int) -> None:
        self.cluster = cluster
        self.task = task
        self.port = port

    async def get(self, path: str) -> tuple[int, str]:
        """Ask one of the process's endpoints."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(f"GET {path} HTTP/1.1\r\nhost: [::1]\r\nconnection: close\r\n\r\n".encode())
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        return int(head.split()[1]), body.decode()

    async def readiness(self, status: int, text: str = "") -> str:
        """Wait until the process says that it is ready, or is not; what it says."""
        async with asyncio.timeout(300):
            while True:
                found, said = await self.get("/readyz")
                if found == status and text in said:
                    return said

    async def ready(self) -> None:
        await self.readiness(200)

    async def logged(self, caplog: pytest.LogCaptureFixture, text: str) -> None:
        await eventually(lambda: text in caplog.text)

    async def end(self) -> int:
        """The exit code."""
        async with asyncio.timeout(300):
            return await self.task


@asynccontextmanager
async def scheduler(
    cluster: FakeCluster, config: dict[str, Any] | None = None, **more: Any
) -> AsyncIterator[Scheduler]:
    settings = make_settings(cluster, config or {}, **more)
    with listen("127.0.0.1", 0) as sock:
        task = asyncio.create_task(run_scheduler(RunOptions(drain=5.0), settings, sock))
        try:
            yield Scheduler(cluster, task, sock.getsockname()[1])
        finally:
            if not task.done():
                task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def kill(number: signal.Signals = signal.SIGTERM) -> None:
    """Send a signal to this process, if the scheduler takes it."""
    assert signal.getsignal(number) not in (signal.SIG_DFL, signal.default_int_handler)
    os.kill(os.getpid(), number)
