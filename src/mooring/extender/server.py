"""Running the extender: sockets, TLS, the way to the end, the policy file's reload.

One process serves; with several workers `workers` starts this in each of them on a shared socket.
On SIGTERM ``/readyz`` turns red, new requests are still answered for the drain time, then the
sockets close, what is under way is finished and the process ends with 0 (`shutdown`).
"""

import asyncio
import ipaddress
import logging
import socket
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import msgspec

from mooring.config.policy_say import extender_say
from mooring.errors import InputError
from mooring.extender.app import DEFAULT_MAX_BODY, DEFAULT_MAX_HELD, ExtenderApp, Routes
from mooring.extender.decision_thread import DecisionQueue
from mooring.extender.decision_turns import FUNCTION_PART, TimeLimit
from mooring.extender.extender_entry import as_yaml, extender_entry
from mooring.extender.health_listener import serving_health
from mooring.extender.policy_warnings import warn_of_plugins, warn_of_usage
from mooring.extender.process import SignalSocket, decide_and_serve
from mooring.extender.service import ExtenderService, ServiceLimits
from mooring.extender.shutdown import Shutdown
from mooring.framework.loading import load
from mooring.framework.policy import Policy
from mooring.framework.policy_text import summary
from mooring.http.limited_connections import limited_connections
from mooring.http.load_limits import LoadLimits
from mooring.http.origin import OwnOrigin
from mooring.http.server import make_server
from mooring.http.tls import Certificates
from mooring.kube.cluster_config import ClusterConfig
from mooring.kube.config import unasked_file
from mooring.log_kinds import report_left_out, with_yaml
from mooring.process.file_descriptors import room_for_connections, watch_descriptors
from mooring.process.memory import keep_freed_memory, trim_memory
from mooring.process.policy_reloading import reload

log = logging.getLogger("mooring.extender")

#: Go's client keeps idle connections for 90 s; it should be the one to close them.
_KEEP_ALIVE_SECONDS: Final = 120
#: So much memory of requests that are over is given back to the kernel after some idle time.
_MUCH_BYTES: Final = 64 << 20
_IDLE_TICKS: Final = 60
#: A worker with a function that has not returned for so many timeouts of the caller is replaced.
_STUCK_TIMEOUTS: Final = 2
#: How often within that timeout is looked whether it has, and how seldom at most, in seconds.
_LOOKS: Final = 50
_MOST_SECONDS: Final = 0.1


class ServeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to serve.

    Attributes:
        policy: where the policy is, as `load` takes it.
        host: the address to listen on.
        port: the port; 0 takes a free one.
        routes: where the verbs are served.
        max_body: the largest request body in bytes.
        max_held: bytes of bodies and replies in memory at once; at least `max_body`.
        max_waiting: requests that wait for an answer at once.
        max_connections: open at once.
        timeout: the caller's ``httpTimeout`` in seconds.
        drain: how long requests are still answered after SIGTERM, in seconds.
        allow_hosts: further names for `OwnOrigin`.
        tls_cert: the certificate chain; TLS is on if it is given.
        tls_key: its key.
        client_ca: the authority that client certificates must come from.
        node_cache: watch the cluster's nodes and pods, if a cluster is configured.
        reload: load the policy again when its file changes.
        worker: end when a function is stuck for good: somebody starts another worker.
    """

    policy: str
    host: str = "127.0.0.1"
    port: int = 8888
    routes: Routes = Routes()
    max_body: int = DEFAULT_MAX_BODY
    max_held: int = DEFAULT_MAX_HELD
    max_waiting: int = 256
    max_connections: int = 1000
    timeout: float = 5.0
    drain: float = 3.0
    allow_hosts: frozenset[str] = frozenset()
    tls_cert: Path | None = None
    tls_key: Path | None = None
    client_ca: Path | None = None
    node_cache: bool = True
    reload: bool = False
    worker: bool = False

    def certificates(self) -> Certificates | None:
        """The certificates, if TLS is on.

        Raises:
            InputError: only a part of them is given, or a file is unusable.
        """
        if self.tls_cert is None or self.tls_key is None:
            if self.tls_cert or self.tls_key or self.client_ca:
                raise InputError("TLS needs both --tls-cert and --tls-key")
            return None
        return Certificates(self.tls_cert, self.tls_key, self.client_ca)


def run(
    options: ServeOptions,
    config: ClusterConfig | None,
    sock: socket.socket,
    health: socket.socket | None = None,
) -> int:
    """Serve until a signal says stop; the exit code.

    Args:
        options: how to serve.
        config: the cluster to watch and bind in, if there is one.
        sock: where the verbs are served.
        health: where probes and metrics are served, too; None for nowhere.

    Raises:
        InputError: the policy or a certificate cannot be used.
    """
    policy = load(options.policy)
    certificates = options.certificates()
    keep_freed_memory()

    async def main(decisions: DecisionQueue, interrupt: TimeLimit, signals: SignalSocket) -> int:
        service = ExtenderService(
            policy,
            config,
            node_cache=options.node_cache,
            limits=ServiceLimits(timeout=options.timeout, waiting=options.max_waiting),
            decisions=decisions,
            interrupt=interrupt,
        )
        return await serve(options, service, sock, certificates, signals, health=health)

    return decide_and_serve(main, FUNCTION_PART * options.timeout)


async def serve(
    options: ServeOptions,
    service: ExtenderService,
    sock: socket.socket,
    certificates: Certificates | None = None,
    signals: SignalSocket | None = None,
    load_limits: LoadLimits | None = None,
    *,
    health: socket.socket | None = None,
) -> int:
    """Serve on this event loop until a signal says stop; the exit code."""
    load_limits = load_limits if load_limits is not None else load_limits_of(options)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(service)
        app = ExtenderApp(
            service, routes=options.routes, max_body=options.max_body, load_limits=load_limits
        )
        if health is not None:
            listener = serving_health(app.health_asgi(), health, options.allow_hosts)
            await stack.enter_async_context(listener)
            log.info("probes and metrics are also on %s:%d", *_address(health))
        server = make_server(
            OwnOrigin(app.asgi(), sock, options.allow_hosts),
            http=limited_connections(
                load_limits, max_body=options.max_body, reply_seconds=options.timeout
            ),
            certificates=certificates,
            close_seconds=30,
            keep_alive_seconds=_KEEP_ALIVE_SECONDS,
        )
        _background(stack, watch_descriptors())
        if certificates is not None:
            _background(stack, certificates.watch())
        if options.reload:
            _background(stack, reload(options.policy, lambda policy: _replace(service, policy)))
        shutdown = Shutdown(server, service, options.drain)
        if signals is not None:
            signals.listen(shutdown.on_signal)
        _background(stack, _tick(app, min(1.0, options.timeout)))
        if options.worker:
            _background(stack, end_when_stuck(service, shutdown))
        _announce(options, service, sock)
        await server.serve(sockets=[sock])
    return shutdown.code


def load_limits_of(options: ServeOptions) -> LoadLimits:
    """What is taken in at once; no more connections than the process may have files open."""
    return LoadLimits(options.max_held, room_for_connections(options.max_connections))


async def _tick(app: ExtenderApp, seconds: float) -> None:
    """Now and then: report what the log only counted, and give memory back."""
    idle = 0
    while True:
        await asyncio.sleep(seconds)
        app.tick()
        report_left_out()
        load_limits = app.load_limits
        idle = idle + 1 if not load_limits.bytes and load_limits.peak_bytes > _MUCH_BYTES else 0
        if idle > _IDLE_TICKS:
            trim_memory()
            load_limits.peak_bytes = 0


async def end_when_stuck(
    service: ExtenderService,
    shutdown: Shutdown,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> None:
    """End a worker that is stuck for good, with a code that has it replaced."""
    while service.stuck_for() <= _STUCK_TIMEOUTS * service.timeout:
        await sleep(min(service.timeout / _LOOKS, _MOST_SECONDS))
    log.error("this worker is stuck: %s; stopping it", service.stuck())
    shutdown.code = 1
    shutdown.stop(0.0, 0.0)


def _announce(options: ServeOptions, service: ExtenderService, sock: socket.socket) -> None:
    host, port = _address(sock)
    address = ipaddress.ip_address(host.strip("[]"))
    listening = f"{host}:{port}"
    scheme = "https" if options.tls_cert else "http"
    log.info("policy %s: %s", service.policy.name, summary(service.policy))
    warn_of_plugins(service.policy)
    if not service.stateless:
        log.info(
            "node cache enabled: set nodeCacheCapable: true; ready once nodes and pods are synced"
        )
    elif not warn_of_usage(service.policy):
        log.info(
            "stateless: no node cache, so node.free, node.used and node.pods are not available; "
            "to enable it, use --kubeconfig FILE or run inside the cluster%s",
            unasked_file(),
        )
    if not options.client_ca and not address.is_loopback:
        log.warning(
            "anyone who can reach %s can use this server, including its permission to bind pods; "
            "use --client-ca FILE, or listen on loopback next to kube-scheduler",
            host,
        )
    if address.is_unspecified:
        # One can listen on all addresses, but call only one.
        host = "[::1]" if address.version == 6 else "127.0.0.1"
        log.info(
            "listening on all addresses: for callers on other hosts, replace %s in urlPrefix with "
            "an address of this host, or with a name that --allow-host accepts",
            host,
        )
    url = f"{scheme}://{host}:{port}{options.routes.prefix}"
    log.info("listening on %s, urlPrefix %s", listening, url)
    entry = extender_entry(
        service.policy, url, node_cache=not service.stateless, timeout=options.timeout
    )
    log.info("for kube-scheduler's configuration:", extra=with_yaml(as_yaml(entry)))
    say = extender_say(service.policy)
    if say is not None:
        log.info("with this weight and kube-scheduler's default plugins, %s", say)


def _address(sock: socket.socket) -> tuple[str, int]:
    """Where a socket listens, as it is written in a URL."""
    host, port = sock.getsockname()[:2]
    return f"[{host}]" if ":" in host else host, port


def _replace(service: ExtenderService, policy: Policy) -> None:
    service.replace_policy(policy)
    log.info("reloaded policy %s: %s", policy.name, summary(policy))
    warn_of_plugins(policy)
    if service.stateless:
        warn_of_usage(policy)


def _background(stack: AsyncExitStack, work: Awaitable[None]) -> None:
    task = asyncio.ensure_future(work)

    async def end() -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    stack.push_async_callback(end)
