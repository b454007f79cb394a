"""Numbers in sentences."""

import pytest

from mooring.wording import counted


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, "0 seconds"), (1, "1 second"), (2, "2 seconds"), (1.0, "1 second"),
        (0.05, "0.05 seconds"), (3.98765, "3.988 seconds"), (3600.0, "3600 seconds"),
        (86400.0, "86400 seconds"), (1_000_000, "1000000 seconds"),
    ],
)  # fmt: skip
def test_counted(number: float, said: str) -> None:
    assert counted(number, "second") == said
