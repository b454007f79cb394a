"""Kubernetes quantities (``500m``, ``1.5Gi``, ``2e3``), exactly as the API server reads them.

Owns parsing, rounding and printing. A quantity is held as a whole number of billionths, the finest
step Kubernetes keeps, so arithmetic is exact. Called wherever a resource amount is read.
"""

import functools
import re
from typing import Final

import msgspec

from mooring.errors import QuantityError

_NANO: Final = 10**9
_MAX: Final = (2**63 - 1) * _NANO

_FORM: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?(?P<suffix>[A-Za-z]*[+-]?[0-9]*)",
    re.ASCII,
)
_DECIMAL: Final = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]{1,10})", re.ASCII)
_MAX_EXPONENT: Final = 1000
_MAX_LENGTH: Final = 1000


class Quantity(msgspec.Struct, frozen=True, order=True, gc=False):
    """An exact amount; compare, add and subtract it, or round it with `value` and `milli`.

    Attributes:
        nano: the amount in billionths.
    """

    nano: int

    @property
    def value(self) -> int:
        """The amount in whole units, rounded up (away from zero) as Kubernetes does."""
        return _round_away(self.nano, _NANO)

    @property
    def milli(self) -> int:
        """The amount in thousandths, rounded up (away from zero) as Kubernetes does."""
        return _round_away(self.nano, 10**6)

    def __add__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nano + other.nano)

    def __sub__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nano - other.nano)

    def __bool__(self) -> bool:
        return self.nano != 0

    def __str__(self) -> str:
        nano = self.nano
        if nano == 0:
            return "0"
        for suffix, power in reversed(_DECIMAL.items()):
            if nano % 10 ** (power + 9) == 0:
                return f"{nano // 10 ** (power + 9)}{suffix}"
        raise AssertionError("every whole number of billionths has the suffix n")


def _round_away(amount: int, step: int) -> int:
    return -(-amount // step) if amount >= 0 else amount // step


@functools.lru_cache(maxsize=16384)
def parse_quantity(text: str | int | float) -> Quantity:
    """Read a quantity.

    Args:
        text: the string, or a number, which JSON and YAML allow as well.

    Raises:
        QuantityError: it is not a valid quantity.
    """
    source = text if isinstance(text, str) else repr(text)
    match = _FORM.fullmatch(source)
    if match is None or not source or len(source) > _MAX_LENGTH:
        raise _wrong(text)
    whole, fraction, suffix = match["whole"], match["fraction"] or "", match["suffix"]
    mantissa = int(whole + fraction or "0")
    binary = suffix in _BINARY
    if binary:
        scaled, places = mantissa << _BINARY[suffix], len(fraction)
    else:
        scaled, places = mantissa, len(fraction) - _decimal_power(suffix, text)
    # parity v1.36.4: apimachinery/pkg/api/resource/quantity.go reads a missing number as zero where
    # 64 bits are enough, and rejects it where it computes with more.
    if not whole + fraction and (suffix in ("Pi", "Ei") or places > 9):
        raise _wrong(text)
    nano = _shift(scaled, 9 - places)
    if binary:
        nano = min(nano, _MAX)
    return Quantity(-nano if match["sign"] == "-" else nano)


def _decimal_power(suffix: str, text: str | int | float) -> int:
    if suffix in _DECIMAL:
        return _DECIMAL[suffix]
    exponent = _EXPONENT.fullmatch(suffix)
    if exponent is None or abs(int(exponent[1])) > _MAX_EXPONENT:
        raise _wrong(text)
    return int(exponent[1])


def _shift(mantissa: int, power: int) -> int:
    """``mantissa * 10**power``, rounded up to a whole number: what was asked for is never lost."""
    step: int = 10 ** abs(power)
    return mantissa * step if power >= 0 else -(-mantissa // step)


def _wrong(text: str | int | float) -> QuantityError:
    shown = repr(text)
    if len(shown) > 80:
        shown = f"{shown[:77]}..."
    return QuantityError(
        f"{shown} is not a valid quantity; use a number with an optional suffix, "
        f"such as 500m, 1.5 or 2Gi"
    )
