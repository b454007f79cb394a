import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring import InputError, MooringError, Quantity, QuantityError, parse_quantity
from tests.unit.model.golden import rows

GOLDEN = rows("quantities")
quantities = st.integers(min_value=-(10**30), max_value=10**30).map(Quantity)
_SCALE = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12),
    "P": Fraction(10**15), "E": Fraction(10**18), "Ki": Fraction(2**10), "Mi": Fraction(2**20),
    "Gi": Fraction(2**30), "Ti": Fraction(2**40),
}  # fmt: skip


def test_every_quantity_is_read_as_kubernetes_reads_it() -> None:
    readable = [row for row in GOLDEN if len(row) == 3]
    assert len(readable) > 800
    got = [
        [text, parse_quantity(text).value, parse_quantity(text).milli] for text, _, _ in readable
    ]
    assert got == readable


def test_what_kubernetes_rejects_is_rejected() -> None:
    rejected = [row[0] for row in GOLDEN if len(row) == 1]
    assert len(rejected) > 50
    assert [text for text in rejected if _is_readable(text)] == []


def _is_readable(text: str) -> bool:
    try:
        parse_quantity(text)
    except QuantityError:
        return False
    return True


@pytest.mark.parametrize("text", ["Pi", "+Ei", ".Pi", "e-10", ".e-12"])
def test_a_missing_number_is_rejected_where_kubernetes_needs_one(text: str) -> None:
    with pytest.raises(QuantityError):
        parse_quantity(text)


@pytest.mark.parametrize("text", ["Ki", "+Ti", ".", "e-9", "m", "-"])
def test_a_missing_number_is_zero_where_kubernetes_takes_it_so(text: str) -> None:
    assert parse_quantity(text) == Quantity(0)


@pytest.mark.parametrize("text", ["8Ei", "100000000Ei", "9223372036854775807Ki"])
def test_a_binary_quantity_is_capped_at_64_bits(text: str) -> None:
    assert parse_quantity("7Ei").value == 7 << 60
    assert parse_quantity(text).value == 2**63 - 1


@given(
    sign=st.sampled_from(["", "+", "-"]),
    whole=st.integers(min_value=0, max_value=10**6),
    fraction=st.text("0123456789", max_size=9),
    suffix=st.sampled_from(sorted(_SCALE)),
)
def test_a_text_means_its_number_rounded_away_from_zero_to_billionths(
    sign: str, whole: int, fraction: str, suffix: str
) -> None:
    text = f"{sign}{whole}.{fraction}{suffix}"
    exact = Fraction(f"{whole}.{fraction or 0}") * _SCALE[suffix] * 10**9
    nano = -(-exact.numerator // exact.denominator)
    assert parse_quantity(text).nano == (-nano if sign == "-" else nano)


@given(quantities, quantities)
def test_sums_and_differences_are_exact(one: Quantity, other: Quantity) -> None:
    assert (one + other).nano == one.nano + other.nano
    assert (one - other).nano == one.nano - other.nano
    assert one + other - other == one


@given(quantities)
def test_a_printed_quantity_reads_back_the_same(quantity: Quantity) -> None:
    assert parse_quantity(str(quantity)) == quantity


@given(quantities, quantities)
def test_quantities_order_by_their_amount(one: Quantity, other: Quantity) -> None:
    assert (one < other) == (one.nano < other.nano)
    assert bool(one) == (one.nano != 0)


@given(quantities)
def test_rounding_goes_away_from_zero_by_less_than_a_step(quantity: Quantity) -> None:
    for rounded, step in ((quantity.value, 10**9), (quantity.milli, 10**6)):
        beyond = rounded * step - quantity.nano
        assert 0 <= (beyond if quantity.nano >= 0 else -beyond) < step


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("0", "0"), ("0m", "0"), ("1500m", "1500m"), ("1.5", "1500m"), ("2000", "2k"),
        ("1Ki", "1024"), ("1e18", "1E"), ("-3e6", "-3M"), ("0.1n", "1n"), ("12e-7", "1200n"),
    ],
)  # fmt: skip
def test_the_largest_fitting_suffix_is_printed(text: str, printed: str) -> None:
    assert str(parse_quantity(text)) == printed


@given(st.integers(min_value=-(2**63), max_value=2**64 - 1))
def test_a_bare_whole_number_is_its_text(number: int) -> None:
    assert parse_quantity(number) == parse_quantity(str(number)) == Quantity(number * 10**9)


@given(st.floats(min_value=0, max_value=1e15, allow_nan=False))
def test_a_bare_fraction_is_its_json_text(number: float) -> None:
    assert parse_quantity(number) == parse_quantity(json.dumps(number))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_json_does_not_have_is_rejected(number: float) -> None:
    with pytest.raises(QuantityError):
        parse_quantity(number)


@pytest.mark.parametrize("text", ["1" * 5000, "0" * 5000, "1." + "3" * 5000, "1e1001", "1e-1001"])
def test_absurd_lengths_are_rejected_with_a_short_sentence(text: str) -> None:
    with pytest.raises(QuantityError) as caught:
        parse_quantity(text)
    assert len(str(caught.value)) < 200


def test_the_rejection_shows_the_text_and_what_to_write() -> None:
    with pytest.raises(QuantityError) as caught:
        parse_quantity("12 GB")
    assert str(caught.value).startswith("'12 GB' is not a valid quantity; use ")
    assert isinstance(caught.value, InputError)
    assert isinstance(caught.value, MooringError)
    assert isinstance(caught.value, ValueError)
