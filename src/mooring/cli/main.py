"""The ``moor`` command and its subcommands.

Exit codes: 0 done, 1 the answer is no, 2 wrong usage or bad input, 130 interrupted by Ctrl-C, 141
nobody reads the output any more (as with `| head -1`); an error is one sentence on standard error,
never a traceback.
"""

import logging
import sys
from typing import Annotated, Final, NoReturn, cast

import typer

from mooring.cli.bind import bind
from mooring.cli.capacity.capacity import capacity
from mooring.cli.check import check
from mooring.cli.cluster import cluster
from mooring.cli.completion.command import completion
from mooring.cli.demo.demo import demo
from mooring.cli.deploy.extender_test import extender_test
from mooring.cli.deploy.init import init
from mooring.cli.deploy.manifests import manifests
from mooring.cli.deploy.migrate import migrate
from mooring.cli.doctor.doctor import doctor
from mooring.cli.examples import examples
from mooring.cli.explain.explain import explain
from mooring.cli.plugins import plugins
from mooring.cli.rebalance.rebalance import rebalance
from mooring.cli.run import run
from mooring.cli.serve import serve
from mooring.cli.simulate.compare import compare
from mooring.cli.simulate.scenario import scenario
from mooring.cli.simulate.simulate import simulate
from mooring.cli.snapshot import snapshot
from mooring.cli.standard_streams import (
    NoteHandler,
    forget_output,
    open_standard_streams,
    print_error,
    reporting_output_errors,
)
from mooring.cli.usage.help_text import MoorCommand, MoorGroup
from mooring.cli.usage.program_name import as_typed, program_name
from mooring.cli.usage.wrong_usage import usage_sentence
from mooring.cli.whatif.whatif import whatif
from mooring.errors import InputError, MooringError
from mooring.process.foreign_exits import catch_foreign_exits
from mooring.version import __version__

#: Wrong usage, of whatever kind. It has no public name of its own.
_UsageError: Final = cast("type[typer.BadParameter]", typer.BadParameter.__base__)
_INTERRUPTED, _NOBODY_READS = 130, 141  # as shells have it: 128 and the number of the signal

app = typer.Typer(
    name="moor",
    help="Customize Kubernetes scheduling in Python.",
    cls=MoorGroup,
    no_args_is_help=False,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)
app.command()(examples)
app.command()(cluster)
app.command()(init)
app.command()(check)
app.command()(serve)
app.command()(run)
app.command()(explain)
app.command()(whatif)
app.command()(capacity)
app.command()(rebalance)
app.command()(snapshot)
app.command()(simulate)
app.command()(compare)
app.command()(scenario)
app.command()(bind)
app.command()(manifests)
app.command()(migrate)
app.command()(doctor)
app.command()(extender_test)
app.command()(plugins)
app.command()(completion)
for _registered in app.registered_commands:
    _registered.cls = MoorCommand


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mooring {__version__}")
        raise typer.Exit


@app.callback()
def _moor(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    open_standard_streams()
    catch_foreign_exits()
    logging.lastResort = NoteHandler(logging.WARNING)
    try:
        _run()
    except MooringError as error:
        print_error(as_typed(str(error)))
        sys.exit(2 if isinstance(error, InputError) else 1)
    except KeyboardInterrupt:
        _say_interrupted()
    except BrokenPipeError:
        # As every program in a pipe: who took the first line does not want to hear of the rest.
        forget_output(1, 2)
        sys.exit(_NOBODY_READS)
    except RuntimeError as error:
        # What Python makes of it while it makes a class.
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        _say_interrupted()


def _say_interrupted() -> NoReturn:
    print_error("interrupted")
    sys.exit(_INTERRUPTED)


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
        BrokenPipeError: nobody reads what it prints.
        KeyboardInterrupt: the user does not want to wait for it.
    """
    arguments = sys.argv[1:]
    try:
        # Left to itself, typer prints an error in a box of several lines.
        code: int | None = app(
            arguments or ["--help"], standalone_mode=False, prog_name=program_name()
        )
    except _UsageError as error:
        command = error.ctx.command_path if error.ctx is not None else program_name()
        raise InputError(usage_sentence(error.format_message(), command)) from None
    except typer.Abort:
        return 1
    except SystemExit as ended:
        if isinstance(ended.__context__, BrokenPipeError):
            raise ended.__context__ from None  # typer made exit code 1 of it, which is an answer
        raise
    if code == _INTERRUPTED:
        raise KeyboardInterrupt  # which typer made of it
    return code if arguments else 2
