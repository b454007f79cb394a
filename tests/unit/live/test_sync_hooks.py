"""Plugins have time of their own, and cannot cancel the task that they are asked in."""

import asyncio

import pytest

from mooring.live.sync_hooks import SyncHooks
from mooring.process.deadline import Deadline


class CountingDeadline(Deadline):
    """Counts how often it begins anew."""

    def __init__(self) -> None:
        super().__init__(1.0)
        self.begun = 0

    def begin(self, seconds: float | None = None, what: str = "the decision") -> None:
        self.begun += 1
        super().begin(seconds, what)


@pytest.fixture
def deadline() -> CountingDeadline:
    return CountingDeadline()


def test_the_task_is_hidden_and_comes_back(deadline: Deadline) -> None:
    async def main() -> None:
        task = asyncio.current_task()
        with SyncHooks(deadline):
            assert asyncio.current_task() is None
            made = asyncio.create_task(asyncio.sleep(0, "done"))
        assert asyncio.current_task() is task
        assert await made == "done"

    asyncio.run(main())


def test_it_comes_back_after_an_error(deadline: Deadline) -> None:
    async def main() -> None:
        task = asyncio.current_task()
        with pytest.raises(KeyError), SyncHooks(deadline):
            raise KeyError
        assert asyncio.current_task() is task

    asyncio.run(main())


def test_work_inside_work_hides_it_until_the_end(deadline: Deadline) -> None:
    async def main() -> None:
        task, work = asyncio.current_task(), SyncHooks(deadline)
        with work:
            with work:
                assert asyncio.current_task() is None
            assert asyncio.current_task() is None
        assert asyncio.current_task() is task

    asyncio.run(main())


def test_the_time_of_the_plugins_begins_anew_each_time(deadline: CountingDeadline) -> None:
    """There need be no event loop."""
    work = SyncHooks(deadline)
    for count in (1, 2):
        with work:
            assert deadline.begun == count
