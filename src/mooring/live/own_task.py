"""Plugins do not see the task that they are asked in: they might cancel it.

The task belongs to the scheduler or to an informer, and its end would be theirs. Called around
everything that asks plugins without waiting; hooks that may wait have a task of their own.
"""

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Any


class HiddenTask:
    """Within it, where nobody may await, `asyncio.current_task` says None.

    asyncio documents both functions for whoever makes tasks of their own.
    """

    __slots__ = ("_task",)

    def __enter__(self) -> None:
        self._task: asyncio.Task[Any] | None = None
        with suppress(RuntimeError):  # no event loop runs: there is nothing to hide
            self._task = asyncio.current_task()
        if self._task is not None:
            asyncio.tasks._leave_task(self._task.get_loop(), self._task)  # noqa: SLF001

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._task is not None:
            asyncio.tasks._enter_task(self._task.get_loop(), self._task)  # noqa: SLF001
