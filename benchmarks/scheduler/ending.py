"""Ends tasks that would go on for ever; called by `measuring` and `updates`."""

import asyncio
from contextlib import suppress


async def end(task: asyncio.Task[None]) -> None:
    """End a task; what it failed with is raised."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
