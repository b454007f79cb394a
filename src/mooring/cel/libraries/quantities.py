"""The quantity library: amounts such as ``500m`` and ``2Gi``.

Called through the declarations and by `device_selector`. Kubernetes keeps most amounts as a whole
number and a power of ten, the others as decimals; `isInteger` tells which, and so does this module.
"""

import re
from typing import ClassVar, Final

from mooring.cel.errors import CelValueError
from mooring.cel.limits import Bounds
from mooring.cel.overloads import Functions, function, method
from mooring.cel.types import BOOL, DOUBLE, INT, QUANTITY, STRING
from mooring.errors import QuantityError
from mooring.model.quantity import Quantity, parse_quantity

_NANO: Final = 10**9
_INT64: Final = Bounds(-(2**63), 2**63)
_PARTS: Final = re.compile(r"[+-]?0*([0-9]*)(?:\.([0-9]*))?([A-Za-z]*)([+-]?[0-9]*)", re.ASCII)
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DIGITS: Final = 18
_FINEST: Final = -9


class CelQuantity:
    """An amount.

    Attributes:
        nano: billionths.
        scale: the power of ten that Kubernetes counts in, or None if it keeps a decimal.
        is_sum: whether it was computed; in Kubernetes, nothing equals such a value.
    """

    __slots__ = ("is_sum", "nano", "scale")
    type_name: ClassVar[str] = "kubernetes.Quantity"

    def __init__(self, nano: int, scale: int | None = 0, *, is_sum: bool = False) -> None:
        self.nano = nano
        self.scale = scale
        self.is_sum = is_sum

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CelQuantity):
            return False
        if other.is_sum:
            # parity v1.36.4: add and sub return pointers, apiserver/pkg/cel/library/quantity.go
            raise CelValueError("no such overload")
        return self.nano == other.nano

    __hash__ = object.__hash__


def quantity_value(text: str) -> CelQuantity:
    """Read an amount.

    Raises:
        QuantityError: it is none.
    """
    amount = parse_quantity(text)
    match = _PARTS.fullmatch(text)
    if match is None or text == "0":
        return CelQuantity(amount.nano)
    whole, fraction, suffix = match[1] or "0", match[2] or "", match[3]
    if suffix in _BINARY:
        scale = 0
        room = 15 - len(whole) - int(_BINARY[suffix] * 3 / 10) - 1
        if fraction or room < 0 or amount.nano // _NANO not in _INT64:
            return CelQuantity(amount.nano, None)
    else:
        exponent = int(match[4]) if suffix in ("e", "E") and match[4] else _DECIMAL.get(suffix, 0)
        scale = exponent - len(fraction)
        if len(whole) + len(fraction) > _DIGITS or scale < _FINEST:
            return CelQuantity(amount.nano, None)
    return CelQuantity(amount.nano, scale)


def from_model(amount: Quantity) -> CelQuantity:
    """The value for an amount of the model, which no longer knows how it was written."""
    scale = 0
    while amount.nano % 10 ** (9 + scale):
        scale -= 1
    return CelQuantity(amount.nano, scale if amount.nano // _NANO in _INT64 else None)


def _quantity(text: str) -> CelQuantity:
    try:
        return quantity_value(text)
    except QuantityError as error:
        raise CelValueError(str(error)) from error


def _is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except QuantityError:
        return False
    return True


def _is_integer(amount: CelQuantity) -> bool:
    return amount.scale is not None and amount.scale >= 0 and amount.nano // _NANO in _INT64


def _as_integer(amount: CelQuantity) -> int:
    if not _is_integer(amount):
        raise CelValueError("cannot convert value to integer")
    return amount.nano // _NANO


def _order(first: CelQuantity, second: CelQuantity) -> int:
    return (first.nano > second.nano) - (first.nano < second.nano)


def _sum(first: CelQuantity, second: CelQuantity | int, sign: int = 1) -> CelQuantity:
    other = second if isinstance(second, CelQuantity) else CelQuantity(second * _NANO)
    nano = first.nano + sign * other.nano
    if first.scale is None or other.scale is None:
        return CelQuantity(nano, None, is_sum=True)
    if not other.nano:
        scale = first.scale
    elif not first.nano:
        scale = other.scale
    else:
        scale = min(first.scale, other.scale)
        unit = 10 ** (9 + scale) if scale >= _FINEST else 1
        if any(part // unit not in _INT64 for part in (first.nano, other.nano, nano)):
            return CelQuantity(nano, None, is_sum=True)
    return CelQuantity(nano, scale, is_sum=True)


def _difference(first: CelQuantity, second: CelQuantity | int) -> CelQuantity:
    if isinstance(second, int) and second == -(2**63):
        # parity v1.36.4: apimachinery/pkg/api/resource/amount.go, its negative is itself
        if first.scale is not None and first.scale >= 0 and first.nano >= 0:
            return _sum(first, second)
        return CelQuantity(first.nano - second * _NANO, None, is_sum=True)
    return _sum(first, second, -1)


def _sign(amount: CelQuantity) -> int:
    return (amount.nano > 0) - (amount.nano < 0)


def _approximate(amount: CelQuantity) -> float:
    try:
        return amount.nano / _NANO
    except OverflowError:
        return float("inf") if amount.nano > 0 else float("-inf")


_TWO: Final = [QUANTITY, QUANTITY]
FUNCTIONS: Final[Functions] = {
    "quantity": [function("string_to_quantity", [STRING], QUANTITY, _quantity)],
    "isQuantity": [function("is_quantity_string", [STRING], BOOL, _is_quantity)],
    "sign": [function("quantity_sign", [QUANTITY], INT, _sign)],
    "isGreaterThan": [method("quantity_is_greater_than", _TWO, BOOL, lambda a, b: a.nano > b.nano)],
    "isLessThan": [method("quantity_is_less_than", _TWO, BOOL, lambda a, b: a.nano < b.nano)],
    "compareTo": [method("quantity_compare_to", _TWO, INT, _order)],
    "asApproximateFloat": [method("quantity_get_float", [QUANTITY], DOUBLE, _approximate)],
    "asInteger": [method("quantity_get_int", [QUANTITY], INT, _as_integer)],
    "isInteger": [method("quantity_is_integer", [QUANTITY], BOOL, _is_integer)],
    "add": [
        method("quantity_add", _TWO, QUANTITY, _sum),
        method("quantity_add_int", [QUANTITY, INT], QUANTITY, _sum),
    ],
    "sub": [
        method("quantity_sub", _TWO, QUANTITY, _difference),
        method("quantity_sub_int", [QUANTITY, INT], QUANTITY, _difference),
    ],
}
