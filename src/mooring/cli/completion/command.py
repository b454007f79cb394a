"""``moor completion``: the script that makes a shell complete ``moor``."""

from enum import StrEnum
from typing import Annotated

import typer


class Shell(StrEnum):
    """The shells there are scripts for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(help="The shell: bash, zsh or fish.", metavar="SHELL")],
) -> None:
    """Print the script that makes a shell complete moor.

    It completes commands, options and their values; pods, nodes and namespaces are those of the
    cluster that the command line names, if it answers within two seconds, or as many as
    MOORING_COMPLETION_SECONDS says. For this shell, or for every new one in its startup file:

        source <(moor completion bash)    # ~/.bashrc
        source <(moor completion zsh)     # ~/.zshrc, after compinit
        moor completion fish | source     # ~/.config/fish/config.fish

    With kubectl's own completion, "kubectl moor" is completed without any of it.
    """
    from mooring.cli.completion.scripts import SCRIPTS

    typer.echo(SCRIPTS[shell.value], nl=False)
