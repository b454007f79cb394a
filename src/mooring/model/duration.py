"""Durations as Kubernetes components write them: ``15s``, ``1m30s``, ``100ms``.

Owns reading and printing. A duration is a whole number of nanoseconds, as in Go, so comparing is
exact. Used by the scheduler's configuration and by plugins' arguments.
"""

import functools
import re
from typing import Final

from mooring.errors import InputError

_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,  # micro sign
    "μs": 10**3,  # Greek mu, which Go accepts as well
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_STEP: Final = re.compile(
    r"(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?(?P<unit>[a-zµμ]+)",
    re.ASCII,
)
_LARGEST: Final = 2**63 - 1
_LONGEST_TEXT: Final = 200


@functools.total_ordering
class Duration:
    """A span of time.

    Attributes:
        nanoseconds: its length.
    """

    __slots__ = ("nanoseconds",)

    def __init__(self, nanoseconds: int) -> None:
        self.nanoseconds = nanoseconds

    @classmethod
    def parse(cls, text: str) -> "Duration":
        """Read a duration as Go's ``time.ParseDuration`` does.

        Raises:
            InputError: the text is no duration, or one of more than 292 years.
        """
        sign = -1 if text[:1] == "-" else 1
        rest = text[1:] if text[:1] in ("+", "-") else text
        if rest == "0":
            return cls(0)
        total, place = 0, 0
        while place < len(rest):
            step = _STEP.match(rest, place)
            if step is None or len(rest) > _LONGEST_TEXT:
                raise _wrong(text)
            digits, unit = step["whole"] + (step["fraction"] or ""), _UNITS.get(step["unit"])
            if unit is None or not digits:
                raise _wrong(text)
            # A part of a nanosecond is cut off in each step, as Go does.
            total += int(digits) * unit // 10 ** len(step["fraction"] or "")
            place = step.end()
        if not rest or total > _LARGEST:
            raise _wrong(text)
        return cls(sign * total)

    @classmethod
    def of_seconds(cls, seconds: int) -> "Duration":
        """A whole number of seconds."""
        return cls(seconds * 10**9)

    @property
    def seconds(self) -> float:
        """The length in seconds."""
        return self.nanoseconds / 10**9

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self.nanoseconds == other.nanoseconds

    def __lt__(self, other: "Duration") -> bool:
        return self.nanoseconds < other.nanoseconds

    def __hash__(self) -> int:
        return hash(self.nanoseconds)

    def __bool__(self) -> bool:
        return self.nanoseconds != 0

    def __str__(self) -> str:
        rest = abs(self.nanoseconds)
        sign = "-" if self.nanoseconds < 0 else ""
        if rest < 10**9:
            for unit in ("ms", "µs", "ns"):
                if rest >= _UNITS[unit]:
                    return f"{sign}{_number(rest, _UNITS[unit])}{unit}"
            return "0s"
        minutes, rest = divmod(rest, _UNITS["m"])
        hours, minutes = divmod(minutes, 60)
        text = f"{_number(rest, 10**9)}s"
        if hours or minutes:
            text = f"{minutes}m{text}"
        return f"{sign}{hours}h{text}" if hours else sign + text

    def __repr__(self) -> str:
        return f"Duration({str(self)!r})"


def _number(amount: int, unit: int) -> str:
    whole, part = divmod(amount, unit)
    digits = f"{part:0{len(str(unit)) - 1}}".rstrip("0") if part else ""
    return f"{whole}.{digits}" if digits else str(whole)


def _wrong(text: str) -> InputError:
    shown = repr(text if len(text) <= 40 else f"{text[:37]}...")
    return InputError(f"{shown} is not a valid duration: use for example 15s, 1m30s or 100ms")
