"""The one thread on which a policy decides: calls, made one after the other in the order they came.

``moor serve`` decides on its main thread, the only one that signals of the operating system reach:
there a function that does not return can be interrupted (`process`). Elsewhere `DecisionThread`
decides; it does not keep the process alive, so a function that never returns cannot hold up the
exit. A call reports what came of it in its own way (`decision_turns`) and must not raise.
"""

import logging
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread, get_ident

log = logging.getLogger("mooring.extender")


class DecisionQueue:
    """Calls that wait for the thread that makes them, whichever calls `run`."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        #: The thread that decides; None before it does.
        self.thread_id: int | None = None

    def put(self, call: Callable[[], None]) -> None:
        """Make a call after all that were put before."""
        self._calls.put(call)

    def stop(self) -> None:
        """Let `run` end after what was put before; it is not waited for."""
        self._calls.put(None)

    def run(self) -> None:
        """Make the calls on this thread until `stop`."""
        self.thread_id = get_ident()
        while (call := self._calls.get()) is not None:
            try:
                call()
            except Exception:
                log.exception("a decision failed: internal error")
            del call  # and with it the request's bytes


class DecisionThread(DecisionQueue):
    """Decides on a thread of its own, from the beginning."""

    def __init__(self) -> None:
        super().__init__()
        Thread(target=self.run, name="decide", daemon=True).start()
