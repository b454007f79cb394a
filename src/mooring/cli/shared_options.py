"""Options that several commands have: each says the same everywhere and has the same limits.

Commands annotate their parameters with them; the default stands in the command. Nothing else is
imported here, because ``moor --help`` imports all of it.
"""

from pathlib import Path
from typing import Annotated, Optional

import typer

from mooring.cli.logging_setup import LogFormat

AllowHosts = Annotated[
    Optional[list[str]],  # noqa: UP045 - typer reads it at run time
    typer.Option(metavar="NAME", help="Accept this name in the Host header, too; repeatable."),
]
TlsCert = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(help="Certificate chain in PEM; turns TLS on. Renewed files are picked up."),
]
TlsKey = Annotated[Optional[Path], typer.Option(help="The certificate's key.")]  # noqa: UP045
PolicyPlace = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(help="A policy that takes part: policy.py or package.module:policy."),
]
HookTimeout = Annotated[
    float,
    typer.Option(
        min=0.05,
        max=3600,
        help="Seconds after which a plugin that does not return is interrupted.",
    ),
]
Reload = Annotated[
    bool, typer.Option("--reload", help="Load the policy again when its file changes.")
]
LogLines = Annotated[LogFormat, typer.Option(help="How log lines look.")]
Verbose = Annotated[
    int,
    typer.Option(
        "--verbose",
        "-v",
        count=True,
        metavar="",
        show_default=False,
        help="Log more: every binding, verdict and score; -vv logs everything.",
    ),
]
