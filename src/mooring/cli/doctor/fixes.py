"""Writing what ``moor doctor --fix`` corrects: a diff, a backup, the file."""

import difflib
from collections.abc import Mapping
from pathlib import Path

import typer

from mooring.cli.deploy.migrate_files import replace_with_backup
from mooring.cli.standard_streams import print_error


def write_fixes(before: Mapping[str, str], after: Mapping[str, str], *, quiet: bool) -> None:
    """Write the files that change, keep their old texts beside them, and print the diffs.

    Args:
        before: the files as they were read.
        after: those that change, with their new texts.
        quiet: print no diffs, since standard output is for something else.

    Raises:
        InputError: a file cannot be written, or has changed since; it stays as it is then.
    """
    for file, text in after.items():
        path = Path(file)
        old = path.read_bytes()
        mark = b"\xef\xbb\xbf" if old.startswith(b"\xef\xbb\xbf") else b""
        backup = replace_with_backup(path, mark + before[file].encode(), text)
        if not quiet:
            _print_diff(file, before[file], text)
        print_error(f"{file} is corrected; the old text is in {backup}")


def _print_diff(file: str, before: str, after: str) -> None:
    for line in difflib.unified_diff(
        before.splitlines(), after.splitlines(), file, file, lineterm=""
    ):
        typer.echo(line)
    typer.echo()
