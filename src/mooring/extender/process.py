"""``moor serve`` as a process: the main thread decides, a second thread serves, signals reach both.

Python handles signals on the main thread, and only there can a timer interrupt code that blocks.
So policies run there; the event loop, which must go on whatever a policy does, has a thread of its
own. It hears of signals through a socket, which Python writes to even while the main thread is
stuck outside of Python.

    main thread    DecisionQueue.run ──> policy    <── SIGALRM: Deadline interrupts the policy
    serve thread   uvloop: HTTP, informers, time   <── socket: SIGTERM, SIGINT

A function that cannot be interrupted is left behind at the end: the process ends without it.
"""

import asyncio
import contextlib
import logging
import signal
import socket
import threading
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any, Final

import uvloop

from mooring.extender.decision_thread import DecisionQueue
from mooring.extender.in_progress import in_progress
from mooring.log_kinds import report_left_out
from mooring.process.deadline import Deadline
from mooring.process.exiting import exit_now

log = logging.getLogger("mooring.extender")

STOPS: Final = (signal.SIGTERM, signal.SIGINT)
#: How long the main thread may take to notice that all is over.
_LEAVE_SECONDS: Final = 0.3


class SignalSocket:
    """Where signals are heard of on another thread than the main one; made on the main thread."""

    def __init__(self) -> None:
        self._hears, self._tells = socket.socketpair()
        for end in (self._hears, self._tells):
            end.setblocking(False)
        self._before: list[Any] = []
        self._wakeup = -1

    def __enter__(self) -> "SignalSocket":
        # The handlers do nothing, but without them a signal would have its default effect.
        self._before = [signal.signal(number, _ignore) for number in STOPS]
        self._wakeup = signal.set_wakeup_fd(self._tells.fileno(), warn_on_full_buffer=False)
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in zip(STOPS, self._before, strict=True):
            signal.signal(number, handler)
        self._hears.close()
        self._tells.close()

    def listen(self, call: Callable[[signal.Signals], None]) -> None:
        """Call this on the running event loop for each signal that says stop."""

        def heard() -> None:
            with contextlib.suppress(BlockingIOError):
                for number in self._hears.recv(4096):
                    if number in STOPS:
                        call(signal.Signals(number))

        asyncio.get_running_loop().add_reader(self._hears, heard)


def _ignore(number: int, frame: FrameType | None) -> None:
    """Python has written to the socket."""


class ServeResult:
    """What came of serving."""

    code: int = 0
    error: BaseException | None = None


Main = Callable[[DecisionQueue, Deadline, SignalSocket], Coroutine[Any, Any, int]]


def decide_and_serve(main: Main, function_seconds: float) -> int:
    """Decide on this thread, the main one, while `main` serves on another; the exit code.

    Args:
        main: serves until it has to stop; returns the exit code.
        function_seconds: how long a policy's functions may take for one request.
    """
    decisions, result, left = DecisionQueue(), ServeResult(), threading.Event()
    with Deadline(function_seconds) as deadline, SignalSocket() as signals:

        def serve() -> None:
            # Signals are for the main thread: one that another thread takes interrupts nobody.
            signal.pthread_sigmask(signal.SIG_BLOCK, (*STOPS, signal.SIGALRM))
            try:
                with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                    result.code = runner.run(main(decisions, deadline, signals))
            except BaseException as error:  # noqa: BLE001 - raised on the main thread
                result.error = error
            # Only now may the main thread go: it reads the result, and no longer takes SIGALRM.
            deadline.expire("the server is shutting down")
            decisions.stop()
            if not left.wait(_LEAVE_SECONDS):
                _leave_behind(decisions, result)

        serving = threading.Thread(target=serve, name="serve", daemon=True)
        serving.start()
        decisions.run()
        left.set()
        serving.join()
    if result.error is not None:
        raise result.error
    report_left_out(everything=True)
    log.info("stopped")
    return result.code


def _leave_behind(decisions: DecisionQueue, result: ServeResult) -> None:
    found = in_progress(decisions.thread_id)
    what = f"{found}{found.where}" if found is not None else "a decision"
    if result.error is not None:
        log.error("the server failed", exc_info=result.error)
    log.warning("%s cannot be interrupted: exiting without waiting for it", what)
    if result.error is None:
        report_left_out(everything=True)
        log.info("stopped")
    exit_now(result.code if result.error is None else 1)
