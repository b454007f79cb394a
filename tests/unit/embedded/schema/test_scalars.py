import pytest

from mooring.embedded.schema.scalars import (
    QUANTITY_FORM,
    base64_problem,
    quantity_problem,
    time_problem,
)


@pytest.mark.parametrize("value", ["1", "100m", "1.5Gi", "1e3", "1E-3", " 2 ", "+1", ".5", 3, 0.25])
def test_quantities(value: object) -> None:
    assert quantity_problem(value) == ""


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("", QUANTITY_FORM),
        ("a lot", QUANTITY_FORM),
        ("1 Gi", QUANTITY_FORM),
        ("1,5", QUANTITY_FORM),
        ("10GB", QUANTITY_FORM),
        (True, QUANTITY_FORM),
        ([], QUANTITY_FORM),
        ("1mm", "unable to parse quantity's suffix"),
        ("1KI", QUANTITY_FORM),
        ("1K", "unable to parse quantity's suffix"),
    ],
)
def test_what_is_no_quantity(value: object, problem: str) -> None:
    assert quantity_problem(value) == problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("2026-01-31T00:00:00Z", ""),
        ("2024-02-29T00:00:00Z", ""),
        (
            "",
            'parsing time "" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"',
        ),
        (
            "2026-01-31",
            'parsing time "2026-01-31" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"',
        ),
        ("2025-02-29T00:00:00Z", 'parsing time "2025-02-29T00:00:00Z": day out of range'),
        ("1900-02-29T00:00:00Z", 'parsing time "1900-02-29T00:00:00Z": day out of range'),
        ("2026-04-31T00:00:00Z", 'parsing time "2026-04-31T00:00:00Z": day out of range'),
        ("2026-00-01T00:00:00Z", 'parsing time "2026-00-01T00:00:00Z": month out of range'),
        ("2026-01-01T00:60:00Z", 'parsing time "2026-01-01T00:60:00Z": minute out of range'),
        (
            "2026-01-01T00:00:00Z!",
            'parsing time "2026-01-01T00:00:00Z!": extra text: "!"',
        ),
    ],
)
def test_times(text: str, problem: str) -> None:
    assert time_problem(text) == problem


def test_times_with_microseconds() -> None:
    assert time_problem("2026-01-31T00:00:00.123456Z", micro=True) == ""
    assert time_problem("2026-01-31T00:00:00Z", micro=True) == (
        'parsing time "2026-01-31T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": '
        'cannot parse "Z" as ".000000"'
    )


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("", None),
        ("YWJj", None),
        ("YQ==", None),
        ("YWI=\n", None),
        ("YQ=\n=", None),
        ("Y", 0),
        ("YWJjYQ", 4),
        ("YW-j", 2),
        ("Y===", 1),
        ("YQ=", 3),
        ("YQ=a", 2),
        ("YWI=YWI=", 4),
    ],
)
def test_base64(text: str, at: int | None) -> None:
    expected = "" if at is None else f"illegal base64 data at input byte {at}"
    assert base64_problem(text) == expected
