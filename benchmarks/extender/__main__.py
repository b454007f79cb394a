"""The command line of the benchmark: `python -m benchmarks.extender`, run by `make bench-extender`.

Exit codes: 0 done, 1 a goal is not met and ``--check`` was given, 2 it could not run.
"""

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from rich.console import Console

from benchmarks.extender import plot, scheduler, wire
from benchmarks.extender.build import BenchError, go_extender
from benchmarks.extender.environment import Quiet, environment
from benchmarks.extender.goals import goals
from benchmarks.extender.report import Report, print_report, write_json
from mooring.errors import MooringError
from mooring.testing.kube import find_binaries

_PLAIN_WIDTH = 200


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.extender",
        description="Measure mooring's extender server against a plain Go extender.",
    )
    parser.add_argument("--quick", action="store_true", help="fewer requests and pods")
    parser.add_argument("--part", choices=("wire", "scheduler", "all"), default="all")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("benchmarks/out"),
        metavar="DIR",
        help="folder for extender.json and extender.png (default: %(default)s)",
    )
    parser.add_argument("--check", action="store_true", help="exit with 1 when a goal is not met")
    return parser.parse_args(arguments)


def _run(options: argparse.Namespace) -> int:
    progress = Console(stderr=True, highlight=False, soft_wrap=True)
    console = Console() if sys.stdout.isatty() else Console(width=_PLAIN_WIDTH)

    begin = time.monotonic()

    def say(text: str) -> None:
        progress.print(f"{time.monotonic() - begin:4.0f} s  {text}", style="dim")

    out: Path = options.out
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BenchError(f"{out} is no folder to write to: {error.strerror}.") from error
    if options.part != "wire":
        find_binaries()  # before minutes of work, not after
    say("building the Go extender")
    program = go_extender()
    quick: bool = options.quick
    quiet = Quiet()
    requests = wire.measure(program, quick=quick, say=say) if options.part != "scheduler" else []
    scheduled = scheduler.measure(program, quick=quick, say=say) if options.part != "wire" else []
    report = Report(
        environment=environment(),
        quick=quick,
        other_load=quiet.other_load(),
        wire=requests,
        scheduler=scheduled,
        goals=goals(requests, scheduled),
    )
    print_report(report, console)
    write_json(report, out / "extender.json")
    plot.draw(report, out / "extender.png")
    say(f"written: {out / 'extender.json'} and {out / 'extender.png'}")
    return 1 if options.check and not all(goal.met for goal in report.goals) else 0


def _end(number: int, frame: FrameType | None) -> None:
    del frame
    sys.exit(128 + number)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    options = _arguments(arguments)
    signal.signal(signal.SIGTERM, _end)  # so that the servers are stopped then, too
    try:
        return _run(options)
    except (BenchError, MooringError) as error:
        print(f"bench-extender: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("bench-extender: stopped.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
