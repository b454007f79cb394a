"""Amounts and times as the API server writes them, from what a client wrote.

`stored_form` calls it for every amount and time in an object. Everything is remembered, because the
same few texts come again and again.
"""

import functools
import re
from datetime import UTC, datetime
from typing import Final

from mooring.model.quantity import parse_quantity

_FORM: Final = re.compile(r"[+-]?0*([0-9]*)(?:\.([0-9]*))?([A-Za-z]*)([+-]?[0-9]*)", re.ASCII)
_DECIMAL: Final = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_NANO: Final = 10**9
_MILLI: Final = 10**6  # in billionths


@functools.lru_cache(maxsize=16384)
def canonical(text: str | int | float) -> str:
    """An amount in the form in which the API server writes it: ``0.5`` becomes ``500m``.

    Raises:
        QuantityError: it is not a valid quantity.
    """
    source = str(text).strip()
    nano = parse_quantity(source).nano
    return source if _is_canonical(source) and nano else _written(source, nano)


@functools.lru_cache(maxsize=16384)
def canonical_resource(text: str | int | float) -> str:
    """An amount of a resource: as `canonical`, rounded up to thousandths.

    Raises:
        QuantityError: it is not a valid quantity.
    """
    # parity v1.36.4: pkg/apis/core/v1/defaults.go SetDefaults_ResourceList
    source = str(text).strip()
    quantity = parse_quantity(source)
    if quantity.nano % _MILLI:
        return _written(source, quantity.milli * _MILLI)
    # Digits below a thousandth have it written anew, even if they are zeros.
    whole = source if "." in source or source[-1] in "nu" else ""
    if whole and len(_parts(source)[1]) - _power(_parts(source)[2]) > 3:
        return _written(source, quantity.nano)
    return canonical(text)


def total(first: str, second: str) -> str:
    """The sum of two amounts, in the form of the first unless that is zero."""
    # parity v1.36.4: apimachinery/pkg/api/resource/quantity.go Add
    nano = parse_quantity(first).nano
    form = first if nano else second
    return _written(form, nano + parse_quantity(second).nano)


@functools.lru_cache(maxsize=4096)
def canonical_time(text: str) -> str:
    """A time to the second, in UTC; what is no time stays as it is."""
    if len(text) == 20 and text[-1] == "Z" and text[10] == "T":
        return text
    moment = _read_time(text)
    return text if moment is None else f"{moment:%Y-%m-%dT%H:%M:%SZ}"


@functools.lru_cache(maxsize=4096)
def canonical_micro_time(text: str) -> str:
    """A time to the microsecond, in UTC; what is no time stays as it is."""
    if len(text) == 27 and text[-1] == "Z" and text[10] == "T":
        return text
    moment = _read_time(text)
    return text if moment is None else f"{moment:%Y-%m-%dT%H:%M:%S.%fZ}"


def _read_time(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment.tzinfo is not None else None


def _parts(source: str) -> tuple[str, str, str, str]:
    """Digits before the point without leading zeros, digits after it, suffix, exponent."""
    match = _FORM.fullmatch(source)
    if match is None:
        return "", "", "", ""
    return match[1] or "0", match[2] or "", match[3], match[4]


def _power(suffix: str) -> int:
    return (_DECIMAL.index(suffix) - 3) * 3 if suffix in _DECIMAL else 0


def _is_canonical(source: str) -> bool:
    """Whether the API server takes a text for good enough to keep it."""
    # parity v1.36.4: apimachinery/pkg/api/resource/quantity.go ParseQuantity
    whole, fraction, suffix, exponent = _parts(source)
    if suffix in _BINARY[1:]:
        step = _BINARY.index(suffix)
        return not fraction and 14 - len(whole) - step * 3 >= 0 and int(whole) & 7 != 0
    digits = whole + fraction
    power = int(exponent) if exponent else _power(suffix)
    scale = power - len(fraction)
    return (
        len(digits) <= 18
        and scale >= -9
        and scale % 3 == 0
        and not digits.endswith("000")
        and digits[0] != "0"
    )


def _written(source: str, nano: int) -> str:
    # parity v1.36.4: apimachinery/pkg/api/resource/quantity.go CanonicalizeBytes
    if nano == 0:
        return "0"
    _, _, suffix, exponent = _parts(source)
    if suffix in _BINARY[1:] and nano % _NANO == 0 and abs(nano) >= 1024 * _NANO:
        number, step = nano // _NANO, 0
        while number % 1024 == 0:
            number, step = number // 1024, step + 1
        return f"{number}{_BINARY[step]}"
    number, power = nano, -9
    while number % 10 == 0:
        number, power = number // 10, power + 1
    while power % 3:
        number, power = number * 10, power - 1
    if exponent:
        return f"{number}e{power}" if power else str(number)
    return f"{number}{_DECIMAL[power // 3 + 3]}" if power <= 18 else str(number)
