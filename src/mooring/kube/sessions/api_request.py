"""What is asked of an API server, and what comes back, whatever transport carries it.

`client` makes requests, `session` sends them over one of two transports; values only.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote, urlencode

import msgspec

Params = Mapping[str, str | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLimits:
    """How long and how much a client waits for.

    Attributes:
        request_seconds: for a whole request, with waiting for a free connection and with the
            pauses a busy API server asks for; of a stream, until it begins.
        connect_seconds: for a new connection.
        stream_read_seconds: for the next bytes of a stream; whoever reads it may give it up sooner.
        connections: at most so many at a time, streams included; half of them are for POST and
            PATCH.
    """

    request_seconds: float = 30.0
    connect_seconds: float = 10.0
    stream_read_seconds: float = 240.0
    connections: int = 100


DEFAULT_LIMITS = ClientLimits()


class ApiRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One request to send.

    Attributes:
        path: already quoted.
        params: the query, not quoted yet.
        content: the body; None for none.
        seconds: another time limit than usual for the whole answer.
    """

    method: str
    path: str
    params: Params | None = None
    content: bytes | None = None
    content_type: str = ""
    seconds: float | None = None

    @property
    def path_and_query(self) -> str:
        """Both as they are sent."""
        if not self.params:
            return self.path
        return f"{self.path}?{urlencode(self.params, quote_via=quote)}"


class AnswerStream(Protocol):
    """An answer that is read while it arrives; an `ApiStream`, or the same of another transport.

    Attributes:
        status: the HTTP status.
        headers: by name, in lower case.
    """

    status: int
    headers: Mapping[str, str]

    async def read(self, seconds: float) -> bytes:
        """What has arrived, or comes next; empty at the end and after a silence of so long."""
