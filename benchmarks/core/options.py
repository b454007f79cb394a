"""Options that several command lines have; called by `benchmarks.core` and `benchmarks.check`."""

import argparse

from benchmarks.core.workloads import WORKLOADS


def add_workloads(parser: argparse.ArgumentParser) -> None:
    """Let people choose workloads."""
    parser.add_argument(
        "--workload",
        choices=list(WORKLOADS),
        nargs="+",
        default=list(WORKLOADS),
        metavar="NAME",
        help=f"some of the workloads: {', '.join(WORKLOADS)} (default: all)",
    )
