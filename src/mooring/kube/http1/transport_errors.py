"""What goes wrong on a connection, below HTTP; raised by `pool` and `connection`.

    TransportError ─┬─ NotConnected     nothing was sent
                    │   └─ ProxyUnreachable
                    ├─ ServerClosed     nothing was answered
                    ├─ Truncated        the answer began and did not end
                    ├─ InvalidResponse  the answer is not HTTP, or far too long
                    └─ ProxyAnswered    a proxy said no

Those of proxies are raised by `aiohttp_session` alone.

`status` turns them into sentences. A time that is over is a `TimeoutError`, as everywhere.
"""


class TransportError(Exception):
    """The base of all of them."""


class NotConnected(TransportError):  # noqa: N818 - reads as what happened
    """No connection could be made, so the request was not sent.

    Attributes:
        os_error: why.
    """

    def __init__(self, os_error: OSError) -> None:
        super().__init__(str(os_error))
        self.os_error = os_error


class ProxyUnreachable(NotConnected):
    """No connection to the proxy could be made."""


class ServerClosed(TransportError):  # noqa: N818
    """The server closed the connection before it answered."""


class Truncated(TransportError):  # noqa: N818
    """The connection ended in the middle of an answer."""


class InvalidResponse(TransportError):  # noqa: N818
    """The server sent something that is not HTTP, or more than any answer has."""


class ProxyAnswered(TransportError):  # noqa: N818
    """The proxy answered instead of the server.

    Attributes:
        status: the HTTP status.
    """

    def __init__(self, status: int) -> None:
        super().__init__(f"the proxy answered {status}")
        self.status = status
