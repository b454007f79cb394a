"""How much a server takes in at once: connections, and bytes of bodies and replies.

One `LoadLimits` belongs to one server process and lives on its event loop. `limited_connections`
opens a `RequestMemory` for each request and adds what arrives; whoever holds the request's bytes on
(the application, a decision that cannot be taken back) keeps a hold on it, and the bytes are given
back with the last one. Never rejects anything itself: it says yes or no.

    headers ──> RequestMemory ──add──> bytes counted ──> held by application, decision, reply
                                                            └── last hold released ──> given back
"""

from collections.abc import Callable
from typing import Protocol


class Connection(Protocol):
    """What can be closed to make room."""

    def make_room(self) -> None:
        """Close: another connection needs the place."""


class LoadLimits:
    """What is there, and how much may be.

    Args:
        max_bytes: of bodies and replies at once.
        max_connections: open at once.
    """

    def __init__(self, max_bytes: int, max_connections: int = 1000) -> None:
        self.max_bytes = max_bytes
        self.max_connections = max_connections
        #: Bytes of bodies and replies that are in memory now.
        self.bytes = 0
        #: The most bytes there have been at once.
        self.peak_bytes = 0
        #: Connections that are open now.
        self.connections = 0
        #: Connections that were closed to make room for others.
        self.displaced = 0
        #: Connections that were closed at once: all others wait for their answers.
        self.turned_away = 0
        # Those that never asked anything, those that were answered, and those whose body has not
        # come yet, each in the order in which they began to wait for their clients; the first has
        # waited longest.
        self._strangers: dict[Connection, None] = {}
        self._idle: dict[Connection, None] = {}
        self._sending: dict[Connection, None] = {}

    def open(self) -> "RequestMemory":
        """A request begins."""
        return RequestMemory(self)

    def connected(self, connection: Connection) -> None:
        """A client connected. If there are too many, the one that made us wait longest is closed.

        Those that never asked anything go first: who was answered will ask again. Those that send a
        body go last, but they do go: sending slowly must not keep everybody else out. If all wait
        for their answers, it is the new one that is closed.
        """
        self.connections += 1
        full = self.connections > self.max_connections
        waited_for = (self._strangers, self._idle, self._sending)
        longest = next((one for some in waited_for for one in some), connection)
        self._strangers[connection] = None
        if not full:
            return
        self._forget(longest)
        if longest is connection:
            self.turned_away += 1
        else:
            self.displaced += 1
        longest.make_room()

    def disconnected(self, connection: Connection) -> None:
        """A client is gone."""
        self.connections -= 1
        self._forget(connection)

    def waits_for_client(self, connection: Connection) -> None:
        """Nothing is being done for this connection: it may be closed to make room."""
        self._forget(connection)
        self._idle[connection] = None

    def waits_for_body(self, connection: Connection) -> None:
        """A request has begun, and its body is to come: it may be closed if nobody is idle."""
        self._forget(connection)
        self._sending[connection] = None

    def waits_for_us(self, connection: Connection) -> None:
        """A request is complete and wants its answer: the connection is not closed."""
        self._forget(connection)

    def _forget(self, connection: Connection) -> None:
        self._strangers.pop(connection, None)
        self._idle.pop(connection, None)
        self._sending.pop(connection, None)


class RequestMemory:
    """The bytes of one request and its reply; made by `LoadLimits.open` with one hold on them."""

    __slots__ = (
        "_holds",
        "_load_limits",
        "_on_gone",
        "beside",
        "gone",
        "rejected",
        "size",
        "wanted",
    )

    def __init__(self, load_limits: LoadLimits) -> None:
        self._load_limits = load_limits
        self._holds = 1
        self._on_gone: Callable[[], None] | None = None
        self.size = 0
        #: Whether there was no room for it.
        self.rejected = False
        #: How many bytes it was to have when it was rejected, and how many others had then.
        self.wanted = self.beside = 0
        #: Whether the caller has hung up.
        self.gone = False

    def fits(self, size: int) -> bool:
        """Whether so many more bytes would find room now; if not, the request is rejected."""
        load_limits = self._load_limits
        if load_limits.bytes + size > load_limits.max_bytes and not self.rejected:
            self.rejected = True
            self.wanted, self.beside = self.size + size, load_limits.bytes - self.size
        return not self.rejected

    def add(self, size: int) -> None:
        """So many more bytes are there; over the limit, too, for they are in memory already."""
        self.size += size
        load_limits = self._load_limits
        load_limits.bytes += size
        load_limits.peak_bytes = max(load_limits.peak_bytes, load_limits.bytes)

    def hold(self) -> None:
        """Another one keeps the bytes."""
        self._holds += 1

    def release(self) -> None:
        """One of those who kept the bytes has let them go."""
        self._holds -= 1
        if self._holds == 0:
            self.discard()

    def discard(self) -> None:
        """The bytes are gone, whoever held them."""
        self._load_limits.bytes -= self.size
        self.size = 0

    def when_gone(self, call: Callable[[], None] | None) -> None:
        """Call this once when the caller hangs up; None to call nobody."""
        self._on_gone = call

    def hang_up(self) -> None:
        """The caller has hung up."""
        self.gone = True
        call, self._on_gone = self._on_gone, None
        if call is not None:
            call()
