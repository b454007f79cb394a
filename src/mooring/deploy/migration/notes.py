"""What a migration has to say about a file, a sentence for each thing.

Filled by everything that translates; printed, and written into the result as comments.
"""

from collections.abc import Iterator

import msgspec


class Note(msgspec.Struct, frozen=True):
    """One thing that a migration says.

    Attributes:
        field: what it is about, such as ``priorities[2]``, as the old file has it.
        text: what became of it and, if there is something to do, what to do.
        action: whether somebody has to do something; otherwise it is good to know.
    """

    field: str
    text: str
    action: bool = False

    def __str__(self) -> str:
        return f"{self.field}: {self.text}" if self.field else self.text


class Notes:
    """The notes of one migration in the order in which they came, each once."""

    def __init__(self) -> None:
        self._notes: dict[Note, None] = {}

    def __iter__(self) -> Iterator[Note]:
        return iter(self._notes)

    def say(self, field: str, text: str) -> None:
        """Something that is good to know."""
        self._notes[Note(field, text)] = None

    def ask(self, field: str, text: str) -> None:
        """Something that somebody has to look at or to do."""
        self._notes[Note(field, text, action=True)] = None

    def add(self, notes: "Notes", prefix: str = "") -> None:
        """Those of a part, with its name before each field."""
        for one in notes:
            field = f"{prefix}{one.field}" if one.field else prefix.rstrip(".: ")
            self._notes[Note(field, one.text, one.action)] = None
