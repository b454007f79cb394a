"""A piece of work in which plugins are asked, and nobody waits.

Their time begins anew, and they do not see the task that they are asked in: it belongs to the
scheduler or to an informer, and a plugin that cancels it would end them. Hooks that may wait have a
task of their own; see `bind_hooks`.
"""

import asyncio
from contextlib import suppress
from typing import Any

from mooring.serving.deadline import Deadline


class PluginWork:
    """Such a piece of work, again and again; a context manager in which nobody may await.

    asyncio documents `_leave_task` and `_enter_task` for whoever makes tasks of their own.

    Args:
        deadline: for all plugins together.
    """

    __slots__ = ("_deadline", "_tasks")

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._tasks: list[asyncio.Task[Any] | None] = []

    def __enter__(self) -> None:
        self._deadline.begin()
        task = None
        with suppress(RuntimeError):  # no event loop runs: there is nothing to hide
            task = asyncio.current_task()
        self._tasks.append(task)
        if task is not None:
            asyncio.tasks._leave_task(task.get_loop(), task)  # noqa: SLF001

    def __exit__(self, *_: object) -> None:
        task = self._tasks.pop()
        if task is not None:
            asyncio.tasks._enter_task(task.get_loop(), task)  # noqa: SLF001
