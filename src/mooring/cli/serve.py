"""``moor serve``: a policy as a scheduler extender."""

import logging
import math
import re
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Optional

import typer

from mooring.cli.logging_setup import LogFormat, set_up_logging
from mooring.cli.shared_options import (
    AllowHosts,
    ListenHost,
    ListenPort,
    LogLines,
    PolicyArgument,
    PredicatesPrefix,
    PrioritiesPrefix,
    Reload,
    TlsCert,
    TlsKey,
    Verbose,
    VerbPrefix,
)
from mooring.errors import InputError
from mooring.kube.cluster_config import ClusterConfig

log = logging.getLogger("mooring")
_SIZE = re.compile(r"[0-9]{1,15}([KMG]i)?")
#: A worker ends within 4 seconds of its drain time, and later on a busy machine.
_STOP_SECONDS = 15


def serve(
    policy: PolicyArgument,
    host: ListenHost = "127.0.0.1",
    port: ListenPort = 8888,
    prefix: VerbPrefix = "",
    predicates_prefix: PredicatesPrefix = "/predicates",
    priorities_prefix: PrioritiesPrefix = "/priorities",
    node_cache: Annotated[
        Optional[bool],  # noqa: UP045 - typer reads it at run time
        typer.Option(
            help="Watch nodes and pods, so that kube-scheduler sends only node names. "
            "If unset, on if a cluster is configured."
        ),
    ] = None,
    kubeconfig: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            help="Path to the kubeconfig of the cluster to watch and bind in. If unset: "
            "KUBECONFIG or the in-cluster service account."
        ),
    ] = None,
    context: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Kubeconfig context; with it, ~/.kube/config is used as well."),
    ] = None,
    allow_host: AllowHosts = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    client_ca: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            help="PEM file with a CA; only clients with a certificate from it are served."
        ),
    ] = None,
    health_port: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            min=0,
            max=65535,
            help="Also serve probes and metrics, and nothing else, on this port over plain HTTP.",
        ),
    ] = None,
    health_host: Annotated[str, typer.Option(help="Address for --health-port.")] = "0.0.0.0",  # noqa: S104
    workers: Annotated[int, typer.Option(min=1, max=64, help="Number of server processes.")] = 1,
    max_body: Annotated[str, typer.Option(help="Largest request body, such as 64Mi.")] = "256Mi",
    max_held: Annotated[
        str,
        typer.Option(
            help="Most bytes of bodies and replies in memory at once, such as 1Gi; at least "
            "--max-body."
        ),
    ] = "512Mi",
    max_waiting: Annotated[
        int, typer.Option(min=1, help="Most requests that may wait for an answer at once.")
    ] = 256,
    max_connections: Annotated[
        int,
        typer.Option(
            min=1,
            help="Most open connections. A new one replaces the one that has been idle or sending "
            "its body the longest; if all are waiting for answers, it is closed.",
        ),
    ] = 1000,
    timeout: Annotated[
        float,
        typer.Option(
            min=0.1,
            help="The caller's httpTimeout in seconds. A function may take 80% of it; every "
            "request is answered within it.",
        ),
    ] = 5.0,
    drain: Annotated[
        float, typer.Option(min=0, help="Seconds to keep answering after SIGTERM.")
    ] = 3.0,
    log_format: LogLines = LogFormat.TEXT,
    verbose: Verbose = 0,
    reload: Reload = False,
) -> None:
    """Serve a policy as a scheduler extender for kube-scheduler.

    LOG_LEVEL (TRACE, DEBUG, INFO, WARNING, ERROR) sets the log level, unless -v is given.
    """
    from mooring.extender.app import Routes
    from mooring.extender.server import ServeOptions, run
    from mooring.extender.workers import inherited_sockets, supervise, worker_command
    from mooring.framework.loading import load
    from mooring.http.origin import read_allowed_hosts
    from mooring.http.sockets import listen
    from mooring.process.exiting import exit_soon
    from mooring.process.file_descriptors import allow_descriptors

    set_up_logging(log_format, verbose)
    allow_descriptors()
    for option, seconds in (("--timeout", timeout), ("--drain", drain)):
        if not math.isfinite(seconds):
            raise InputError(f"{option} {seconds} is not a valid time; specify a number of seconds")
    body_bytes, held_bytes = _bytes(max_body, "--max-body"), _bytes(max_held, "--max-held")
    if held_bytes < body_bytes:
        raise InputError(
            f"--max-held {max_held} is less than --max-body {max_body}, so the largest "
            f"body would never fit; raise --max-held or lower --max-body"
        )
    inherited = inherited_sockets()
    options = ServeOptions(
        policy=policy,
        host=host,
        port=port,
        routes=Routes(
            prefix=_path(prefix, "--prefix"),
            predicates=_path(predicates_prefix, "--predicates-prefix"),
            priorities=_path(priorities_prefix, "--priorities-prefix"),
        ),
        max_body=body_bytes,
        max_held=held_bytes,
        max_waiting=max_waiting,
        max_connections=max_connections,
        timeout=timeout,
        drain=drain,
        allow_hosts=read_allowed_hosts(allow_host or ()),
        tls_cert=tls_cert,
        tls_key=tls_key,
        client_ca=client_ca,
        node_cache=node_cache is not False,
        reload=reload,
        worker=bool(inherited),
    )
    config = _cluster(node_cache, kubeconfig, context)

    def sockets() -> Iterator[socket.socket]:
        yield listen(host, port)
        if health_port is not None:
            yield listen(
                health_host, health_port, option="--health-host", port_option="--health-port"
            )

    if inherited or workers == 1:
        with ExitStack() as stack:
            code = run(options, config, *map(stack.enter_context, inherited or sockets()))
        exit_soon(code)
        raise typer.Exit(code)
    # A policy or certificate that cannot be used is reported once, before any worker starts.
    load(policy)
    options.certificates()
    with ExitStack() as stack:
        shared = [stack.enter_context(one) for one in sockets()]
        command = worker_command(sys.argv[1:])
        raise typer.Exit(supervise(command, shared, workers, stop_seconds=drain + _STOP_SECONDS))


def _cluster(
    node_cache: bool | None, kubeconfig: Path | None, context: str | None
) -> ClusterConfig | None:
    from mooring.kube.config import find_config, unasked_file

    # A kubeconfig in the home folder is used only when asked for: it may be any cluster.
    config = find_config(kubeconfig, default_file=bool(context), context=context)
    if config is None and node_cache:
        raise InputError(
            f"--node-cache needs a cluster, and none is configured: use --kubeconfig FILE, "
            f"set KUBECONFIG, or run inside the cluster{unasked_file()}"
        )
    return config


def _path(text: str, option: str) -> str:
    path = text.strip("/")
    if path and not text.startswith("/"):
        logging.getLogger("mooring").warning(
            "%s %s has no leading /, using /%s", option, text, path
        )
    if not all(re.fullmatch(r"[A-Za-z0-9._~-]+", part) for part in path.split("/") if path):
        raise InputError(
            f"{option} {text!r} is not a valid path; use letters, digits and - . _ ~ between "
            "slashes"
        )
    return f"/{path}" if path else ""


def _bytes(text: str, option: str) -> int:
    if not _SIZE.fullmatch(text):
        raise InputError(f"{option} {text!r} is not a valid size; use for example 64Mi or 1000000")
    if not text.strip("0KMGi"):
        raise InputError(f"{option} {text} must be greater than 0; use for example 64Mi or 1000000")
    scale = {"K": 10, "M": 20, "G": 30}.get(text[-2:-1], 0) if text.endswith("i") else 0
    return int(text.removesuffix("i").rstrip("KMG")) << scale
