"""Running the extender: sockets, TLS, signals, the policy file's reload.

One process serves; with several workers `workers` starts this in each of them on a shared socket.
On SIGTERM ``/readyz`` turns red, new requests are still answered for the drain time, then the
sockets close, what is in flight is finished and the process ends with 0.
"""

import asyncio
import contextlib
import importlib.util
import ipaddress
import logging
import signal
import socket
import sys
from collections.abc import Awaitable
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import uvloop

from mooring.errors import InputError
from mooring.extender.app import DEFAULT_MAX_BODY, App, Routes
from mooring.extender.service import Service
from mooring.framework.loading import load, source_files
from mooring.framework.policy import Policy
from mooring.kube.cluster import ClusterConfig
from mooring.serving.memory import keep_warm
from mooring.serving.origin import OwnOrigin
from mooring.serving.protocol import WholeBodyProtocol
from mooring.serving.running import Server, make_server
from mooring.serving.tls import Certificates

log = logging.getLogger("mooring.extender")

#: Go's client keeps idle connections for 90 s; it should be the one to close them.
_KEEP_ALIVE_SECONDS = 120


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How to serve.

    Attributes:
        policy: where the policy is, as `load` takes it.
        host: the address to listen on.
        port: the port; 0 takes a free one.
        routes: where the verbs are served.
        max_body: the largest request body in bytes.
        timeout: the caller's ``httpTimeout`` in seconds.
        drain: how long requests are still answered after SIGTERM, in seconds.
        allow_hosts: further names for `OwnOrigin`.
        tls_cert: the certificate chain; TLS is on if it is given.
        tls_key: its key.
        client_ca: the authority that client certificates must come from.
        node_cache: watch the cluster's nodes and pods, if a cluster is configured.
        reload: load the policy again when its file changes.
    """

    policy: str
    host: str = "127.0.0.1"
    port: int = 8888
    routes: Routes = Routes()
    max_body: int = DEFAULT_MAX_BODY
    timeout: float = 5.0
    drain: float = 3.0
    allow_hosts: frozenset[str] = frozenset()
    tls_cert: Path | None = None
    tls_key: Path | None = None
    client_ca: Path | None = None
    node_cache: bool = True
    reload: bool = False

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


def run(options: Options, config: ClusterConfig | None, sock: socket.socket) -> None:
    """Serve until a signal says stop.

    Raises:
        InputError: the policy or a certificate cannot be used.
    """
    keep_warm()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(options, config, sock))


async def _serve(options: Options, config: ClusterConfig | None, sock: socket.socket) -> None:
    policy = load(options.policy)
    certificates = options.certificates()
    async with AsyncExitStack() as stack:
        service = await stack.enter_async_context(
            Service(policy, config, node_cache=options.node_cache, timeout=options.timeout)
        )
        app = App(service, routes=options.routes, max_body=options.max_body)
        server = make_server(
            OwnOrigin(app.asgi(), sock, options.allow_hosts),
            http=type("Protocol", (WholeBodyProtocol,), {"max_body": options.max_body}),
            certificates=certificates,
            close_seconds=30,
            keep_alive_seconds=_KEEP_ALIVE_SECONDS,
        )
        if certificates is not None:
            _background(stack, certificates.watch())
        if options.reload:
            _background(stack, _reload(options.policy, service))
        _on_signals(server, service, options.drain)
        _announce(options, service, sock)
        await server.serve(sockets=[sock])
    log.info("stopped")


def _on_signals(server: Server, service: Service, drain: float) -> None:
    loop = asyncio.get_running_loop()

    def stop(seconds: float) -> None:
        if service.draining:
            server.should_exit = True
            return
        service.draining = True
        log.info("stopping: requests are answered for another %g s", seconds)
        loop.call_later(seconds, setattr, server, "should_exit", True)

    loop.add_signal_handler(signal.SIGTERM, stop, drain)
    loop.add_signal_handler(signal.SIGINT, stop, 0.0)


def _announce(options: Options, service: Service, sock: socket.socket) -> None:
    address = sock.getsockname()
    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    scheme = "https" if options.tls_cert else "http"
    log.info("policy %s: %s", service.policy.name, _summary(service))
    if service.stateless:
        log.info(
            "stateless: no node cache, so node.free, node.used and node.pods are not available; "
            "give --kubeconfig FILE or run inside the cluster to have one"
        )
    else:
        log.info("node cache on: set nodeCacheCapable: true; ready once nodes and pods are known")
    if not options.client_ca and not ipaddress.ip_address(address[0]).is_loopback:
        log.warning(
            "anyone who reaches %s can ask this server, and have pods bound if it may bind; "
            "give --client-ca FILE, or listen on loopback beside kube-scheduler",
            host,
        )
    log.info(
        "server starting on the port :%d, urlPrefix %s://%s:%d%s",
        address[1], scheme, host, address[1], options.routes.prefix,
    )  # fmt: skip


def _summary(service: Service) -> str:
    by_kind: dict[str, list[str]] = {}
    for rule in service.policy.rules:
        by_kind.setdefault(rule.kind.removesuffix("_nodes"), []).append(rule.name)
    return "; ".join(f"{kind} {', '.join(names)}" for kind, names in by_kind.items()) or "empty"


def _background(stack: AsyncExitStack, work: Awaitable[None]) -> None:
    task = asyncio.ensure_future(work)

    async def end() -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    stack.push_async_callback(end)


async def _reload(source: str, service: Service, seconds: float = 0.5) -> None:
    """Load the policy again whenever one of its files changes; a broken one is not taken."""
    # Files are never left out again: one that cannot be imported now may be mended.
    files = set(source_files(source))
    stamps = _stamps(files)
    while True:
        await asyncio.sleep(seconds)
        files.update(source_files(source))
        now = _stamps(files)
        if now == stamps:
            continue
        stamps = now
        try:
            policy = await asyncio.to_thread(_load_again, source, files)
        except InputError as error:
            log.error("kept the old policy: %s", error)  # noqa: TRY400 - the sentence says it all
            continue
        service.replace_policy(policy)
        log.info("reloaded policy %s: %s", policy.name, _summary(service))


def _stamps(files: set[Path]) -> dict[Path, int]:
    found = {}
    for path in files:
        with contextlib.suppress(OSError):
            found[path] = path.stat().st_mtime_ns
    return found


def _load_again(source: str, files: set[Path]) -> Policy:
    for file in files:
        # Bytecode is told from old by whole seconds; a file may be written twice in one.
        with contextlib.suppress(OSError):
            Path(importlib.util.cache_from_source(str(file))).unlink()
    changed = set(map(str, files))
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) in changed:
            del sys.modules[name]
    return load(source)
