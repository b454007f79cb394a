"""Durations as Go writes them."""

import pytest

from mooring.errors import InputError
from mooring.model.duration import Duration

SECOND = 10**9


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("15s", 15 * SECOND),
        ("1m30s", 90 * SECOND),
        ("1h2m3.5s", 3723_500_000_000),
        ("100ms", 100_000_000),
        ("1.5h", 5400 * SECOND),
        ("0", 0),
        ("-0", 0),
        ("+3s", 3 * SECOND),
        ("-1s", -SECOND),
        (".5s", SECOND // 2),
        ("1.s", SECOND),
        ("1us", 1000),
        ("1µs", 1000),
        ("1μs", 1000),
        ("7ns", 7),
        ("0.9ns", 0),
        ("9223372036854775807ns", 2**63 - 1),
    ],
)
def test_reading(text: str, nanoseconds: int) -> None:
    assert Duration.parse(text).nanoseconds == nanoseconds


@pytest.mark.parametrize(
    "text",
    [
        "", "5", "s", ".s", "5 s", " 5s", "5s ", "1d", "1m-2s", "--1s", "1e3s", "٣s", "5S",
        "9223372036854775808ns", "9999999999h", "1s" * 200,
    ],
)  # fmt: skip
def test_no_duration(text: str) -> None:
    with pytest.raises(InputError, match="is not a valid duration: use for example 15s"):
        Duration.parse(text)


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1100, "1.1µs"),
        (2_200_000, "2.2ms"),
        (3_300_000_000, "3.3s"),
        (4 * 60 * SECOND + 5 * SECOND, "4m5s"),
        (4 * 60 * SECOND + SECOND // 1000, "4m0.001s"),
        (5 * 3600 * SECOND + 6 * 60 * SECOND + 7_001_000_000, "5h6m7.001s"),
        (600 * SECOND, "10m0s"),
        (-90 * SECOND, "-1m30s"),
        (2**63 - 1, "2562047h47m16.854775807s"),
    ],
)
def test_printing_as_go_does(nanoseconds: int, text: str) -> None:
    assert str(Duration(nanoseconds)) == text
    assert Duration.parse(text) == Duration(nanoseconds)


def test_comparing() -> None:
    assert Duration.parse("60s") == Duration.parse("1m")
    assert hash(Duration.parse("60s")) == hash(Duration.parse("1m"))
    assert Duration.parse("59s") < Duration.parse("1m") <= Duration.parse("1m")
    assert Duration.of_seconds(2).seconds == 2.0
    assert Duration(1)
    assert not Duration(0)
    assert Duration(SECOND) != SECOND
    assert repr(Duration(SECOND)) == "Duration('1s')"
