"""Connections that make room for others."""

import pytest

from mooring.serving.admission import Admission
from mooring.serving.admitted import connections


class Transport:
    """Takes note of how it is closed."""

    def __init__(self, unread: int) -> None:
        self.unread = unread
        self.calls: list[str] = []

    def get_write_buffer_size(self) -> int:
        return self.unread

    def abort(self) -> None:
        self.calls.append("abort")

    def close(self) -> None:
        self.calls.append("close")


@pytest.mark.parametrize(("unread", "call"), [(0, "close"), (1, "abort")])
def test_a_client_that_does_not_read_is_not_waited_for(unread: int, call: str) -> None:
    kind = connections(Admission(100), max_body=100, reply_seconds=1.0)
    connection = kind.__new__(kind)
    connection.transport = transport = Transport(unread)  # type: ignore[assignment]
    connection.make_room()
    assert transport.calls == [call]
