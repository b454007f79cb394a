"""Plugins cannot cancel the task that they are asked in."""

import asyncio

from mooring.live.plugin_work import PluginWork
from mooring.serving.deadline import Deadline


def test_the_task_is_hidden_and_comes_back() -> None:
    async def main() -> None:
        task = asyncio.current_task()
        with PluginWork(Deadline(1.0)):
            assert asyncio.current_task() is None
            made = asyncio.create_task(asyncio.sleep(0, "done"))
        assert asyncio.current_task() is task
        assert await made == "done"

    asyncio.run(main())


def test_it_comes_back_after_an_error() -> None:
    async def main() -> None:
        task = asyncio.current_task()
        try:
            with PluginWork(Deadline(1.0)):
                raise KeyError
        except KeyError:
            assert asyncio.current_task() is task

    asyncio.run(main())


def test_without_an_event_loop_there_is_nothing_to_hide() -> None:
    with PluginWork(Deadline(1.0)):
        pass
