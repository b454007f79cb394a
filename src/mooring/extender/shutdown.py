"""The way of the extender's server from the first signal to its end.

    SIGTERM ──drain──> no new connections ──grace──> functions interrupted, errors ──> hang up, end
    SIGINT, or a second signal ──────────────────────^

Belongs to the event loop. Who is still asking is answered, if only with an error; nobody's body or
reply is waited for beyond the grace time.
"""

import asyncio
import logging
import signal
from collections.abc import Callable
from typing import Final

from mooring.extender.service import ExtenderService
from mooring.http.server import Server

log = logging.getLogger("mooring.extender")

#: All is over so long after SIGTERM, if the drain time lets it: kube-scheduler and people wait.
_STOP_SECONDS: Final = 3.3
#: What is under way has at least so long after the drain time, or after SIGINT.
_GRACE_SECONDS: Final = 0.3
_QUICK_GRACE_SECONDS: Final = 0.3
#: How long a function may take to notice that it is interrupted, and an answer to be sent.
_NOTICE_SECONDS: Final = 0.1


class Shutdown:
    """The way from the first signal to the end.

    Args:
        server: takes no more connections, and ends when the last one is closed.
        service: decides nothing more after that.
        drain: how long requests are still answered after SIGTERM, in seconds.
    """

    def __init__(self, server: Server, service: ExtenderService, drain: float) -> None:
        self._server = server
        self._service = service
        self._drain = drain
        self._timers: list[asyncio.TimerHandle] = []
        #: What the process ends with.
        self.code = 0

    def on_signal(self, number: signal.Signals) -> None:
        """A signal says stop."""
        if self._service.draining:
            self._close(_QUICK_GRACE_SECONDS)
        elif number == signal.SIGINT:
            self.stop(0.0, _QUICK_GRACE_SECONDS)
        else:
            self.stop(self._drain, max(_STOP_SECONDS - self._drain, _GRACE_SECONDS))

    def stop(self, drain: float, grace: float) -> None:
        """Answer new requests for the drain time; what is under way has the grace time then."""
        if self._service.draining:
            return
        self._service.draining = True
        log.info("stopping: requests are answered for another %gs", drain)
        self._at(drain, lambda: self._close(grace))

    def _close(self, grace: float) -> None:
        """Take no more connections; what is under way has so long."""
        for timer in self._timers:
            timer.cancel()
        self._server.should_exit = True
        self._at(grace, self._interrupt)

    # One step after the other, however late each is: answers are sent before we hang up.

    def _interrupt(self) -> None:
        self._service.turns.stop("the server is shutting down")
        self._at(_NOTICE_SECONDS, self._abandon)

    def _abandon(self) -> None:
        self._service.turns.abandon()
        self._at(_NOTICE_SECONDS, self._hang_up)

    def _hang_up(self) -> None:
        for connection in list(self._server.server_state.connections):
            connection.transport.abort()

    def _at(self, seconds: float, call: Callable[[], None]) -> None:
        self._timers.append(asyncio.get_running_loop().call_later(seconds, call))
