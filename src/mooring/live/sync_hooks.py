"""Running hooks of plugins that do not wait; the loop and `change_intake` use it.

Their time begins anew with each block, and they do not see the task that they are asked in: it
belongs to the scheduler or to an informer, and a plugin that cancels it would end them. Hooks that
may wait have a task of their own; see `async_hooks`.
"""

import asyncio
from typing import Any

from mooring.process.deadline import Deadline


class SyncHooks:
    """A block in which plugins are asked, again and again; nobody may await in it.

    asyncio documents `_leave_task` and `_enter_task` for whoever makes tasks of their own.

    Args:
        deadline: for all plugins together.
        what: what is done in the block, in sentences.
    """

    __slots__ = ("_deadline", "_tasks", "_what")

    def __init__(self, deadline: Deadline, what: str = "the decision") -> None:
        self._deadline = deadline
        self._what = what
        self._tasks: list[asyncio.Task[Any] | None] = []

    def __enter__(self) -> None:
        self._deadline.begin(what=self._what)
        try:
            task = asyncio.current_task()
        except RuntimeError:  # no event loop runs: there is nothing to hide
            task = None
        self._tasks.append(task)
        if task is not None:
            asyncio.tasks._leave_task(task.get_loop(), task)  # noqa: SLF001

    def begin(self) -> None:
        """Another piece of work begins in the same block; its time begins anew."""
        self._deadline.begin(what=self._what)

    def __exit__(self, *_: object) -> None:
        task = self._tasks.pop()
        if task is not None:
            asyncio.tasks._enter_task(task.get_loop(), task)  # noqa: SLF001
