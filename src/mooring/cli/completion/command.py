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
    """Print the shell completion script for moor.

    It completes commands, options and their values. Pods, nodes and namespaces come from the
    cluster that the command line selects, if it answers within two seconds; to change this, set
    MOORING_COMPLETION_SECONDS. Run one of these commands to enable completion in the current shell,
    or add it to the startup file to enable it in every new shell:

        source <(moor completion bash)    # ~/.bashrc
        source <(moor completion zsh)     # ~/.zshrc, after compinit
        moor completion fish | source     # ~/.config/fish/config.fish

    If kubectl completion is enabled, "kubectl moor" completes without this script.
    """
    from mooring.cli.completion.scripts import SCRIPTS

    typer.echo(SCRIPTS[shell.value], nl=False)
