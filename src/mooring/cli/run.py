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


def run(
    policy: Annotated[
        Optional[str],  # noqa: UP045 - typer reads it at run time
        typer.Argument(help="A policy that takes part: policy.py or package.module:policy."),
    ] = None,
    config: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="A KubeSchedulerConfiguration; kube-scheduler's defaults without."),
    ] = None,
    kubeconfig: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            help="The cluster; also clientConnection.kubeconfig, KUBECONFIG or in-cluster."
        ),
    ] = None,
    context: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="The kubeconfig's context; naming one takes ~/.kube/config, too."),
    ] = None,
    scheduler_name: Annotated[
        str, typer.Option(help="The schedulerName of the pods to schedule, for one profile.")
    ] = "",
    leader_elect: Annotated[
        Optional[bool],  # noqa: UP045
        typer.Option(
            "--leader-elect/--no-leader-elect",
            help="Schedule only while holding a Lease. As configured; on by default.",
        ),
    ] = None,
    bind_address: Annotated[
        str, typer.Option(help="Address for health, metrics and configz.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            min=0,
            max=65535,
            help="Port for them; 0 takes a free one. kube-scheduler has the same default.",
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
            help="Seconds after which an async pre_bind, bind or post_bind is cancelled.",
        ),
    ] = 600.0,
    log_format: LogLines = LogFormat.TEXT,
    verbose: Verbose = 0,
    reload: Reload = False,
) -> None:
    """Schedule pods, in place of kube-scheduler or beside it.

    Takes kube-scheduler's configuration file as it is. Beside kube-scheduler, pods choose it with
    spec.schedulerName; the Lease is then named after the scheduler unless resourceName is given.
    Requests to the API server are limited only if clientConnection sets qps or burst.

    SIGTERM takes no more pods, finishes writes, releases the Lease and exits with 0; a lost Lease
    exits with 1 at once. SIGUSR2 compares the state with the cluster and logs the result.
    """
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
        )
    )
    exit_soon(code)
    raise typer.Exit(code)
