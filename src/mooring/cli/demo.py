"""``moor demo``: a cluster and a scheduler in one process, and a workload to watch."""

import asyncio
import logging
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from mooring.version import __version__

if TYPE_CHECKING:
    from rich.console import Console

    from mooring.cli.demo_play import Outcome
    from mooring.embedded.resources import Obj
    from mooring.framework.policy import Policy
    from mooring.live.options import Settings


def demo(
    nodes: Annotated[int, typer.Option(min=1, max=5000, help="How many nodes.")] = 20,
    pods: Annotated[int, typer.Option(min=20, max=50_000, help="About how many pods.")] = 400,
    policy: Annotated[
        Optional[str],  # noqa: UP045 - typer reads it at run time
        typer.Option(help="A policy that takes part: policy.py or package.module:policy."),
    ] = None,
) -> None:
    """Watch pods being placed on an embedded cluster; nothing else is needed.

    Starts an API server in memory and mooring's scheduler in one process, which talk over HTTP as
    on a real cluster. Creates a workload with a bit of everything, draws where it went, and
    explains one placement and the pod that waits.
    """
    from rich.console import Console

    from mooring.cli.demo_workload import equip
    from mooring.embedded.fleet import make_fleet
    from mooring.framework.loading import load
    from mooring.serving.descriptors import allow_descriptors

    allow_descriptors()
    if "LOG_LEVEL" not in os.environ:
        # A pod that waits is what the demo is about, and no news for a log.
        logging.basicConfig(level=logging.ERROR)
    loaded = load(policy) if policy is not None else None
    console = Console(highlight=False, markup=False, emoji=False)
    fleet = make_fleet(nodes)
    equip(fleet)
    console.print(
        f"mooring {__version__}: an embedded cluster of {nodes} nodes and a scheduler"
        f"{'' if loaded is None else f' with the policy {loaded.name}'}, in one process.",
        soft_wrap=True,
    )
    console.print()
    outcome = _run(fleet, pods, loaded, console)
    from mooring.cli.demo_story import tell

    tell(outcome, loaded, console)


def _run(fleet: "list[Obj]", pods: int, policy: "Policy | None", console: "Console") -> "Outcome":
    import uvloop

    with (
        tempfile.TemporaryDirectory(prefix="mooring-demo-") as folder,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        return runner.run(_play(fleet, pods, policy, Path(folder), console))


async def _play(
    fleet: "list[Obj]", pods: int, policy: "Policy | None", folder: Path, console: "Console"
) -> "Outcome":
    from mooring.cli.demo_play import Play
    from mooring.cli.demo_progress import Progress
    from mooring.embedded.server import EmbeddedCluster
    from mooring.kube.client import Client
    from mooring.live.run import scheduling

    async with EmbeddedCluster(fleet) as cluster:
        progress = Progress(cluster.store, fleet)
        settings = _settings(cluster.url, policy, folder)
        async with (
            scheduling(settings),
            Client(settings.cluster, user_agent="mooring/demo") as client,
        ):
            play = Play(cluster.store, client, progress, console, time.monotonic)
            return await play.run(fleet, pods)


def _settings(url: str, policy: "Policy | None", folder: Path) -> "Settings":
    from mooring.live.options import Options, read_settings
    from mooring.testing.kubeconfigs import kubeconfig_text, write_private

    file = folder / "kubeconfig"
    write_private(file, kubeconfig_text(url))
    return read_settings(Options(policy=policy, kubeconfig=file, leader_elect=False))
