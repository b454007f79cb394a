"""``moor run``: a scheduler."""

from pathlib import Path
from typing import Annotated, Optional

import typer

from mooring.cli.logging_setup import LogFormat, set_up_logging
from mooring.cli.shared_options import (
    AllowHosts,
    HookTimeout,
    LogLines,
    Reload,
    TlsCert,
    TlsKey,
    Verbose,
)
from mooring.process.garbage_collection import no_collection


def run(
    policy: Annotated[
        Optional[str],  # noqa: UP045 - typer reads it at run time
        typer.Argument(help="Policy to schedule with: policy.py or package.module:policy."),
    ] = None,
    config: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="KubeSchedulerConfiguration file; if unset, kube-scheduler's defaults."),
    ] = None,
    kubeconfig: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            help="Path to the kubeconfig. If unset: clientConnection.kubeconfig, KUBECONFIG, "
            "or the "
            "in-cluster service account."
        ),
    ] = None,
    context: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Kubeconfig context; with it, ~/.kube/config is used as well."),
    ] = None,
    scheduler_name: Annotated[
        str, typer.Option(help="schedulerName of the pods to schedule; for a single profile.")
    ] = "",
    leader_elect: Annotated[
        Optional[bool],  # noqa: UP045
        typer.Option(
            "--leader-elect/--no-leader-elect",
            help="Schedule only while holding the Lease. If unset, as configured; on by default.",
        ),
    ] = None,
    bind_address: Annotated[
        str, typer.Option(help="Address to serve health checks, metrics and /configz on.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            min=0,
            max=65535,
            help="Port to serve them on; 0 picks a free port. Same default as kube-scheduler.",
        ),
    ] = 10259,
    allow_host: AllowHosts = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    hook_timeout: HookTimeout = 5.0,
    bind_hook_timeout: Annotated[
        float,
        typer.Option(
            min=0.05,
            max=86400,
            help="Seconds an async pre_bind, bind or post_bind may take before it is cancelled.",
        ),
    ] = 600.0,
    log_format: LogLines = LogFormat.TEXT,
    verbose: Verbose = 0,
    reload: Reload = False,
    seed: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="Break ties by this seed, as moor simulate does; if unset, at random."),
    ] = None,
) -> None:
    """Schedule pods, instead of kube-scheduler or alongside it.

    Reads kube-scheduler's configuration file unchanged. Alongside kube-scheduler, pods select this
    scheduler with spec.schedulerName; its Lease is then named after it unless resourceName is set.
    Requests to the API server are rate limited only if clientConnection sets qps or burst.

    On SIGTERM, it stops taking pods, finishes writes in progress, releases the Lease and exits with
    code 0; when it loses the Lease, it exits with code 1 immediately. On SIGUSR2, it compares its
    state with the cluster and logs the result.
    """
    with no_collection():
        from mooring.cli.input_files import read_mapping
        from mooring.http.origin import read_allowed_hosts
        from mooring.live.options import HookLimits, RunOptions
        from mooring.live.run import main
        from mooring.process.exiting import exit_soon
        from mooring.process.file_descriptors import allow_descriptors

    set_up_logging(log_format, verbose)
    allow_descriptors()
    code = main(
        RunOptions(
            policy=policy,
            config=read_mapping(config) if config is not None else None,
            config_name=str(config) if config is not None else "",
            kubeconfig=kubeconfig,
            context=context,
            scheduler_name=scheduler_name,
            leader_elect=leader_elect,
            host=bind_address,
            port=port,
            allow_hosts=read_allowed_hosts(allow_host or ()),
            tls_cert=tls_cert,
            tls_key=tls_key,
            hook_limits=HookLimits(hook_timeout, bind_hook_timeout),
            reload=reload,
            seed=seed,
        )
    )
    exit_soon(code)
    raise typer.Exit(code)
