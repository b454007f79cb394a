import pytest

from mooring.model.quantity import parse_quantity
from mooring.model.quantity_texts import rounded_up, show, show_alike, written

MI, GI = 2**20, 2**30


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 2000, "2"),
        ("cpu", 1500, "1500m"),
        ("cpu", 0, "0"),
        ("memory", 512 * MI, "512Mi"),
        ("memory", 3 * GI // 2, "1.5Gi"),
        ("memory", 1000, "1000"),
        ("memory", 0, "0"),
        ("ephemeral-storage", 2 * GI, "2Gi"),
        ("hugepages-2Mi", 4 * MI, "4Mi"),
        ("nvidia.com/gpu", 4, "4"),
        ("pods", 110, "110"),
    ],
)
def test_amounts_look_as_people_write_them(resource: str, amount: int, text: str) -> None:
    assert show(resource, amount) == text


@pytest.mark.parametrize(("resource", "amount"), [("cpu", 1234), ("memory", 987654321)])
def test_a_written_amount_is_exact(resource: str, amount: int) -> None:
    quantity = parse_quantity(written(resource, amount))
    assert (quantity.milli if resource == "cpu" else quantity.value) == amount


def test_bytes_are_rounded_up_to_what_is_shown() -> None:
    assert rounded_up("memory", 5 * MI + 1) == 6 * MI
    assert rounded_up("memory", 5 * MI) == 5 * MI
    assert rounded_up("memory", 1000) == 1000
    assert rounded_up("cpu", 17) == 17


@pytest.mark.parametrize(
    ("resource", "amounts", "exact", "expected"),
    [
        ("cpu", (6000, 5000), False, ["6", "5"]),
        ("cpu", (2500, 2000), False, ["2500m", "2000m"]),
        ("memory", (4 << 30, 3 << 30), False, ["4Gi", "3Gi"]),
        ("memory", (4 << 30, 512 << 20), False, ["4Gi", "0.5Gi"]),
        ("memory", (64 << 30, 12 << 20), False, ["65536Mi", "12Mi"]),
        ("memory", (1 << 30, (1 << 30) - (1 << 20)), False, ["1024Mi", "1023Mi"]),
        ("memory", (1 << 30, 71 << 20), True, ["1024Mi", "71Mi"]),
        ("memory", (1 << 30, 0), False, ["1Gi", "0"]),
        ("x.io/gpu", (2, 1), False, ["2", "1"]),
    ],
)
def test_amounts_of_one_sentence_have_one_unit(
    resource: str, amounts: tuple[int, ...], exact: bool, expected: list[str]
) -> None:
    assert show_alike(resource, amounts, exact=exact) == expected
