"""What came of the specs: read from the suite's lines, shown as a table, counted.

`__main__` calls it. It starts nothing and waits for nothing.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from rich.table import Table
from rich.text import Text

_TAGS: Final = re.compile(r"\s*\[[^\]]*\]\s*")
_STYLES: Final = {"passed": "green", "failed": "bold red", "skipped": "yellow"}
_SENTENCE: Final = 200


class SpecResult(msgspec.Struct, frozen=True):
    """One spec that has ended.

    Attributes:
        name: its whole text, with its tags.
        state: as Ginkgo calls it: passed, failed, skipped, timedout, panicked, ...
        seconds: how long it took.
        message: what was wrong, or why it was skipped.
    """

    name: str
    state: str
    seconds: float = 0.0
    message: str = ""

    @property
    def title(self) -> str:
        """Its text without tags."""
        return _TAGS.sub(" ", self.name).strip()

    @property
    def outcome(self) -> str:
        """Whether it passed, failed or was skipped."""
        return self.state if self.state in ("passed", "skipped") else "failed"

    @property
    def left_out(self) -> bool:
        """Whether it was not even begun: it was not asked for, or is switched off."""
        return self.state in ("skipped", "pending") and not self.message

    @property
    def reason(self) -> str:
        """The beginning of the message, on one line."""
        line = " ".join(self.message.split())
        return line if len(line) <= _SENTENCE else f"{line[: _SENTENCE - 1]}…"


class ResultReader:
    """The lines that a suite has written so far, each of them once.

    Args:
        file: where it writes them; it need not exist yet.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._read = 0

    def new(self) -> list[SpecResult]:
        """The specs that have ended since the last time, without those that were left out."""
        try:
            content = self._file.read_bytes()
        except FileNotFoundError:
            return []
        whole = content[self._read : content.rfind(b"\n") + 1]
        self._read += len(whole)
        found = [msgspec.json.decode(line, type=SpecResult) for line in whole.splitlines()]
        return [one for one in found if not one.left_out]


def table(results: Sequence[SpecResult]) -> Table:
    """All specs in the order of their names."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    made.add_column("RESULT")
    made.add_column("TIME", justify="right")
    made.add_column("SPEC", overflow="fold")
    for one in sorted(results, key=lambda one: one.title):
        text = Text(one.title)
        if one.message:
            text.append(f"\n{one.reason}", style="dim")
        shown = Text(one.outcome, style=_STYLES[one.outcome])
        made.add_row(shown, f"{one.seconds:.0f}s", text)
    return made


def summary(results: Sequence[SpecResult]) -> str:
    """How many passed and failed, in a sentence."""
    counts = Counter(one.outcome for one in results)
    text = f"{counts['passed']} passed, {counts['failed']} failed"
    if counts["skipped"]:
        text += f", {counts['skipped']} skipped"
    return text
