"""The quantity library: amounts such as ``500m`` and ``2Gi``.

Called through the declarations. Kubernetes keeps small amounts as integers and others as decimals,
and only the former can be integers for `isInteger`; this module knows which are which.
"""

import re
from typing import ClassVar, Final

from mooring.cel.errors import CelValueError
from mooring.cel.overloads import Functions, function, method
from mooring.cel.types import BOOL, DOUBLE, INT, QUANTITY, STRING
from mooring.errors import QuantityError
from mooring.model.quantity import Quantity, parse_quantity

_NANO: Final = 10**9
_INT64: Final = range(-(2**63), 2**63)
_PARTS: Final = re.compile(r"[+-]?0*([0-9]*)(?:\.([0-9]*))?([A-Za-z]*)([+-]?[0-9]*)", re.ASCII)
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DIGITS: Final = 18


class CelQuantity:
    """An amount in billionths, and whether Kubernetes keeps it as a decimal."""

    __slots__ = ("is_decimal", "nano")
    type_name: ClassVar[str] = "kubernetes.Quantity"

    def __init__(self, nano: int, *, is_decimal: bool = False) -> None:
        self.nano = nano
        self.is_decimal = is_decimal

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CelQuantity) and self.nano == other.nano

    __hash__ = object.__hash__


def quantity_value(text: str) -> CelQuantity:
    """Read an amount.

    Raises:
        QuantityError: it is none.
    """
    amount = parse_quantity(text)
    match = _PARTS.fullmatch(text)
    whole, fraction, suffix = (match[1], match[2] or "", match[3]) if match else ("", "", "")
    n_digits = len(whole or "0") + len(fraction)
    if suffix in _BINARY:
        room = 15 - len(whole or "0") - _BINARY[suffix] * 3 // 10 - 1
        is_decimal = room < 0 or "." in text and bool(fraction)
    else:
        exponent = int(match[4] or 0) if match and suffix in ("e", "E") and match[4] else 0
        scale = _DECIMAL.get(suffix, 0) if not exponent else exponent
        is_decimal = n_digits > _DIGITS or scale - len(fraction) < -9  # noqa: PLR2004 (nano)
    return CelQuantity(amount.nano, is_decimal=is_decimal)


def from_model(amount: Quantity) -> CelQuantity:
    """The value for an amount of the model."""
    return CelQuantity(amount.nano, is_decimal=amount.nano // _NANO not in _INT64)


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
    whole, rest = divmod(amount.nano, _NANO)
    return not amount.is_decimal and not rest and whole in _INT64


def _as_integer(amount: CelQuantity) -> int:
    if not _is_integer(amount):
        raise CelValueError("cannot convert value to integer")
    return amount.nano // _NANO


def _order(first: CelQuantity, second: CelQuantity) -> int:
    return (first.nano > second.nano) - (first.nano < second.nano)


def _sum(first: CelQuantity, second: CelQuantity | int) -> CelQuantity:
    other = second if isinstance(second, CelQuantity) else CelQuantity(second * _NANO)
    is_decimal = first.is_decimal or other.is_decimal
    nano = first.nano + other.nano
    return CelQuantity(nano, is_decimal=is_decimal or nano // _NANO not in _INT64)


def _difference(first: CelQuantity, second: CelQuantity | int) -> CelQuantity:
    if isinstance(second, CelQuantity):
        return _sum(first, CelQuantity(-second.nano, is_decimal=second.is_decimal))
    return _sum(first, -second)


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
    "isGreaterThan": [
        method("quantity_is_greater_than", _TWO, BOOL, lambda a, b: a.nano > b.nano)
    ],
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
