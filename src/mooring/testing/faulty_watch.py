"""The events of one watch on their way to a client, with the faults they meet.

`faulty_forwarding` makes one `FaultyWatch` for each watch and sends what it gives. Whatever it does
to the order and the number of events, an event it sends is whole unless it is cut.
"""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from mooring.testing.fault_script import Strike
from mooring.testing.watch_frames import WatchFrames, event_type


class WatchStep(NamedTuple):
    """What to do next with a watch.

    Attributes:
        send: these bytes.
        wait: first wait so many seconds.
        end: then end the watch: ``cut``, ``silent`` or ``ended``; empty to go on.
    """

    send: bytes
    wait: float = 0.0
    end: str = ""


class FaultyWatch:
    """Turns what the API server sends into what the client gets.

    Args:
        content_type: of the answer.
        decide: the fault that an event of a type meets; None for none.
    """

    def __init__(self, content_type: str, decide: Callable[[str], Strike | None]) -> None:
        self._frames = WatchFrames(content_type)
        self._decide = decide
        self._held: bytes | None = None
        self._again: deque[tuple[int, bytes]] = deque()
        self._count = 0

    def feed(self, piece: bytes) -> list[WatchStep]:
        """The next steps, after some more bytes of the API server; the last may be an end."""
        steps: list[WatchStep] = []
        for frame in self._frames.feed(piece):
            steps.append(self._event(frame))
            if steps[-1].end:
                break
        return steps

    def finish(self) -> bytes:
        """What is left to send when the API server has ended the watch."""
        held, self._held = self._held, None
        return held or b""

    @property
    def holds(self) -> bool:
        """Whether an event waits for the one that follows it."""
        return self._held is not None

    def _event(self, frame: bytes) -> WatchStep:
        self._count += 1
        strike = self._decide(event_type(frame))
        kind = strike.fault.kind if strike is not None else ""
        if strike is None or kind == "delay":
            return WatchStep(
                self._with_others(frame), strike.seconds if strike is not None else 0.0
            )
        if kind == "drop":
            return WatchStep(b"", end="silent")
        if kind == "cut":
            return WatchStep(b"" if strike.fault.lost else frame, end="cut")
        if kind == "refuse":
            status = strike.fault.status
            return WatchStep(
                error_event(status) if status else b"", end="ended" if status else "cut"
            )
        if kind == "duplicate":
            if strike.fault.later:
                self._again.append((self._count + strike.fault.later, frame))
                return WatchStep(self._with_others(frame))
            return WatchStep(self._with_others(frame) + frame)
        if self._held is not None:  # two in a row cannot both follow the other
            return WatchStep(self._with_others(frame))
        self._held = frame
        return WatchStep(b"")

    def _with_others(self, frame: bytes) -> bytes:
        """An event, with those behind it that are sent later than they came."""
        sent = frame + self.finish()
        while self._again and self._again[0][0] <= self._count:
            sent += self._again.popleft()[1]
        return sent


def error_event(status: int) -> bytes:
    """The event with which the API server ends a watch, in JSON."""
    return msgspec.json.encode({"type": "ERROR", "object": status_object(status)}) + b"\n"


def status_object(status: int) -> dict[str, object]:
    """A Status that says what was refused, as the API server answers."""
    reasons = {
        404: "NotFound",
        409: "Conflict",
        410: "Expired",
        429: "TooManyRequests",
        500: "InternalError",
        503: "ServiceUnavailable",
        504: "Timeout",
    }
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"the proxy refuses this with {status}",
        "reason": reasons.get(status, "Unknown"),
        "code": status,
    }
