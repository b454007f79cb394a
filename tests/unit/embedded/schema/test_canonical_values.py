import pytest

from mooring.embedded.schema.canonical_values import (
    canonical,
    canonical_micro_time,
    canonical_resource,
    canonical_time,
    total,
)
from mooring.errors import QuantityError


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("1000m", "1"),
        ("0.5", "500m"),
        ("1500m", "1500m"),
        ("1024Ki", "1Mi"),
        ("1.5Gi", "1536Mi"),
        ("2000Mi", "2000Mi"),
        ("0.5Ki", "512"),
        ("1.1Ki", "1126400m"),
        ("1000", "1k"),
        ("1e3", "1e3"),
        ("12e2", "1200"),
        ("1.5e3", "1500"),
        ("1.500", "1.500"),  # the API server takes it for good enough
        ("100u", "100u"),
        ("0Mi", "0"),
        (" 2 ", "2"),
        (2, "2"),
        (2.0, "2"),
        (0.25, "250m"),
    ],
)
def test_an_amount_has_one_written_form(text: str | float, written: str) -> None:
    assert canonical(text) == written


@pytest.mark.parametrize(
    ("text", "written"),
    [("100u", "1m"), ("1.234567", "1235m"), ("5n", "1m"), ("1.500", "1.500"), ("250m", "250m")],
)
def test_amounts_of_resources_are_rounded_up_to_thousandths(text: str, written: str) -> None:
    assert canonical_resource(text) == written


def test_what_is_no_amount_is_rejected() -> None:
    with pytest.raises(QuantityError):
        canonical("lots")


def test_a_sum_has_the_form_of_its_first_part() -> None:
    assert total("512Mi", "536870912") == "1Gi"
    assert total("0", "512Mi") == "512Mi"
    assert total("500m", "500m") == "1"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01T01:00:00+01:00", "2026-01-01T00:00:00Z"),
        ("2026-01-01T00:00:00.75Z", "2026-01-01T00:00:00Z"),
        ("yesterday", "yesterday"),
        ("2026-01-01T00:00:00", "2026-01-01T00:00:00"),
    ],
)
def test_times_are_written_in_utc(text: str, written: str) -> None:
    assert canonical_time(text) == written


def test_fine_times_keep_their_microseconds() -> None:
    assert canonical_micro_time("2026-01-01T01:00:00.500000+01:00") == "2026-01-01T00:00:00.500000Z"
    assert canonical_micro_time("2026-01-01T00:00:00.000001Z") == "2026-01-01T00:00:00.000001Z"
