"""The times of a Lease, and the identities of those who want it."""

import re

import pytest

from mooring.errors import InputError
from mooring.kube.lease import LeaseSettings, make_identity


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"lease_seconds": 10.0}, "leaseDuration is 10s; it must be greater"),
        (
            {"lease_seconds": 10.9, "renew_seconds": 10.5},
            ("leaseDuration is 10s; it must be greater"),
        ),
        ({"renew_seconds": 2.4}, "renewDeadline is 2.4s; it must be greater than 1.2 times"),
        ({"retry_seconds": 0.0}, "retryPeriod is 0s"),
    ],
)
def test_times_that_cannot_work_are_rejected(wrong: dict[str, float], words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        LeaseSettings(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("lease", [3.0, 15.0, 60.0])
@pytest.mark.parametrize("renew_part", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("retry_part", [0.1, 0.5, 0.8])
def test_a_leader_always_ends_before_others_begin(
    lease: float, renew_part: float, retry_part: float
) -> None:
    made = LeaseSettings(
        lease_seconds=lease,
        renew_seconds=lease * renew_part,
        retry_seconds=lease * renew_part * retry_part,
    )
    assert made.renew_seconds < made.hold_seconds < made.stored_seconds


def test_identities_are_the_hosts_name_and_something_unique() -> None:
    first, second = make_identity(), make_identity()
    assert first != second
    assert re.fullmatch(r".+_[0-9a-f-]{36}", first)
