"""Making the edits that findings advise, in the texts of files.

The command line calls it for ``--fix`` and writes what comes out. No I/O.
"""

from collections.abc import Callable, Iterable, Mapping

from mooring.deploy.doctor.findings import DoctorFinding, Edit

#: Rewrites old configurations: all files in, which may refer to each other, and all of them out;
#: None for one that is part of another now.
Migrate = Callable[[Mapping[str, str]], Mapping[str, str | None]]


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """A text after edits of one file; one whose place has changed is left out."""
    bodies = text.splitlines()
    kept = [line[len(body) :] for line, body in zip(text.splitlines(True), bodies, strict=True)]
    lines = [f"{body}\n" for body in bodies]  # as edits have them, whatever ends lines in the file
    distinct = sorted(dict.fromkeys(edits), key=lambda one: (one.line, one.column))
    for one in reversed(distinct):  # what comes before keeps its place
        if not 0 < one.line <= len(lines):
            continue
        line = lines[one.line - 1]
        if not line[one.column :].startswith(one.old):
            continue
        lines[one.line - 1] = line[: one.column] + one.new + line[one.column + len(one.old) :]
    usual = "\r\n" if "\r\n" in kept else "\n"
    return "".join(
        line.removesuffix("\n").replace("\n", usual) + end if line else ""
        for line, end in zip(lines, kept, strict=True)
    )


def fixed_texts(
    texts: Mapping[str, str], findings: Iterable[DoctorFinding], migrate: Migrate
) -> dict[str, str | None]:
    """The files that change, with their new texts; None for one that is not needed any more.

    Args:
        texts: the files that the user gave.
        findings: what is wrong; those that are not `safe` are left alone.
        migrate: rewrites old configurations. A file is migrated or edited, not both at once: its
            lines are others afterwards.
    """
    changed: dict[str, str | None] = {}
    safe = [one for one in findings if one.safe]
    if any(one.migrates in texts for one in safe):
        after = migrate(texts)
        changed = {file: text for file, text in after.items() if text != texts[file]}
    edits: dict[str, list[Edit]] = {}
    for one in safe:
        if any(edit.file in changed for edit in one.edits):
            continue
        for edit in one.edits:
            edits.setdefault(edit.file, []).append(edit)
    for file, found in edits.items():
        if file in texts:
            changed[file] = apply_edits(texts[file], found)
    return {file: text for file, text in changed.items() if text != texts[file]}
