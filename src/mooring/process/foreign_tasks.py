"""Foreign tasks and callbacks beside our own on one event loop; used by ``moor run``.

A hook crosses the border of `framework.foreign`, but what it leaves on the event loop does not.
asyncio lets a `SystemExit` in any task or callback end the loop, and with it the process, with
bindings under way and the Lease held. So the loop is run again until our own work is done.
"""

import asyncio
import logging
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, TypeVar

from mooring.framework import foreign

log = logging.getLogger("mooring.process")
T = TypeVar("T")


def run_to_end(runner: asyncio.Runner, work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, whatever others do to the event loop; what it returns.

    Raises:
        BaseException: what the coroutine raised; `KeyboardInterrupt` for a signal.
    """
    task: asyncio.Task[T] | None = None

    async def wait() -> None:
        """Wait without taking the result: whoever waited before may be waiting still."""
        nonlocal task
        task = task if task is not None else asyncio.create_task(work)
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:  # Ctrl-C
            task.cancel()
            await asyncio.wait({task})
            raise

    while task is None or not task.done():
        try:
            runner.run(wait())
        except (SystemExit, KeyboardInterrupt) as error:
            if _raised(task) is error or _is_signal(error.__traceback__):
                raise
            told = foreign.tell(error)
            log.error(  # noqa: TRY400 - the error itself may be foreign
                ("a task or callback of a plugin or a policy tried to end the process (%s); it "
                "continues"), told.text, exc_info=told.error,
            )  # fmt: skip
        except RuntimeError:
            if runner.get_loop().is_closed():
                raise
            log.error("a plugin or a policy stopped the event loop; it continues")  # noqa: TRY400
    return task.result()


def _raised(task: "asyncio.Task[Any] | None") -> BaseException | None:
    if task is None or not task.done() or task.cancelled():
        return None
    return task.exception()


def _is_signal(traceback: TracebackType | None) -> bool:
    """Whether `asyncio.Runner` raised it, who has the handler of SIGINT."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    innermost = traceback.tb_frame.f_globals if traceback is not None else {}
    return innermost.get("__name__") == asyncio.Runner.__module__
