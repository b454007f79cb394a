"""What ``moor doctor`` prints: problems first, then in one line what passed."""

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from rich.text import Text

from mooring.cli.output_formats import print_json
from mooring.cli.terminal_output import TerminalPrinter, no_mark, table, yes_mark
from mooring.deploy.doctor.findings import CheckResult, DoctorFinding, DoctorSeverity
from mooring.deploy.doctor.registry import CHECKS
from mooring.wording import counted

_ORDER: Final = (DoctorSeverity.ERROR, DoctorSeverity.WARNING)
_INDENT: Final = "  "


def print_results(results: Sequence[CheckResult], *, verbose: bool, as_json: bool) -> None:
    """Print what became of all checks."""
    if as_json:
        print_json(
            {
                "errors": _number(results, DoctorSeverity.ERROR),
                "warnings": _number(results, DoctorSeverity.WARNING),
                "checks": [_as_dict(one) for one in results],
            }
        )
        return
    out = TerminalPrinter()
    for severity in _ORDER:
        for result in results:
            findings = [one for one in result.findings if one.severity is severity]
            if findings:
                _print_findings(out, result, findings)
    if verbose:
        _print_others(out, results)
    out.print(_summary(results, verbose=verbose))


def print_checks(*, as_json: bool) -> None:
    """Print all checks that there are."""
    if as_json:
        print_json([{"id": one.id, "title": one.title, "why": one.why} for one in CHECKS])
        return
    out = TerminalPrinter()
    made = table("check", "passes if")
    for one in CHECKS:
        made.add_row(one.id, one.title)
    out.print(made)


def _print_findings(
    out: TerminalPrinter, result: CheckResult, findings: Iterable[DoctorFinding]
) -> None:
    for place, one in enumerate(findings):
        error = one.severity is DoctorSeverity.ERROR
        mark = no_mark() if error else Text("!", style="yellow")
        out.print(Text.assemble(mark, " ", (result.check.id, "bold")))
        if str(one.place):
            _print_wrapped(out, str(one.place), style="cyan")
        _print_wrapped(out, one.what)
        if not place:
            _print_wrapped(out, f"Why: {result.check.why}", style="dim")
        fixable = " (--fix does it)" if one.safe and (one.edits or one.migrates) else ""
        _print_wrapped(out, f"Do: {one.advice.rstrip('.')}{fixable}.")
        out.print()


def _print_wrapped(out: TerminalPrinter, text: str, style: str = "") -> None:
    if out.width is None:
        out.print(Text(f"{_INDENT}{text}", style=style))
        return
    label, colon, _ = text.partition(": ")
    hanging = len(label) + 2 if colon and label in ("Why", "Do") else 0
    lines = textwrap.wrap(
        text,
        out.width - 1,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT + " " * hanging,
        break_on_hyphens=False,
        break_long_words=False,
    )
    out.print(Text("\n".join(lines), style=style))


def _print_others(out: TerminalPrinter, results: Sequence[CheckResult]) -> None:
    passed = [one for one in results if one.severity is DoctorSeverity.OK]
    missed = [one for one in results if one.severity is DoctorSeverity.NOT_CHECKED]
    if passed:
        made = table("passed", "")
        for one in passed:
            made.add_row(Text.assemble(yes_mark(), " ", one.check.id), one.check.title)
        out.print(made)
        out.print()
    if missed:
        made = table("not checked", "why")
        for one in missed:
            made.add_row(Text.assemble(("-", "dim"), " ", one.check.id), one.reason)
        out.print(made)
        out.print()


def _summary(results: Sequence[CheckResult], *, verbose: bool) -> Text:
    found = Counter(one.severity for one in results)
    errors, warnings = (_number(results, severity) for severity in _ORDER)
    parts = [counted(errors, "error")] if errors else []
    parts += [counted(warnings, "warning")] if warnings else []
    said = ", ".join(parts) or "no problems"
    passed = found[DoctorSeverity.OK]
    missed = found[DoctorSeverity.NOT_CHECKED]
    rest = f"; {counted(passed, 'check')} passed"
    if missed:
        hint = "" if verbose else " (-v says why)"
        rest += f", {missed} not checked{hint}"
    mark = no_mark() if errors else yes_mark()
    return Text.assemble(mark, " ", (said, "bold"), rest)


def _number(results: Sequence[CheckResult], severity: DoctorSeverity) -> int:
    return sum(one.severity is severity for result in results for one in result.findings)


def _as_dict(result: CheckResult) -> dict[str, Any]:
    return {
        "id": result.check.id,
        "severity": str(result.severity),
        "title": result.check.title,
        "why": result.check.why,
        "reason": result.reason,
        "findings": [
            {
                "severity": str(one.severity),
                "what": one.what,
                "advice": one.advice,
                "file": one.place.file,
                "line": one.place.line,
                "subject": one.place.subject,
                "fixable": one.safe and bool(one.edits or one.migrates),
                "edits": [edit._asdict() for edit in one.edits],
            }
            for one in result.findings
        ],
    }
