"""The tables of a run on the page of the documentation; called by `__main__` and by a test.

A run with ``--out docs/benchmarks`` finds the page beside its results and puts its tables between
the two marks there.
"""

from pathlib import Path
from typing import Final

from benchmarks.faults.report import parts
from benchmarks.faults.results import Report

_BEGIN: Final = "<!-- tables -->"
_END: Final = "<!-- end -->"


def tables(report: Report) -> str:
    """All tables as Markdown, and how busy the machine was."""
    texts = []
    for title, columns, rows in parts(report.found):
        lines = [columns, tuple("---:" if place else "---" for place in range(len(columns))), *rows]
        shown = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        texts.append(f"**{title}**\n\n{shown}")
    texts.append(f"Other programs used {report.other_load:.0%} of the CPUs meanwhile.")
    return "\n\n".join(texts)


def write_page(report: Report, page: Path) -> None:
    """Put the tables into a page."""
    head, _, rest = page.read_text().partition(_BEGIN)
    _, _, tail = rest.partition(_END)
    page.write_text(f"{head}{_BEGIN}\n\n{tables(report)}\n\n{_END}{tail}")
