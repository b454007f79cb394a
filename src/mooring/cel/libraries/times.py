"""Durations and timestamps: reading, printing, arithmetic, and parts of a point in time.

Called by the conversions and operators. Formats are those of Go's time package.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

from mooring.cel.errors import CelValueError
from mooring.cel.limits import Bounds
from mooring.cel.overloads import Functions, method
from mooring.cel.types import DURATION, INT, STRING, TIMESTAMP
from mooring.cel.values import CelDuration, Timestamp

SECOND: Final = 10**9
_MIN_SECONDS: Final = -62135596800
_MAX_SECONDS: Final = 253402300799
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_INT: Final = Bounds(-(2**63), 2**63)
_UNITS: Final = {
    "ns": 1, "us": 1000, "µs": 1000, "μs": 1000, "ms": 10**6,
    "s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND,
}  # fmt: skip
_PART: Final = re.compile(r"(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))([^0-9.]+)")
_RFC3339: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)


def duration(nanos: int) -> CelDuration:
    """A duration.

    Raises:
        CelValueError: it is longer than 64 bits of nanoseconds.
    """
    if nanos not in _INT:
        raise CelValueError("integer overflow")
    return CelDuration(nanos)


def timestamp(nanos: int, offset: int = 0) -> Timestamp:
    """A point in time.

    Raises:
        CelValueError: it is not in the years 1 to 9999.
    """
    if not _MIN_SECONDS <= nanos // SECOND <= _MAX_SECONDS:
        raise CelValueError("timestamp overflow")
    return Timestamp(nanos, offset)


def parse_duration(text: str) -> CelDuration:
    """Read ``1h2m3.5s``.

    Raises:
        ValueError: it is no duration.
    """
    negative = text.startswith("-")
    body = text[1:] if text[:1] in ("-", "+") else text
    if body == "0":
        return CelDuration(0)
    total, pos = 0, 0
    while pos < len(body):
        match = _PART.match(body, pos)
        if match is None or match[4] not in _UNITS or len(match[0]) > 100:
            raise ValueError(text)
        unit = _UNITS[match[4]]
        fraction = match[2] or match[3] or ""
        total += int(match[1] or 0) * unit
        if fraction:
            total += int(int(fraction) * (unit / 10 ** len(fraction)))
        pos = match.end()
    if not body or total > 2**63 - (not negative):
        raise ValueError(text)
    return CelDuration(-total if negative else total)


def print_duration(value: CelDuration) -> str:
    """The duration in seconds."""
    whole, nanos = divmod(abs(value.nanos), SECOND)
    seconds = (whole + nanos / 1e9) * (-1 if value.nanos < 0 else 1)
    return f"{Decimal(repr(seconds)):f}".removesuffix(".0") + "s"


def parse_timestamp(text: str) -> Timestamp:
    """Read a time of RFC 3339.

    Raises:
        ValueError: it is no such time.
        CelValueError: it is not in the years 1 to 9999.
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError(text)
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    offset = 0
    if match[8]:
        zone_hours, zone_minutes = int(match[9]), int(match[10])
        if zone_hours > 24 or zone_minutes > 60:
            raise ValueError(text)
        offset = (zone_hours * 3600 + zone_minutes * 60) * (-1 if match[8] == "-" else 1)
    # Year 0 is a leap year, like 400.
    moment = datetime(year or 400, month, day, hour, minute, second, tzinfo=UTC)
    seconds = (moment - _EPOCH) // timedelta(seconds=1) - offset
    if not year:
        seconds -= (moment - moment.replace(year=1)) // timedelta(seconds=1) + 366 * 86400
    return timestamp(seconds * SECOND + int((match[7] or "").ljust(9, "0")[:9]), offset)


def print_timestamp(value: Timestamp) -> str:
    """The time in RFC 3339, in the zone it was written with."""
    local = value.nanos + value.offset * SECOND
    try:
        text = (_EPOCH + timedelta(seconds=local // SECOND)).strftime("%m-%dT%H:%M:%S")
        year = (_EPOCH + timedelta(seconds=local // SECOND)).year
    except OverflowError:
        year, text = (10000, "01-01T00:00:00") if local > 0 else (0, "12-31T00:00:00")
    fraction = f".{local % SECOND:09d}".rstrip("0").rstrip(".")
    hours, minutes = divmod(abs(value.offset) // 60, 60)
    zone = f"{'-' if value.offset < 0 else '+'}{hours:02d}:{minutes:02d}" if value.offset else "Z"
    return f"{year:04d}-{text}{fraction}{zone}"


def _zone(name: str) -> tzinfo:
    if name in ("", "UTC", "Local"):
        return UTC
    if ".." in name or name.startswith(("/", "\\")):
        raise CelValueError("time: invalid location name")
    try:
        return ZoneInfo(name)
    except (OSError, ValueError) as error:  # ZoneInfoNotFoundError is a KeyError
        raise CelValueError(f"unknown time zone {name}") from error
    except KeyError as error:
        raise CelValueError(f"unknown time zone {name}") from error


def _offset_seconds(name: str) -> int:
    """The seconds of an offset such as ``-08:30``; it may be longer than a day."""
    hours, _, minutes = name.partition(":")
    if not re.fullmatch(r"[+-]?[0-9]{1,4}", hours) or not re.fullmatch(r"[+-]?[0-9]{1,4}", minutes):
        raise CelValueError(f"strconv.Atoi: parsing {name!r}: invalid syntax")
    sign = -1 if name.startswith("-") else 1
    return (int(hours) * 60 + sign * int(minutes)) * 60


def _getter(part: Callable[[datetime, int], int]) -> Callable[..., int]:
    def get(value: Timestamp, zone: str = "UTC") -> int:
        seconds, nanos = divmod(value.nanos, SECOND)
        shift = _offset_seconds(zone) if ":" in zone else 0
        try:
            moment = _EPOCH + timedelta(seconds=seconds + shift)
            return part(moment if ":" in zone else moment.astimezone(_zone(zone)), nanos)
        except OverflowError as error:
            raise CelValueError("timestamp overflow") from error

    return get


_PARTS: Final[dict[str, tuple[str, Callable[[datetime, int], int]]]] = {
    "getFullYear": ("year", lambda t, _: t.year),
    "getMonth": ("month", lambda t, _: t.month - 1),
    "getDayOfYear": ("day_of_year", lambda t, _: t.timetuple().tm_yday - 1),
    "getDayOfMonth": ("day_of_month", lambda t, _: t.day - 1),
    "getDate": ("day_of_month_1_based", lambda t, _: t.day),
    "getDayOfWeek": ("day_of_week", lambda t, _: t.isoweekday() % 7),
    "getHours": ("hours", lambda t, _: t.hour),
    "getMinutes": ("minutes", lambda t, _: t.minute),
    "getSeconds": ("seconds", lambda t, _: t.second),
    "getMilliseconds": ("milliseconds", lambda _, nanos: nanos // 10**6),
}
_DURATION_UNITS: Final = {
    "getHours": 3600 * SECOND,
    "getMinutes": 60 * SECOND,
    "getSeconds": SECOND,
    "getMilliseconds": 10**6,
}


def _in_units(unit: int) -> Callable[[CelDuration], int]:
    def count(value: CelDuration) -> int:
        amount = abs(value.nanos) // unit
        return -amount if value.nanos < 0 else amount

    return count


def _functions() -> Functions:
    table: Functions = {}
    for name, (part, getter) in _PARTS.items():
        get = _getter(getter)
        table[name] = [
            method(f"timestamp_to_{part}", [TIMESTAMP], INT, get),
            method(f"timestamp_to_{part}_with_tz", [TIMESTAMP, STRING], INT, get),
        ]
        if unit := _DURATION_UNITS.get(name):
            table[name].append(method(f"duration_to_{part}", [DURATION], INT, _in_units(unit)))
    return table


FUNCTIONS: Final = _functions()
