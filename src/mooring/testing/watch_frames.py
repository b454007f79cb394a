"""Cutting the answer to a watch into its events, without understanding them.

`faulty_forwarding` calls it. A watch in JSON has an event a line, one in Protobuf a length of four
bytes before each event.
"""

from typing import Final

PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
_LENGTH_BYTES: Final = 4
_TYPE: Final = b'{"type":"'


class WatchFrames:
    """Puts the pieces of a stream together to whole events.

    Args:
        content_type: of the answer.
    """

    def __init__(self, content_type: str) -> None:
        self._binary = content_type.startswith(PROTOBUF)
        self._rest = b""

    def feed(self, piece: bytes) -> list[bytes]:
        """The events that are complete now, each with all that belongs to it on the wire."""
        data = self._rest + piece
        frames = []
        while (size := self._size(data)) and size <= len(data):
            frames.append(data[:size])
            data = data[size:]
        self._rest = data
        return frames

    def _size(self, data: bytes) -> int:
        """The size of the first event; 0 if that is not known yet."""
        if not self._binary:
            return data.find(b"\n") + 1
        if len(data) < _LENGTH_BYTES:
            return 0
        return _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES])


def event_type(frame: bytes) -> str:
    """Which type an event says it has; ``?`` if that cannot be seen."""
    if not frame.startswith(_TYPE):
        return "?"
    return frame[len(_TYPE) : frame.index(b'"', len(_TYPE))].decode(errors="replace")
