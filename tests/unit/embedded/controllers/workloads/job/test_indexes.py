"""The indexes of an Indexed Job as text."""

import pytest

from mooring.embedded.controllers.workloads.job.indexes import read_indexes, write_indexes


@pytest.mark.parametrize(
    ("text", "indexes"),
    [
        ("", []),
        ("0", [0]),
        ("0,1", [0, 1]),
        ("0-2,5", [0, 1, 2, 5]),
        ("1,3-5,7,8", [1, 3, 4, 5, 7, 8]),
    ],
)
def test_indexes_are_written_in_ranges(text: str, indexes: list[int]) -> None:
    assert write_indexes(indexes) == text
    assert read_indexes(text, 100) == set(indexes)
