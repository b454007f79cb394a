"""``python -m tools.conformance``: an embedded cluster, Kubernetes' end-to-end specs, a table.

Run by `make conformance`. Exit codes: 0 all specs passed, 1 one failed or none ran, 2 the specs are
not built. Every process it starts is ended by its id, however it ends itself.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console

from mooring.errors import MooringError
from mooring.testing.binaries import cache_folder
from mooring.testing.child_process import ChildProcess, ProcessError, free_port
from tools.conformance.results import ResultReader, SpecResult, summary, table

_PROGRAM: Final = "e2e.test"
_START_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 1.0


class Suite(NamedTuple):
    """A part of the specs.

    Attributes:
        focus: a regular expression for the names of its specs.
        skip: one for those that are left out.
    """

    focus: str
    skip: str


SUITES: Final = {
    # Workload and PodGroup are an alpha API.
    "scheduling": Suite(r"\[sig-scheduling\]", r"FeatureGate:GenericWorkload"),
    "apps": Suite(
        r"\[sig-apps\] (Daemon set|Deployment|ReplicaSet|StatefulSet) ",
        r"\[Feature:|\[Disruptive\]|\[Flaky\]",
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.conformance",
        description="Run end-to-end specs of Kubernetes on moor cluster --scheduler.",
    )
    parser.add_argument("--suite", choices=SUITES, default="scheduling", help="which specs")
    parser.add_argument("--focus", help="the specs whose names match this regular expression")
    parser.add_argument("--nodes", type=int, default=4, help="how many nodes (default: 4)")
    parser.add_argument("--folder", type=Path, help="keep logs there; a temporary one if not given")
    parser.add_argument("--program", type=Path, help="the specs, if built elsewhere")
    asked = parser.parse_args(arguments)
    program = asked.program or cache_folder() / _PROGRAM
    if not os.access(program, os.X_OK):
        print(f"{program} is missing; `make conformance` builds it.", file=sys.stderr)
        return 2
    folder = asked.folder or Path(tempfile.mkdtemp(prefix="mooring-conformance-"))
    folder.mkdir(parents=True, exist_ok=True)
    suite = SUITES[asked.suite]
    if asked.focus:
        suite = suite._replace(focus=asked.focus)
    console = Console(width=100 if not sys.stdout.isatty() else None, highlight=False)
    console.print(f"{asked.suite} on {asked.nodes} nodes, logs in {folder}", soft_wrap=True)

    def told(one: SpecResult) -> None:
        console.print(f"{one.outcome:8}{one.seconds:5.0f}s  {one.title}", soft_wrap=True)

    try:
        code, results = run(program, suite, asked.nodes, folder, told)
    except MooringError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    console.print()
    console.print(table(results))
    console.print(f"\nconformance: {summary(results)}")
    if code or not results:
        console.print(f"The specs ended with exit code {code}: see {folder}", soft_wrap=True)
        return 1
    return int(any(one.outcome == "failed" for one in results))


def run(
    program: Path, suite: Suite, nodes: int, folder: Path, told: Callable[[SpecResult], None]
) -> tuple[int, list[SpecResult]]:
    """Run specs on a cluster of their own; the suite's exit code, and what came of each spec.

    Args:
        program: the specs, built.
        suite: which of them.
        nodes: how many nodes the cluster has.
        folder: for logs, the kubeconfig and the results.
        told: called when a spec has ended.

    Raises:
        MooringError: the cluster does not start, or ends too early.
    """
    kubeconfig, lines = folder / "kubeconfig", folder / "results.jsonl"
    for name in ("results.jsonl", "cluster.log", "specs.log"):
        (folder / name).unlink(missing_ok=True)
    reader, results = ResultReader(lines), list[SpecResult]()
    with ExitStack() as processes:
        cluster = ChildProcess(
            "moor cluster",
            [sys.executable, "-m", "mooring.cli", "cluster", "--scheduler", "--nodes", str(nodes),
             "--port", str(free_port()), "--kubeconfig", str(kubeconfig)],
            folder / "cluster.log",
        )  # fmt: skip
        processes.callback(cluster.stop)
        cluster.wait_ready(lambda: "In another terminal" in cluster.log(), _START_SECONDS)
        specs = ChildProcess(
            "the specs", [str(program), *options(suite, kubeconfig, lines)], folder / "specs.log"
        )
        processes.callback(specs.stop)
        running = True
        while running:
            running = specs.running
            if not cluster.running:
                raise ProcessError(f"moor cluster has ended; {cluster.tail()}")
            for one in reader.new():
                results.append(one)
                told(one)
            if running:
                time.sleep(_POLL_SECONDS)
        return specs.wait_ended(_POLL_SECONDS), results


def options(suite: Suite, kubeconfig: Path, lines: Path) -> list[str]:
    """The command line of the specs."""
    return [
        "--provider=skeleton",
        f"--kubeconfig={kubeconfig}",
        "--e2e-verify-service-account=true",
        f"--kubectl-path={cache_folder() / 'kubectl'}",
        f"--results={lines}",
        f"--ginkgo.focus={suite.focus}",
        f"--ginkgo.skip={suite.skip}",
        "--ginkgo.no-color",
        "--ginkgo.v",
        "--ginkgo.timeout=3h",
        "--test.timeout=0",
    ]


if __name__ == "__main__":
    sys.exit(main())
