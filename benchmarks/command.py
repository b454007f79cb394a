"""What the command lines of all benchmarks share; called by their `__main__`.

Exit codes: 0 done, 1 a goal is not met and ``--check`` was given, 2 it could not run.
"""

import argparse
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from rich.console import Console

from mooring.errors import MooringError

#: Is told what is going on.
Say = Callable[[str], None]

_PLAIN_WIDTH = 200


class BenchError(Exception):
    """The benchmark cannot run; the text is one sentence for the user (exit code 2)."""


def add_common_options(parser: argparse.ArgumentParser, name: str, quick: str) -> None:
    """Add the options every benchmark has.

    Args:
        parser: gets them.
        name: the benchmark's name, that of its files.
        quick: what a short run leaves out.
    """
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("benchmarks/out"),
        metavar="DIR",
        help=f"folder for {name}.json and {name}.png (default: %(default)s)",
    )
    parser.add_argument("--check", action="store_true", help="exit with 1 when a goal is not met")


def make_folder(out: Path) -> None:
    """Make the folder for results, before minutes of work and not after."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BenchError(f"{out} is no folder to write to: {error.strerror}.") from error


def output() -> Console:
    """Where tables go: as wide as they are when that is no terminal."""
    return Console() if sys.stdout.isatty() else Console(width=_PLAIN_WIDTH)


def progress() -> Say:
    """Tells on stderr what is going on, with the seconds since it was made."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    begin = time.monotonic()

    def say(text: str) -> None:
        console.print(f"{time.monotonic() - begin:4.0f} s  {text}", style="dim")

    return say


def run(name: str, work: Callable[[], int]) -> int:
    """Run a benchmark and return its exit code; what cannot run says so in one sentence."""
    signal.signal(signal.SIGTERM, _end)  # so that what was started is stopped then, too
    try:
        return work()
    except (BenchError, MooringError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{name}: stopped.", file=sys.stderr)
        return 130


def _end(number: int, frame: FrameType | None) -> None:
    del frame
    sys.exit(128 + number)
