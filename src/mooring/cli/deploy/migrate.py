"""``moor migrate``: old scheduler configuration, rewritten for today's schedulers."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mooring.cli.output_formats import print_json
from mooring.cli.standard_streams import print_note
from mooring.errors import InputError

if TYPE_CHECKING:
    from mooring.deploy.migration import Migrated

_WIDTH = 80


class MigrateOutput(StrEnum):
    """How the result is printed."""

    YAML = "yaml"
    JSON = "json"


def migrate(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE", help="Files or folders that belong together; - for standard input."
        ),
    ],
    in_place: Annotated[
        bool,
        typer.Option("--in-place", "-i", help="Rewrite the files; FILE.bak keeps the old one."),
    ] = False,
    output: Annotated[
        MigrateOutput,
        typer.Option("--output", "-o", help="The files, or what was changed as JSON."),
    ] = MigrateOutput.YAML,
) -> None:
    """Rewrite old scheduler configuration for today's schedulers.

    Reads a Policy, a KubeSchedulerConfiguration of any version, and manifests that hold one in a
    ConfigMap or in the arguments of a kube-scheduler. Writes kubescheduler.config.k8s.io/v1, which
    kube-scheduler v1.25 and later and moor run read. Predicates and priorities become plugins with
    weights, so that pods go where they went before. What has no equivalent is a comment in the
    result that says what to do. The rest of a file stays as it is. Needs no cluster.

    Exit code 0 if everything could be read, 2 if something is wrong.
    """
    from mooring.cli.deploy.given_files import read_files
    from mooring.cli.deploy.replaced_files import Replacement, replace_with_backups
    from mooring.deploy.migration import migrate_all

    if in_place and "-" in files:
        raise InputError("--in-place rewrites files, and - is none; name the file")
    read = read_files(files)
    texts = [(one.name, one.text) for one in read]
    results = migrate_all(texts, keep_json=in_place)
    if all(one.state == "other" and not one.notes for one in results):
        raise InputError(
            f"{', '.join(files)}: there is no scheduler configuration; give a Policy, a "
            "KubeSchedulerConfiguration or manifests with one"
        )
    backups: dict[str, str] = {}
    if in_place:
        changed = [
            Replacement(source.path, source.raw, None if merged else result.text)
            for source, result in zip(read, results, strict=True)
            if source.path is not None
            and ((merged := result.state == "merged") or result.text != source.text)
        ]
        names = [str(one.path) for one in changed]
        backups = dict(zip(names, replace_with_backups(changed), strict=True))
    if output is MigrateOutput.JSON:
        _print_json(results, backups)
        return
    if not in_place:
        typer.echo(_joined(results), nl=False)
    for result in results:
        for line in _summary(result, backups.get(result.source, "")).splitlines():
            print_note(line)


def _joined(results: "list[Migrated]") -> str:
    from mooring.wording import escaped

    kept = [one for one in results if one.state != "merged"]
    if len(kept) == 1:
        return kept[0].text
    parts = []
    for one in kept:
        text = one.text if one.text.endswith("\n") else f"{one.text}\n"
        start = "" if text.startswith("---") else "---\n"
        parts.append(f"# Source: {escaped(one.source)}\n{start}{text}")
    return "".join(parts)


def _summary(result: "Migrated", backup: str) -> str:
    from mooring.wording import counted

    actions = [one for one in result.notes if one.action]
    # What the result says itself is not said again, unless nobody sees the result.
    comments = "" if backup else _comments(result.text)
    rest = [one for one in actions if one.text not in comments]
    if result.state == "migrated" and result.found:
        line = f"migrated from {', '.join(result.found)}"
    else:
        line = {
            "migrated": "its Policy is part of the configuration now",
            "current": "is kubescheduler.config.k8s.io/v1 already",
            "noted": "nothing could be migrated",
            "merged": "its Policy is part of the configuration now"
            + ("" if backup else "; the file is not needed"),
            "other": "nothing to migrate",
        }[result.state]
    line += f"; {backup} is the old file" if backup else ""
    said = len(actions) - len(rest)
    if said:
        where = f": {said} in its comments and these" if rest else ", see its comments"
        line += f"; {counted(len(actions), 'thing')} to do{where}"
    lines = [_wrapped(f"{result.source}: {line}", "")]
    lines += [_wrapped(f"to do: {one}", "- ") for one in rest]
    return "\n".join(lines)


def _wrapped(text: str, mark: str) -> str:
    import textwrap

    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=mark,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _comments(text: str) -> str:
    """All comments of a text in one line."""
    lines = (line.strip() for line in text.splitlines())
    words = (line.lstrip("# ") for line in lines if line.startswith("#"))
    return " ".join(words)


def _print_json(results: "list[Migrated]", backups: dict[str, str]) -> None:
    found: list[dict[str, Any]] = []
    for one in results:
        item: dict[str, Any] = {
            "file": one.source,
            "state": one.state,
            "found": one.found,
            "notes": [
                {"field": note.field, "text": note.text, "action": note.action}
                for note in one.notes
            ],
            "text": one.text,
        }
        if one.source in backups:
            item["backup"] = backups[one.source]
        found.append(item)
    print_json({"files": found})
