from typing import Any

import pytest

from mooring.live.lifecycle import SchedulerLifecycle


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The exit codes with which a scheduler would have left the process at once."""
    codes: list[int] = []
    made = SchedulerLifecycle.__init__

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **kwargs, exit_now=codes.append)

    monkeypatch.setattr(SchedulerLifecycle, "__init__", init)
    return codes
