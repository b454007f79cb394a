"""Durations, rates and names in scenarios, read with sentences that say what is expected."""

import re
from typing import Final

from mooring.errors import InputError, QuantityError
from mooring.model.duration import Duration
from mooring.model.quantity import parse_quantity
from mooring.simulator.scenario.schema import Amount
from mooring.typed_yaml import FieldMistake, Path

_DAYS: Final = re.compile(r"(?P<days>\d+(?:\.\d+)?)d(?P<rest>.*)")
_RATE: Final = re.compile(r"(?P<number>\d+(?:\.\d+)?)/(?P<unit>s|m|h|d)")
_UNIT_SECONDS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_LONGEST_NAME: Final = 200
#: So much of a number is shown.
_LONGEST_NUMBER: Final = 30
#: No duration in a scenario is longer than a year.
_LONGEST: Final = 366 * 86_400.0


def seconds(text: str, path: Path) -> float:
    """A duration in seconds.

    Raises:
        FieldMistake: it is none.
    """
    found = _DAYS.fullmatch(text)
    days, rest = (float(found["days"]), found["rest"] or "0") if found else (0.0, text)
    try:
        total = days * 86_400.0 + Duration.parse(rest).seconds
    except InputError:
        raise FieldMistake(
            path, f"{text!r} is no duration; expected one such as 90s or 1h30m"
        ) from None
    if not 0 <= total <= _LONGEST:
        raise FieldMistake(path, f"{text!r} is out of range; expected 0s to 366d")
    return total


def rate(text: str, path: Path) -> float:
    """A rate, as a number in a second.

    Raises:
        FieldMistake: it is none.
    """
    found = _RATE.fullmatch(text.replace(" ", ""))
    if found is None or not float(found["number"]):
        raise FieldMistake(path, f"{text!r} is no rate; expected one such as 30/s, 10/m or 100/h")
    return float(found["number"]) / _UNIT_SECONDS[found["unit"]]


def amount(value: Amount, path: Path) -> str:
    """A quantity as objects have it.

    Raises:
        FieldMistake: it is none.
    """
    try:
        parse_quantity(value)
    except QuantityError as error:
        raise FieldMistake(path, str(error)) from None
    return str(value)


def name(text: str, path: Path) -> str:
    """A name that Kubernetes objects may have.

    Raises:
        FieldMistake: it is none.
    """
    if not _NAME.fullmatch(text) or len(text) > _LONGEST_NAME:
        raise FieldMistake(
            path,
            f"{text!r} is no name; expected lower-case letters, digits, - and ., "
            f"at most {_LONGEST_NAME} characters",
        )
    return text


def in_range(number: float, least: float, most: float, path: Path) -> None:
    """See that a number is within limits.

    Raises:
        FieldMistake: it is not.
    """
    if not least <= number <= most:
        shown = str(number)
        shown = shown if len(shown) <= _LONGEST_NUMBER else f"{shown[:_LONGEST_NUMBER]}..."
        raise FieldMistake(path, f"{shown} is out of range; expected {least} to {most}")
