"""Writing what ``moor doctor --fix`` corrects: a diff, a backup, the file."""

import difflib
from collections.abc import Mapping
from pathlib import Path

import typer

from mooring.cli.output_files import written
from mooring.deploy.doctor.manifests import is_static_folder


def write_fixes(before: Mapping[str, str], after: Mapping[str, str], *, quiet: bool) -> None:
    """Write the files that change, keep their old texts beside them, and print the diffs.

    Args:
        before: the files as they are.
        after: those that change, with their new texts.
        quiet: print no diffs, since standard output is for something else.

    Raises:
        InputError: a file cannot be written; nothing of it is then.
    """
    for file, text in after.items():
        backup = _backup(Path(file))
        with written(str(backup)) as out:
            out.write(before[file].encode())
        with written(file) as out:
            out.write(text.encode())
        if not quiet:
            _print_diff(file, before[file], text)
        typer.echo(f"moor: {file} is corrected; the old text is in {backup}", err=True)


def _backup(file: Path) -> Path:
    """A name that nothing has yet; the kubelet must not read it, so it is hidden where it reads."""
    dot = "." if is_static_folder(str(file.absolute())) else ""
    number = 0
    while True:
        made = file.with_name(f"{dot}{file.name}.bak{number or ''}")
        if not made.exists():
            return made
        number += 1


def _print_diff(file: str, before: str, after: str) -> None:
    for line in difflib.unified_diff(
        before.splitlines(), after.splitlines(), file, file, lineterm=""
    ):
        typer.echo(line)
    typer.echo()
