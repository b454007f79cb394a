"""Words in sentences for people, for all parts of mooring."""

import re
from typing import Final

_NUMBER: Final = re.compile(r"(\d+)")


def counted(number: float, what: str) -> str:
    """A number and what it counts, such as ``1 pod``, ``3 pods`` or ``0.5 seconds``."""
    shown = str(number) if isinstance(number, int) else f"{round(number, 3):g}"
    return f"{shown} {what}" if shown == "1" else f"{shown} {what}s"


def are(number: int) -> str:
    """The verb that follows `counted`."""
    return "is" if number == 1 else "are"


def natural_key(name: str) -> list[tuple[int, str]]:
    """Sorts names as people do: node-2 before node-10."""
    parts = _NUMBER.split(name)
    return [(int(part), part) if place % 2 else (0, part) for place, part in enumerate(parts)]
