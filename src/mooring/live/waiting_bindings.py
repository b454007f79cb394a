"""Bindings that wait for something else than the API server, such as a plan or a plugin.

They hold no request and nothing half-written, so they count as no work of the loop, and a scheduler
that stops breaks them off at once: the pods are tried again by whoever schedules next. Kept by the
loop; `AsyncHooks` and `PlanExecutor` say when they wait.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class WaitingBindings:
    """The tasks that wait at this moment."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._cancelled = False

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """The current task waits inside this block.

        Raises:
            asyncio.CancelledError: the scheduler stops.
        """
        task = asyncio.current_task()
        if task is None or self._cancelled:
            raise asyncio.CancelledError
        self._tasks.add(task)
        try:
            yield
        finally:
            self._tasks.discard(task)

    def cancel_all(self) -> None:
        """Cancel all that wait now, and whoever begins to wait later."""
        self._cancelled = True
        for task in list(self._tasks):
            task.cancel()
