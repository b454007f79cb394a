"""``moor cluster``: an embedded cluster for kubectl and for schedulers."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple, Optional

import typer

from mooring.cli.logging_setup import LogFormat, set_up_logging
from mooring.cli.shared_options import (
    AllowHosts,
    HookTimeout,
    ListenHost,
    ListenPort,
    LogLines,
    Reload,
    TlsCert,
    TlsKey,
    Verbose,
)
from mooring.cli.standard_streams import print_error
from mooring.errors import InputError
from mooring.wording import escaped

if TYPE_CHECKING:
    from mooring.embedded.devices.forms import DriverForm
    from mooring.embedded.resources import Obj
    from mooring.embedded.server import EmbeddedCluster
    from mooring.http.tls import Certificates
    from mooring.live.options import SchedulerSettings

_NODES: Final = 20
_SHOWN_PROBLEMS: Final = 5
_ANY: Final = ("0.0.0.0", "::", "")  # noqa: S104 - to be recognised
_LOOPBACK: Final = ("127.", "::1", "localhost")


class ClusterOptions(NamedTuple):
    """The options of the command, checked."""

    nodes: "list[Obj]"
    drivers: "tuple[DriverForm, ...]"
    objects: "list[Obj]"
    host: str
    port: int
    allow_hosts: frozenset[str]
    kubeconfig: Path
    tokens: dict[str, str]
    certificates: "Certificates | None"
    authority: bytes
    kubelet: bool
    job_seconds: float | None
    scheduler: bool
    config: Path | None
    policy: str | None
    hook_timeout: float
    reload: bool


def cluster(
    nodes: Annotated[
        Optional[int],  # noqa: UP045 - typer reads it at run time
        typer.Option(
            min=0, max=20_000, help="Number of nodes; if unset, 20, or 0 with --snapshot."
        ),
    ] = None,
    nodes_file: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="FILE",
            help="File with the nodes: manifests, or a list of name, count, cpu, memory, ...",
        ),
    ] = None,
    devices: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="FILE",
            help="File with devices for claims: drivers, pools, attributes, counts, partitions.",
        ),
    ] = None,
    snapshot: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--snapshot",
            "-s",
            metavar="FILE|DIR|-",
            help="Objects to start with: output of moor snapshot or kubectl get ... -o json|yaml.",
        ),
    ] = None,
    host: ListenHost = "127.0.0.1",
    port: ListenPort = 8880,
    allow_host: AllowHosts = None,
    kubeconfig: Annotated[
        Path, typer.Option(metavar="FILE", help="File to write the kubeconfig to.")
    ] = Path("mooring.kubeconfig"),
    token_file: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="FILE", help="File with the allowed tokens, one token,user per line; needs TLS."
        ),
    ] = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    kubelet: Annotated[bool, typer.Option("--kubelet/--no-kubelet", help="Run bound pods.")] = True,
    job_seconds: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(
            min=0.0, help="Seconds until pods of Jobs complete; if unset, they keep running."
        ),
    ] = None,
    scheduler: Annotated[
        bool, typer.Option("--scheduler", help="Run mooring's scheduler as well.")
    ] = False,
    policy: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Policy for the scheduler: policy.py or package.module:policy."),
    ] = None,
    config: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="KubeSchedulerConfiguration file for the scheduler."),
    ] = None,
    hook_timeout: HookTimeout = 5.0,
    reload: Reload = False,
    log_format: LogLines = LogFormat.TEXT,
    verbose: Verbose = 0,
) -> None:
    """Run a Kubernetes cluster in memory, with fake nodes, for kubectl and schedulers.

    Writes its own kubeconfig and prints how to use it. Controllers create the pods of Deployments
    and Jobs, and bound pods run. To bind them, run a scheduler: moor run, kube-scheduler or
    --scheduler. Ctrl-C or SIGTERM stops the cluster with exit code 0 and removes the kubeconfig;
    nothing is left behind.
    """
    from mooring.process.file_descriptors import allow_descriptors

    if nodes is not None and nodes_file is not None:
        raise InputError("--nodes and --nodes-file are mutually exclusive; use one of them")
    for option, value in (("--policy", policy), ("--config", config)):
        if value is not None and not scheduler:
            raise InputError(f"{option} needs a scheduler; add --scheduler")
    if reload and policy is None:
        raise InputError("--reload needs a policy file; specify it with --policy")
    certificates = _certificates(tls_cert, tls_key)
    if token_file is not None and certificates is None:
        raise InputError(
            "--token-file needs --tls-cert and --tls-key: kubectl sends no token over plain HTTP"
        )
    set_up_logging(log_format, verbose)
    allow_descriptors()
    from mooring.cli.cluster_files import check_kubeconfig, read_tokens
    from mooring.embedded.fleet import read_fleet_file
    from mooring.http.origin import read_allowed_hosts

    fleet = read_fleet_file(nodes_file) if nodes_file is not None else None
    options = ClusterOptions(
        nodes=fleet.nodes if fleet is not None else _nodes(nodes, snapshot),
        drivers=_drivers(devices, nodes_file if fleet is not None and fleet.has_drivers else None),
        objects=_objects(snapshot),
        host=host,
        port=port,
        allow_hosts=read_allowed_hosts(allow_host or ()),
        kubeconfig=check_kubeconfig(kubeconfig),
        tokens=read_tokens(token_file) if token_file is not None else {},
        certificates=certificates,
        authority=tls_cert.read_bytes() if tls_cert is not None else b"",
        kubelet=kubelet,
        job_seconds=job_seconds,
        scheduler=scheduler,
        config=config,
        policy=policy,
        hook_timeout=hook_timeout,
        reload=reload,
    )
    _serve(options)


def _certificates(cert: Path | None, key: Path | None) -> "Certificates | None":
    if cert is None or key is None:
        if cert or key:
            raise InputError("TLS needs both --tls-cert and --tls-key")
        return None
    from mooring.http.tls import Certificates

    return Certificates(cert, key)


def _nodes(count: int | None, snapshot: str | None) -> "list[Obj]":
    from mooring.embedded.fleet import make_fleet

    if count is None:
        count = _NODES if snapshot is None else 0
    return make_fleet(count)


def _drivers(alone: Path | None, with_nodes: Path | None) -> "tuple[DriverForm, ...]":
    """The drivers in a file of devices and in one of nodes, of which either may be missing."""
    from mooring.embedded.devices.device_file import check_names, read_drivers

    drivers = read_drivers(alone) if alone is not None else ()
    if with_nodes is not None:
        drivers += read_drivers(with_nodes, with_nodes=True)
    check_names(drivers)
    return drivers


def _objects(snapshot: str | None) -> "list[Obj]":
    if snapshot is None:
        return []
    from mooring.cli.cluster_snapshot import read_files

    return read_files(snapshot)


def _serve(options: ClusterOptions) -> None:
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(options))


async def _run(options: ClusterOptions) -> None:
    from mooring.live.stop_signals import StopSignals
    from mooring.process.exiting import exit_now

    stop = asyncio.Event()
    files = ExitStack()

    def leave_nothing(code: int) -> None:
        """End at once, whatever holds it up: a second signal, or a plugin that goes on for ever."""
        files.close()
        exit_now(code)

    with StopSignals(stop.set, leave_nothing), files:
        async with AsyncExitStack() as stack:
            await _start(options, stack, files, leave_nothing)
            await stop.wait()


async def _start(
    options: ClusterOptions,
    stack: AsyncExitStack,
    files: ExitStack,
    exit_now: Callable[[int], object],
) -> None:
    """Start everything and say what to do with it; the stacks end it."""
    from mooring.cli.cluster_files import written_kubeconfig
    from mooring.live.run import scheduling

    cluster = _cluster(options)
    _load(options, cluster)
    await stack.enter_async_context(cluster)
    url = _reachable(cluster.url, options.host)
    token = next(iter(options.tokens), "")
    files.enter_context(
        written_kubeconfig(options.kubeconfig, url, token=token, authority=options.authority)
    )
    settings = _settings(options) if options.scheduler else None
    if settings is not None:
        await stack.enter_async_context(scheduling(settings, exit_now=exit_now))
    _announce(options, cluster, url, settings)


def _cluster(options: ClusterOptions) -> "EmbeddedCluster":
    from mooring.embedded.kubelet.kubelet import KubeletSettings
    from mooring.embedded.server import EmbeddedCluster, Options
    from mooring.embedded.status_errors import StatusError

    kubelet = KubeletSettings(job_seconds=options.job_seconds, events=True)
    server_options = Options(
        host=options.host,
        port=options.port,
        allow_hosts=options.allow_hosts,
        kubelet=kubelet if options.kubelet else None,
        drivers=options.drivers,
        tokens=options.tokens,
        closed=bool(options.tokens),
        root_ca=options.authority.decode(errors="replace"),
    )
    try:
        return EmbeddedCluster(options.nodes, server_options, certificates=options.certificates)
    except StatusError as rejected:
        raise InputError(f"a node cannot be used: {rejected}") from rejected


def _load(options: ClusterOptions, cluster: "EmbeddedCluster") -> None:
    """Put the snapshot's objects into the cluster, and say what is left out."""
    if not options.objects:
        return
    from mooring.cli.cluster_snapshot import load

    found = load(cluster.api, options.objects)
    for problem in found.problems[:_SHOWN_PROBLEMS]:
        print_error(f"left out: {problem}")
    if len(found.problems) > _SHOWN_PROBLEMS:
        print_error(f"{len(found.problems) - _SHOWN_PROBLEMS} more objects are left out")


def _settings(options: ClusterOptions) -> "SchedulerSettings":
    from mooring.cli.input_files import read_mapping
    from mooring.live.options import HookLimits, RunOptions, read_settings

    return read_settings(
        RunOptions(
            policy=options.policy,
            config=read_mapping(options.config) if options.config is not None else None,
            config_name=str(options.config),
            kubeconfig=options.kubeconfig,
            leader_elect=False,
            hook_limits=HookLimits(options.hook_timeout),
            reload=options.reload,
        )
    )


def _whose(settings: "SchedulerSettings") -> str:
    """Which pods the scheduler places, if not those that name no scheduler."""
    from mooring.config.types import DEFAULT_SCHEDULER

    names = list(settings.profiles)
    return "" if DEFAULT_SCHEDULER in names else f" whose schedulerName is {' or '.join(names)}"


def _reachable(url: str, host: str) -> str:
    """The address to put into a kubeconfig: one can listen on all addresses, but call only one."""
    if host not in _ANY:
        return url
    scheme, _, rest = url.partition("://")
    return f"{scheme}://127.0.0.1:{rest.rpartition(':')[2]}"


def _announce(
    options: ClusterOptions,
    cluster: "EmbeddedCluster",
    url: str,
    settings: "SchedulerSettings | None",
) -> None:
    from mooring.cli.cluster_files import shown
    from mooring.embedded.resources import NODES, PODS

    nodes, pods = cluster.store.count(NODES), cluster.store.count(PODS)
    size = f"{nodes} node{'' if nodes == 1 else 's'}"
    if pods:
        size += f" and {pods} pod{'' if pods == 1 else 's'}"
    typer.echo(
        f"An in-memory cluster of {size} is at {url}.\n"
        f"Press Ctrl-C to stop and remove it.\n\n"
        f"In another terminal:\n\n"
        f"    export KUBECONFIG={shown(options.kubeconfig)}\n"
        f"    kubectl get nodes\n"
        f"    kubectl create deployment web --image=nginx --replicas=10"
    )
    if settings is not None:
        who = f" with the policy {escaped(options.policy)}" if options.policy is not None else ""
        typer.echo(f"\nmooring's scheduler{who} places the pods{_whose(settings)}.")
        for sentence in settings.says():
            typer.echo(f"The {sentence}.")
    else:
        typer.echo(
            "    moor run --no-leader-elect\n\n"
            "Pods stay pending until a scheduler runs, such as moor run or kube-scheduler;\n"
            "with --scheduler, moor cluster runs one itself."
        )
    if not options.tokens and not options.host.startswith(_LOOPBACK):
        print_error(
            f"anyone who can reach {options.host} has full access; restrict it with --token-file"
        )
