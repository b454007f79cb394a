"""``moor run`` as a process: what is configured, a socket, an event loop, a scheduler.

The server answers from the beginning to the end; what happens in between is in `lifecycle`.
`scheduling` is for those who have a process already: ``moor demo``, ``moor cluster --scheduler``
and tests.
"""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import uvloop

from mooring.errors import KubeError
from mooring.http.sockets import listen
from mooring.http.tls import Certificates
from mooring.live.assembly import SchedulerComponents, assembled
from mooring.live.configz import shown_configuration
from mooring.live.lifecycle import SchedulerLifecycle
from mooring.live.options import RunOptions, SchedulerSettings, read_settings
from mooring.live.server import SchedulerApp, serving
from mooring.process.exiting import exit_now
from mooring.process.foreign_tasks import run_to_end
from mooring.process.garbage_collection import collect_in_short_pauses
from mooring.process.memory import keep_little_memory
from mooring.version import __version__

log = logging.getLogger("mooring.live")


def main(options: RunOptions) -> int:
    """Run a scheduler until a signal says stop; the process's exit code.

    Raises:
        InputError: something in the options, the configuration or the policy is wrong.
        KubeError: the API server rejects what the scheduler has to read.
    """
    settings = read_settings(options)
    certificates = options.certificates()
    keep_little_memory()
    collect_in_short_pauses()
    with (
        listen(options.host, options.port, option="--bind-address") as sock,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        return run_to_end(runner, run(options, settings, sock, certificates))


async def run(
    options: RunOptions,
    settings: SchedulerSettings,
    sock: socket.socket,
    certificates: Certificates | None = None,
) -> int:
    """Run a scheduler on this event loop until a signal says stop; the process's exit code.

    Args:
        options: how to run.
        settings: what is configured, as `read_settings` makes it of the options.
        sock: where health and metrics are served.
        certificates: for TLS there; None for plain HTTP.

    Raises:
        InputError: a plugin or an extender cannot be used.
        KubeError: the API server rejects what the scheduler has to read.
    """
    async with assembled(settings) as components:
        app = SchedulerApp(
            components.health,
            components.scraped_metrics.text,
            lambda: shown_configuration(components.policy_reload.settings),
        )
        async with serving(app, sock, certificates, options.allow_hosts) as serving_tasks:
            _announce(settings, sock, tls=certificates is not None)
            _warn_of_long_hooks(settings)
            return await SchedulerLifecycle(components, serving_tasks, drain=options.drain).run()


@asynccontextmanager
async def scheduling(
    settings: SchedulerSettings, *, drain: float = 5.0, exit_now: Callable[[int], object] = exit_now
) -> AsyncIterator[SchedulerComponents]:
    """Run a scheduler on this event loop beside other work, for the length of a block.

    It serves nothing and leaves signals alone. If it ends by itself, the block is cancelled and its
    error is raised.

    Args:
        settings: what is configured, as `read_settings` makes it.
        drain: how long bindings under way are waited for at the end, in seconds.
        exit_now: ends the process at once, for a plugin that ignores every interruption.

    Raises:
        InputError: a plugin or an extender cannot be used.
        KubeError: the API server rejects what the scheduler has to read.
    """
    async with assembled(settings, exit_now) as components:
        lifecycle = SchedulerLifecycle(components, [], drain=drain, whole_process=False)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_until_stopped(lifecycle))
                try:
                    yield components
                finally:
                    lifecycle.stop()
        except BaseExceptionGroup as errors:
            # Of two that failed at the same time, one sentence is enough.
            raise errors.exceptions[0] from None


async def _until_stopped(lifecycle: SchedulerLifecycle) -> None:
    code = await lifecycle.run()
    if code:
        raise KubeError("the scheduler exited; see its log for the reason")


def _warn_of_long_hooks(settings: SchedulerSettings) -> None:
    """While a plugin runs, nobody renews the Lease."""
    lease, seconds = settings.lease, settings.hook_limits.decision_seconds
    if lease is not None and seconds > lease.renew_seconds / 2:
        log.warning(
            "a plugin may take %gs (--hook-timeout), and nothing else runs meanwhile: the "
            "Lease, with a renewDeadline of %gs, may be lost; use at most half of that",
            seconds, lease.renew_seconds,
        )  # fmt: skip


def _announce(settings: SchedulerSettings, sock: socket.socket, *, tls: bool) -> None:
    """Say what runs here, and how much its policy can decide."""
    address = sock.getsockname()
    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    lease = settings.lease
    election = f"on (Lease {lease.namespace}/{lease.name})" if lease is not None else "off"
    log.info(
        "mooring %s schedules pods for %s on %s, leader election %s, health checks at %s://%s:%d",
        __version__, ", ".join(settings.profiles), settings.cluster.server, election,
        "https" if tls else "http", host, address[1],
    )  # fmt: skip
    for say in settings.says():
        log.info("%s", say)
