"""Schedules of CronJobs; the sentences are those of the real API server."""

import pytest

from mooring.embedded.validation.workloads.cron_schedules import schedule_problem


@pytest.mark.parametrize(
    "schedule",
    [
        "* * * * *",
        "*/5 * * * ?",
        "0,30 9-17/2 1 jan-DEC Mon-fri",
        "59 23 31 12 6",
        "5/10 * * * *",
        "  0   0 * * 0 ",
        "@hourly",
        "@midnight",
        "@every 1h30m",
        "@every 1.5s",
    ],
)
def test_is_understood(schedule: str) -> None:
    assert schedule_problem(schedule) == ""


@pytest.mark.parametrize(
    ("schedule", "problem"),
    [
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* 24 * * *", "end of range (24) above maximum (23): 24"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("* * * 13 *", "end of range (13) above maximum (12): 13"),
        ("* * * * 7", "end of range (7) above maximum (6): 7"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        (
            "*/5* * * * *",
            'failed to parse int from 5*: strconv.Atoi: parsing "5*": invalid syntax',
        ),
        (
            "-5 * * * *",
            'failed to parse int from : strconv.Atoi: parsing "": invalid syntax',
        ),
        ("*/-5 * * * *", "negative number (-5) not allowed: -5"),
        (
            "* * * foo *",
            'failed to parse int from foo: strconv.Atoi: parsing "foo": invalid syntax',
        ),
        ("@often", "unrecognized descriptor: @often"),
        (
            "@every day",
            'failed to parse duration @every day: time: invalid duration "day"',
        ),
    ],
)
def test_is_rejected(schedule: str, problem: str) -> None:
    assert schedule_problem(schedule) == problem
