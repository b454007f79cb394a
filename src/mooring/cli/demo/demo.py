"""``moor demo``: a cluster and a scheduler in one process, and a workload to watch."""

import asyncio
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from mooring.cli.demo.demo_settings import LimitedPolicy, demo_settings
from mooring.cli.shared_options import HookTimeout, PolicyPlace
from mooring.errors import InputError
from mooring.version import __version__

if TYPE_CHECKING:
    from rich.console import Console

    from mooring.cli.demo.runner import DemoResult
    from mooring.embedded.resources import Obj


def demo(
    context: typer.Context,
    nodes: Annotated[int, typer.Option(min=1, max=5000, help="Number of nodes.")] = 20,
    pods: Annotated[
        int, typer.Option(min=20, max=50_000, help=("Approximate number of pods."))
    ] = 400,
    policy: PolicyPlace = None,
    example: Annotated[
        Optional[str],  # noqa: UP045 - typer reads it at run time
        typer.Option(
            metavar="NAME",
            help=(
                "Show the effect of this example's policy instead, or of the policy in a "
                "directory such as . with policy.py, nodes.yaml and workload.yaml; moor "
                "examples lists the examples."
            ),
        ),
    ] = None,
    hook_timeout: HookTimeout = 5.0,
) -> None:
    """Watch pods being scheduled on an embedded cluster; nothing else is needed.

    Starts an in-memory API server and mooring's scheduler in one process; they communicate over
    HTTP, as in a real cluster. Creates a mixed workload, shows where its pods are placed, and
    explains one placement and the pending pod. With --example, schedules the workload of an example
    twice instead: without its policy and with it.
    """
    from mooring.cli.demo.workload import equip
    from mooring.cli.terminal_output import make_console
    from mooring.embedded.fleet import make_fleet
    from mooring.framework.loading import load
    from mooring.process.file_descriptors import allow_descriptors

    allow_descriptors()
    _log_little()
    if example is not None:
        given = (context.get_parameter_source(name) for name in ("nodes", "pods", "policy"))
        if any(source is not None and source.name == "COMMANDLINE" for source in given):
            raise InputError(
                "--example brings its own nodes, pods and policy; remove the other options"
            )
        from mooring.cli.demo.example_demo import show_example
        from mooring.cli.example_files import find_example, folder_example

        folder = Path(example)
        is_folder = example in (".", "..") or os.sep in example
        found = folder_example(folder) if is_folder else find_example(example)
        show_example(found, hook_timeout)
        return
    loaded = load(policy) if policy is not None else None
    console = make_console()
    fleet = make_fleet(nodes)
    equip(fleet)
    console.print(
        f"mooring {__version__}: an embedded cluster of {nodes} nodes and a scheduler"
        f"{'' if loaded is None else f' with the policy {loaded.name}'}, in one process.",
        soft_wrap=True,
    )
    console.print()
    result = _run(fleet, pods, LimitedPolicy(loaded, hook_timeout), console)
    from mooring.cli.demo.summary import print_summary

    print_summary(result, loaded, hook_timeout, console)


class _FirstLines(logging.Filter):
    """Lets the first line of each call site through.

    A policy that fails does so for every pod; how often is told at the end, by the summary. So no
    lines are told to be left out in between, as the `FloodHandler` behind it would.
    """

    def __init__(self) -> None:
        super().__init__()
        self._sites: set[tuple[str, int]] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it is the first one."""
        site = (record.pathname, record.lineno)
        new = site not in self._sites
        self._sites.add(site)
        return new


def _log_little() -> None:
    """Log as the other commands do if ``LOG_LEVEL`` is set, and hardly anything if it is not."""
    from mooring.cli.logging_setup import LogFormat, set_up_logging

    said = "LOG_LEVEL" in os.environ
    # A pending pod is what the demo is about, and no news for a log.
    os.environ.setdefault("LOG_LEVEL", "ERROR")
    set_up_logging(LogFormat.TEXT)
    if not said:
        for handler in logging.getLogger().handlers:
            handler.addFilter(_FirstLines())


def _run(fleet: "list[Obj]", pods: int, limited: LimitedPolicy, console: "Console") -> "DemoResult":
    import uvloop

    from mooring.process.exiting import exit_now

    with (
        tempfile.TemporaryDirectory(prefix="mooring-demo-") as folder,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):

        def leave_nothing(code: int) -> None:
            """End inside the policy, which does not come back."""
            shutil.rmtree(folder, ignore_errors=True)
            console.show_cursor()
            exit_now(code)

        return runner.run(_run_demo(fleet, pods, limited, Path(folder), console, leave_nothing))


async def _run_demo(
    fleet: "list[Obj]",
    pods: int,
    limited: LimitedPolicy,
    folder: Path,
    console: "Console",
    exit_now: Callable[[int], object],
) -> "DemoResult":
    from mooring.cli.demo.progress import Progress
    from mooring.cli.demo.runner import DemoRunner
    from mooring.cli.hook_limit import ctrl_c_inside_hooks
    from mooring.embedded.server import EmbeddedCluster
    from mooring.kube.client import Client
    from mooring.live.run import scheduling

    async with EmbeddedCluster(fleet) as cluster:
        progress = Progress(cluster.store, fleet)
        settings = demo_settings(cluster.url, limited, folder)
        hook_timeout = limited.hook_timeout if limited.policy is not None else 0.0
        with ctrl_c_inside_hooks(exit_now):
            async with (
                # What a policy does wrong is wrong input.
                scheduling(settings, exit_now=lambda _: exit_now(2)),
                Client(settings.cluster, user_agent="mooring/demo") as client,
            ):
                runner = DemoRunner(
                    cluster.store, client, progress, console, time.monotonic, hook_timeout
                )
                return await runner.run(fleet, pods)
