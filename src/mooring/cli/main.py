"""The ``moor`` command and its subcommands.

Exit codes: 0 done, 1 the answer is no, 2 wrong usage or bad input; an error is one sentence on
standard error, never a traceback.
"""

import sys
from typing import Annotated, Final, cast

import typer

from mooring.cli.bind import bind
from mooring.cli.cluster import cluster
from mooring.cli.demo.demo import demo
from mooring.cli.explain.explain import explain
from mooring.cli.plugins import plugins
from mooring.cli.run import run
from mooring.cli.serve import serve
from mooring.cli.snapshot import snapshot
from mooring.cli.standard_streams import (
    open_standard_streams,
    print_error,
    reporting_output_errors,
)
from mooring.errors import InputError, MooringError
from mooring.version import __version__

#: Wrong usage, of whatever kind. It has no public name of its own.
_UsageError: Final = cast("type[typer.BadParameter]", typer.BadParameter.__base__)

app = typer.Typer(
    name="moor",
    help="Customize Kubernetes scheduling in Python.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)
app.command()(cluster)
app.command()(serve)
app.command()(run)
app.command()(explain)
app.command()(snapshot)
app.command()(bind)
app.command()(plugins)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mooring {__version__}")
        raise typer.Exit


@app.callback()
def _moor(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    open_standard_streams()
    try:
        _run()
    except MooringError as error:
        print_error(str(error))
        sys.exit(2 if isinstance(error, InputError) else 1)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)


def _run() -> None:
    with reporting_output_errors():
        try:
            sys.exit(_exit_code())
        except SystemExit:
            sys.stdout.flush()  # before Python does, which would not say it in a sentence
            raise


def _exit_code() -> int | None:
    """Run what the command line says.

    Raises:
        InputError: it cannot be understood.
    """
    try:
        # Left to itself, typer prints an error in a box of several lines.
        code: int | None = app(standalone_mode=False, prog_name="moor")
    except _UsageError as error:
        what = " ".join(error.format_message().split()).replace("Value error, ", "").rstrip(".")
        if not what:
            return 2  # nothing was given, and the help is shown
        command = error.ctx.command_path if error.ctx is not None else "moor"
        raise InputError(f"{what[0].lower()}{what[1:]}; see {command} --help") from None
    except typer.Abort:
        return 1
    return code
