"""Words in sentences for people, for all parts of mooring."""

import re
from typing import Final

_NUMBER: Final = re.compile(r"(\d+)")
#: What JSON has as it is, and a terminal obeys: control characters, and the direction of a text.
_OBEYED: Final = (
    *range(0x7F, 0xA0),
    0x200E,
    0x200F,
    *range(0x2028, 0x202F),
    *range(0x2066, 0x206A),
)
_IN_JSON: Final = {number: f"\\u{number:04x}" for number in _OBEYED}


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


def escaped(text: str) -> str:
    """A text with control characters written out, such as ``\\n`` for a line break."""
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )


def escaped_json(text: str) -> str:
    """JSON that means the same, without characters that a terminal obeys."""
    return text if text.isascii() and "\x7f" not in text else text.translate(_IN_JSON)
