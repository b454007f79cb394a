"""When a CronJob is due: whether its schedule can be understood. `jobs` calls it."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple


class _Unit(NamedTuple):
    """The numbers that a part of a schedule may have, and names for some of them."""

    least: int
    most: int
    names: Mapping[str, int] = {}


_MONTHS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_UNITS: Final = (
    _Unit(0, 59),
    _Unit(0, 23),
    _Unit(1, 31),
    _Unit(1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Unit(0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_NAMED: Final = frozenset(
    ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
)
_EVERY: Final = "@every "
_NUMBER: Final = re.compile(r"[+-]?[0-9]+")
_DURATION: Final = re.compile(r"[+-]?(?:0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)")


def schedule_problem(schedule: str) -> str:
    """What is wrong with a schedule; empty if it is right."""
    # parity v1.36.4: github.com/robfig/cron/v3 parser.go
    if schedule.startswith("@"):
        return _named_problem(schedule)
    fields = schedule.split()
    if len(fields) != len(_UNITS):
        return f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
    try:
        for field, unit in zip(fields, _UNITS, strict=True):
            for part in filter(None, field.split(",")):
                _check_range(part, unit)
    except ValueError as error:
        return str(error)
    return ""


def _named_problem(schedule: str) -> str:
    if schedule in _NAMED:
        return ""
    if not schedule.startswith(_EVERY):
        return f"unrecognized descriptor: {schedule}"
    duration = schedule.removeprefix(_EVERY)
    if _DURATION.fullmatch(duration):
        return ""
    return f'failed to parse duration {schedule}: time: invalid duration "{duration}"'


def _check_range(part: str, unit: _Unit) -> None:
    span, *steps = part.split("/")
    low, *high = span.split("-")
    if low in ("*", "?"):
        start, end = unit.least, unit.most
    else:
        start = end = _number(low, unit)
        if len(high) > 1:
            raise ValueError(f"too many hyphens: {part}")
        if high:
            end = _number(high[0], unit)
    if len(steps) > 1:
        raise ValueError(f"too many slashes: {part}")
    step = _number(steps[0]) if steps else 1
    if steps and not high:
        end = unit.most  # from there on
    if start < unit.least:
        raise ValueError(f"beginning of range ({start}) below minimum ({unit.least}): {part}")
    if end > unit.most:
        raise ValueError(f"end of range ({end}) above maximum ({unit.most}): {part}")
    if start > end:
        raise ValueError(f"beginning of range ({start}) beyond end of range ({end}): {part}")
    if step == 0:
        raise ValueError(f"step of range should be a positive number: {part}")


def _number(text: str, unit: _Unit | None = None) -> int:
    if unit is not None and text.lower() in unit.names:
        return unit.names[text.lower()]
    if not _NUMBER.fullmatch(text):
        raise ValueError(
            f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax'
        )
    number = int(text)
    if number < 0:
        raise ValueError(f"negative number ({number}) not allowed: {text}")
    return number
