"""``moor demo --example``: an example's workload placed twice, without its policy and with it.

Each time a cluster in memory with the example's nodes and a scheduler run in this process. What is
shown is how many pods are on which node, so that everybody sees what the policy changes.
"""

import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mooring.cli.demo.demo_settings import LimitedPolicy, demo_settings
from mooring.errors import InputError
from mooring.wording import counted

if TYPE_CHECKING:
    from mooring.cli.example_files import Example
    from mooring.framework.policy import Policy

Obj = dict[str, Any]
_NAMESPACE: Final = "default"
#: So long it may take until all pods are decided about.
_PATIENCE_SECONDS: Final = 30.0
#: Where a workload says how many pods come of it.
_COUNTS: Final = {"Deployment": "replicas", "StatefulSet": "replicas", "Job": "parallelism"}


class ExampleRun(NamedTuple):
    """Where a workload went.

    Attributes:
        placed: the number of pods by node.
        pending: why a pod has no node, for each that has none.
        says: how much say the policy has.
    """

    placed: Counter[str]
    pending: list[str]
    says: list[str]


def show_example(example: "Example", hook_timeout: float) -> None:
    """Run an example and print what its policy changes.

    Raises:
        InputError: the policy fails, or pods are not decided about in time.
    """
    from mooring.embedded.fleet import read_fleet
    from mooring.framework.loading import load

    policy = load(example.policy)
    objects = _objects(example.folder / "workload.yaml")
    names = [node["metadata"]["name"] for node in read_fleet(example.folder / "nodes.yaml")]
    without, with_policy = (_run(example, objects, one, hook_timeout) for one in (None, policy))
    _print(example, names, objects, without, with_policy)


def _objects(file: Path) -> list[Obj]:
    import yaml

    return [one for one in yaml.safe_load_all(file.read_text(encoding="utf-8")) if one]


def _run(
    example: "Example", objects: list[Obj], policy: "Policy | None", hook_timeout: float
) -> ExampleRun:
    import asyncio
    import shutil

    import uvloop

    from mooring.process.exiting import exit_now

    with (
        tempfile.TemporaryDirectory(prefix="mooring-demo-") as folder,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):

        def leave_nothing(code: int) -> None:
            """End inside the policy, which does not come back."""
            shutil.rmtree(folder, ignore_errors=True)
            exit_now(code)

        return runner.run(
            _place(example, objects, policy, hook_timeout, Path(folder), leave_nothing)
        )


async def _place(
    example: "Example",
    objects: list[Obj],
    policy: "Policy | None",
    hook_timeout: float,
    folder: Path,
    exit_now: Callable[[int], object],
) -> ExampleRun:
    from mooring.cli.demo.progress import Progress
    from mooring.cli.demo.runner import create_object
    from mooring.cli.hook_limit import ctrl_c_inside_hooks
    from mooring.embedded.fleet import read_fleet
    from mooring.embedded.server import EmbeddedCluster
    from mooring.kube.client import Client
    from mooring.live.run import scheduling

    nodes = read_fleet(example.folder / "nodes.yaml")
    async with EmbeddedCluster(nodes) as cluster:
        progress = Progress(cluster.store, nodes)
        settings = demo_settings(cluster.url, LimitedPolicy(policy, hook_timeout), folder)
        with ctrl_c_inside_hooks(exit_now):
            async with (
                scheduling(settings, exit_now=lambda _: exit_now(2)),
                Client(settings.cluster, user_agent="mooring/demo") as client,
            ):
                for obj in objects:
                    await create_object(client, obj, _NAMESPACE)
                wanted, counts = sum(map(_pods_of, objects)), progress.all
                done = await progress.until(
                    lambda: counts.placed + counts.rejected == counts.pods >= wanted,
                    _PATIENCE_SECONDS + hook_timeout,
                )
    if progress.failures:
        raise InputError(f"scheduling failed: {next(iter(progress.failures.values()))}")
    if not done:
        raise InputError(f"only {counts.placed + counts.rejected} of {wanted} pods were processed")
    pods = progress.pods.values()
    return ExampleRun(
        Counter(pod.node for pod in pods if pod.node),
        [pod.rejected for pod in pods if not pod.node],
        settings.says(),
    )


def _pods_of(obj: Obj) -> int:
    field = _COUNTS.get(obj["kind"])
    if field is None:
        return int(obj["kind"] == "Pod")
    return int(obj["spec"].get(field, 1))


def _print(
    example: "Example",
    names: list[str],
    objects: list[Obj],
    without: ExampleRun,
    with_policy: ExampleRun,
) -> None:
    from rich.text import Text

    from mooring.cli.terminal_output import TerminalPrinter, table

    out = TerminalPrinter()
    out.print(Text.assemble((example.name, "bold"), f": {example.summary}"))
    out.print()
    pods = counted(sum(map(_pods_of, objects)), "pod")
    out.print(f"{pods} on {counted(len(names), 'node')}, scheduled twice on an in-memory cluster:")
    out.print()
    made = table("pods on", "without the policy", "with the policy", numbers=(1, 2))
    for name in names:
        before, after = without.placed[name], with_policy.placed[name]
        style = "bold green" if before != after else ""
        made.add_row(name, str(before), Text(str(after), style=style))
    if without.pending or with_policy.pending:
        made.add_row("no node", str(len(without.pending)), str(len(with_policy.pending)))
    out.print(made)
    if with_policy.pending or with_policy.says:
        out.print()
    for reason, number in Counter(with_policy.pending).items():
        out.print(f"Pending with the policy, {counted(number, 'pod')}: {reason}")
    for say in with_policy.says:
        out.print(f"The {say}.")
    if example.own:
        return
    out.print()
    out.print(Text("Next", style="bold underline"))
    out.print()
    width = len(f"moor examples {example.name} --copy")
    for command, what in (
        (f"moor examples {example.name}", "print its policy"),
        (f"moor examples {example.name} --copy", "copy it to a new directory"),
        ("moor examples", "list the other examples"),
    ):
        out.print(Text.assemble("  ", (f"{command:{width}}", "bold"), f"   {what}"))
