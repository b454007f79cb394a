"""What the API server says of texts that are no quantity, no time, no base64: Go's own words.

`schema` asks where a text does not have the usual form. Pure.
"""

import re
from typing import Final

from mooring.errors import QuantityError
from mooring.model.quantity import parse_quantity

QUANTITY_FORM: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
# parity v1.36.4: apimachinery/pkg/api/resource/quantity.go; the scanner, not the expression above.
_SCANNED: Final = re.compile(r"[+-]?[0-9]*(\.[0-9]*)?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_SUFFIX: Final = re.compile(r"[numkMGTPE]?|[KMGTPE]i|[eE][-+]?[0-9]+", re.ASCII)


def quantity_problem(value: object) -> str:
    """What is wrong with a quantity, which may be a text or a number; empty if nothing is."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return QUANTITY_FORM
    text = value.strip() if isinstance(value, str) else repr(value)
    match = _SCANNED.fullmatch(text)
    if not text or match is None:
        return QUANTITY_FORM
    if _SUFFIX.fullmatch(match[2]) is None:
        return "unable to parse quantity's suffix"
    try:
        parse_quantity(text)
    except QuantityError:
        return "unable to parse numeric part of quantity"
    return ""


_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT: Final = "2006-01-02T15:04:05.000000Z07:00"
#: The parts of a time: as the layout has them, what they look like, what their range is called.
_PARTS: Final = (
    ("2006", re.compile(r"[0-9]{4}", re.ASCII), "", range(10000)),
    ("-", re.compile("-"), "", None),
    ("01", re.compile(r"[0-9]{2}", re.ASCII), "month", range(1, 13)),
    ("-", re.compile("-"), "", None),
    ("02", re.compile(r"[0-9]{2}", re.ASCII), "day", range(1, 32)),
    ("T", re.compile("T"), "", None),
    ("15", re.compile(r"[0-9]{1,2}", re.ASCII), "hour", range(24)),
    (":", re.compile(":"), "", None),
    ("04", re.compile(r"[0-9]{2}", re.ASCII), "minute", range(60)),
    (":", re.compile(":"), "", None),
    ("05", re.compile(r"[0-9]{2}", re.ASCII), "second", range(60)),
)
_FRACTION: Final = re.compile(r"[.,][0-9]+", re.ASCII)
_MICROS: Final = re.compile(r"\.[0-9]{6}", re.ASCII)
_ZONE: Final = re.compile(r"Z|[+-][0-9]{2}:[0-9]{2}", re.ASCII)
_DAYS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def time_problem(text: str, *, micro: bool = False) -> str:
    """What is wrong with a time of RFC 3339; empty if nothing is.

    Args:
        text: the time.
        micro: whether it must have microseconds.
    """
    # parity: time.Parse of Go, which names the first part it cannot read.
    layout = _MICRO_LAYOUT if micro else _LAYOUT
    rest = text
    numbers: dict[str, int] = {}
    for part, form, name, allowed in _PARTS:
        match = form.match(rest)
        if match is None:
            return _unreadable(text, layout, rest, part)
        if allowed is not None:
            numbers[name] = int(match[0])
            if numbers[name] not in allowed:
                return f"parsing time {_quoted(text)}: {name} out of range"
        rest = rest[match.end() :]
    fraction = (_MICROS if micro else _FRACTION).match(rest)
    if fraction is not None:
        rest = rest[fraction.end() :]
    elif micro:
        return _unreadable(text, layout, rest, ".000000")
    zone = _ZONE.match(rest)
    if zone is None:
        return _unreadable(text, layout, rest, "Z07:00")
    if zone.end() < len(rest):
        return f"parsing time {_quoted(text)}: extra text: {_quoted(rest[zone.end() :])}"
    year = numbers[""]
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if numbers["day"] > _DAYS[numbers["month"] - 1] or (
        numbers["month"] == 2 and numbers["day"] == 29 and not leap
    ):
        return f"parsing time {_quoted(text)}: day out of range"
    return ""


def _unreadable(text: str, layout: str, rest: str, part: str) -> str:
    return f'parsing time {_quoted(text)} as "{layout}": cannot parse {_quoted(rest)} as "{part}"'


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


_ALPHABET: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def base64_problem(text: str) -> str:
    """What is wrong with a text in base64; empty if nothing is."""
    at = _first_bad(text)
    return "" if at is None else f"illegal base64 data at input byte {at}"


def _first_bad(text: str) -> int | None:
    """Where the decoder of Go gives up."""
    count = 0  # characters of the current four
    for at, char in enumerate(text):
        if char in "\r\n":
            continue
        if char in _ALPHABET:
            count = (count + 1) % 4
        elif char != "=" or count < 2:
            return at
        else:
            return _bad_padding(text, at + 1, count)
    return None if count == 0 else len(text) - count


def _bad_padding(text: str, at: int, count: int) -> int | None:
    """The same after a first ``=``, with as many characters before it."""
    rest = text[at:].lstrip("\r\n")
    if count == 2:
        if not rest:
            return len(text)
        if rest[0] != "=":
            return len(text) - len(rest) - 1
        rest = rest[1:].lstrip("\r\n")
    return len(text) - len(rest) if rest else None
