"""Writing what ``moor doctor --fix`` corrects: a diff, a backup, the file."""

import dataclasses
import difflib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

import typer

from mooring.cli.deploy.given_files import GivenFile
from mooring.cli.deploy.replaced_files import Replacement, replace_with_backups
from mooring.cli.standard_streams import print_error
from mooring.deploy.doctor.findings import CheckResult
from mooring.deploy.doctor.fixes import fixed_texts
from mooring.deploy.doctor.hidden_secrets import without_secrets
from mooring.deploy.migration import MigrationError, migrate_all

#: A correction may show something else to correct: a migrated configuration is looked at anew.
_ROUNDS: Final = 5


def fix_files(
    files: Mapping[str, GivenFile],
    examine: Callable[[Mapping[str, GivenFile]], list[CheckResult]],
    *,
    quiet: bool,
) -> list[CheckResult]:
    """Correct what can be corrected, and say what cannot.

    Args:
        files: the files as they were read.
        examine: runs all checks on files.
        quiet: print no diffs, since standard output is for something else.

    Returns:
        What is wrong with the corrected files.

    Raises:
        InputError: a file cannot be written, or has changed since; all stay as they are then.
    """
    left: dict[str, str] = {}

    def migrate(all_texts: Mapping[str, str]) -> dict[str, str | None]:
        after, why = migrated_texts(all_texts)
        left.update(why)
        return after

    current, changed = dict(files), dict[str, str | None]()
    results = examine(current)
    for _ in range(_ROUNDS):
        texts = {name: one.text for name, one in current.items()}
        findings = [one for result in results for one in result.findings]
        found = fixed_texts(texts, findings, migrate)
        if not found:
            break
        changed.update(found)
        for name, text in found.items():
            if text is None:  # a Policy that is part of another file now
                del current[name]
            else:
                current[name] = current[name]._replace(text=text)
        results = examine(current)
    write_fixes(files, changed, quiet=quiet)
    for name, why in left.items():
        kept = "its old configuration" if name in changed else name
        print_error(f"{kept} stays as it is: {why}")
    return without_migrations(results, frozenset(left))


def without_migrations(results: Iterable[CheckResult], left: frozenset[str]) -> list[CheckResult]:
    """The same results; what cannot be migrated is not said to be fixed by ``--fix``."""
    return [
        dataclasses.replace(
            result,
            findings=tuple(
                dataclasses.replace(one, migrates="", safe=bool(one.edits) and one.safe)
                if one.migrates in left
                else one
                for one in result.findings
            ),
        )
        for result in results
    ]


def migrated_texts(texts: Mapping[str, str]) -> tuple[dict[str, str | None], dict[str, str]]:
    """The texts of all files, with old configurations rewritten as v1.

    Returns:
        The texts, None for a Policy that is part of another file now, and why some files are left
        as they are.
    """
    left: dict[str, str] = {}
    while True:
        rest = {name: text for name, text in texts.items() if name not in left}
        try:
            results = migrate_all(rest.items(), keep_json=True)
            break
        except MigrationError as error:
            left[error.source] = str(error)
    after: dict[str, str | None] = dict(texts)
    rejected = ", ".join(left)
    for one in results:
        # A Policy is part of the configuration that refers to it, which may be one of those left.
        if left and (one.state == "merged" or "Policy" in one.found):
            left[one.source] = f"its Policy may belong to {rejected}; correct that first"
            continue
        after[one.source] = None if one.state == "merged" else one.text
    return after, left


def write_fixes(
    before: Mapping[str, GivenFile], after: Mapping[str, str | None], *, quiet: bool
) -> None:
    """Write the files that change, keep their old texts beside them, and print the diffs.

    Args:
        before: the files as they were read.
        after: those that change, with their new texts; None for one that stays as a backup alone.
        quiet: print no diffs, since standard output is for something else.

    Raises:
        InputError: a file cannot be written, or has changed since; all stay as they are then.
    """
    replacements = [Replacement(Path(file), before[file].raw, text) for file, text in after.items()]
    for (file, text), backup in zip(after.items(), replace_with_backups(replacements), strict=True):
        if not quiet:
            _print_diff(file, before[file].text, text or "")
        if text is None:
            print_error(f"{file} is part of the configuration now; its text is in {backup}")
        else:
            print_error(f"{file} is corrected; the old text is in {backup}")


def _print_diff(file: str, before: str, after: str) -> None:
    # Without secrets before they are compared, so that no context can show one.
    old, new = without_secrets(before), without_secrets(after)
    for line in difflib.unified_diff(old, new, file, file, lineterm=""):
        typer.echo(line)
    typer.echo()
