"""The one thread on which a policy decides.

Used by `Service` as an executor of its event loop. Unlike a `ThreadPoolExecutor`'s, the thread does
not keep the process alive: a policy's function that never returns cannot hold up the exit.
"""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class DecisionThread(Executor):
    """Runs one call after the other, in the order they came."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        Thread(target=self._run, name="decide", daemon=True).start()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call a function on the thread, after all that was submitted before."""
        future: Future[T] = Future()
        self._calls.put(partial(_call, future, partial(fn, *args, **kwargs)))
        return future

    def shutdown(self, wait: bool = False, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        """Let the thread end after what was submitted; it is not waited for."""
        self._calls.put(None)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            call()
            del call  # and with it the request's bytes


def _call(future: Future[Any], function: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = function()
    except BaseException as error:  # noqa: BLE001 - it is raised where the result is awaited
        future.set_exception(error)
    else:
        future.set_result(result)
    finally:
        del future  # an error would keep it alive through its traceback
