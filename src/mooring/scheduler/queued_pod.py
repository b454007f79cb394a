"""A pod in the scheduling queue: what the queue remembers of it between attempts.

Made by `Queue`; read by the core for events and metrics. Only the queue changes it.
"""

import enum
import functools
import math
from collections.abc import Collection
from typing import Final

from mooring.model.pod import Pod

#: A plugin of a profile: scheduler name, plugin name.
RejectorPlugin = tuple[str, str]
#: Before every time: the pod has no backoff.
LONG_AGO: Final = -math.inf
_NOBODY: Final[frozenset[str]] = frozenset()


class SubQueue(enum.Enum):
    """Where a pod is; see the drawing in `mooring.scheduler.queue`."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    #: In backoff as well, but because something failed and not because a plugin rejected.
    ERROR_BACKOFF = "error backoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    IN_FLIGHT = "in flight"
    #: In none of them.
    OUT = "out"


# As names of the module: reading a member of an enum takes longer than all that is done with it.
ACTIVE: Final = SubQueue.ACTIVE
BACKOFF: Final = SubQueue.BACKOFF
ERROR_BACKOFF: Final = SubQueue.ERROR_BACKOFF
UNSCHEDULABLE: Final = SubQueue.UNSCHEDULABLE
GATED: Final = SubQueue.GATED
IN_FLIGHT: Final = SubQueue.IN_FLIGHT
OUT: Final = SubQueue.OUT


class QueuedPod:
    """A pod of the queue, waiting or being decided; equal only to itself.

    Attributes:
        key: the pod's namespace and name.
        pod: the pod as last seen, also while it is in flight.
        profile: the scheduler name whose plugins decide.
        sub_queue: where it is.
        since: when it was added or put back after an attempt.
        first_tried: when it was ready for its first attempt; None if it never was.
        attempts: how often it was taken out of the queue to be decided.
        rejections: how many attempts ended because plugins rejected.
        errors: how many of the last attempts, one after the other, ended because something failed.
        unschedulable_plugins: who rejected it in the last attempt, or gates it; an event must help
            one of them.
        gate: the PreEnqueue plugin that keeps it out of the active queue; empty if none does.
        backoff_until: the second in which its backoff ends.
        rejectors: while it waits for an event, the plugins that one must concern.
        flushed: whether it was last requeued by time alone and not by an event.
        flushed_at: when that was.
    """

    __slots__ = (
        "attempts", "backoff_until", "errors", "first_tried", "flushed", "flushed_at", "gate",
        "key", "pod", "profile", "rejections", "rejectors", "since",
        "sub_queue", "unschedulable_plugins",
    )  # fmt: skip

    def __init__(self, pod: Pod, now: float) -> None:
        self.key = pod.key
        self.pod = pod
        self.profile = pod.scheduler_name
        self.sub_queue: SubQueue = OUT
        self.since = now
        self.first_tried: float | None = None
        self.attempts = 0
        self.rejections = 0
        self.errors = 0
        self.unschedulable_plugins = _NOBODY
        self.gate = ""
        self.rejectors: tuple[RejectorPlugin, ...] = ()
        self.backoff_until = LONG_AGO
        self.flushed = False
        self.flushed_at = LONG_AGO

    @property
    def waits_for_event(self) -> bool:
        """Whether it waits for a cluster event."""
        return self.sub_queue is UNSCHEDULABLE or self.sub_queue is GATED

    def is_for(self, pod: Pod) -> bool:
        """Whether this is about the same pod, and not one of the same name before or after it."""
        return self.pod.uid == pod.uid and self.key == pod.key

    def fail(self, plugins: Collection[str], now: float) -> None:
        """An attempt failed; if no plugin rejected the pod, something went wrong."""
        # parity v1.36.4: backend/queue/scheduling_queue.go AddUnschedulableIfNotPresent
        self.unschedulable_plugins = _shared(frozenset(plugins))
        if self.unschedulable_plugins:
            self.rejections += 1
            self.errors = 0
        else:
            self.errors += 1
        self.since = now
        self.flushed = False
        self.flushed_at = LONG_AGO

    def __repr__(self) -> str:
        return f"<QueuedPod {self.key} {self.sub_queue.value}>"


@functools.lru_cache(maxsize=256)
def _shared(names: frozenset[str]) -> frozenset[str]:
    """One set for all pods with the same ones to blame: there may be many thousand."""
    return names
