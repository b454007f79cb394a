"""How long a pod waits between attempts. Used by the queue alone; pure arithmetic.

Backoffs end at whole seconds, so that pods whose backoff ends at about the same time are taken in
the order of the queue.
"""

import math
from typing import Final

import msgspec

from mooring.scheduler.queued_pod import LONG_AGO, QueuedPod

#: The length of the spans in which backoffs end together.
WINDOW: Final = 1.0
#: Doubling more often than this exceeds any limit.
_MOST_DOUBLINGS: Final = 60


class QueueSettings(msgspec.Struct, frozen=True):
    """How long pods wait, in seconds.

    Attributes:
        initial_backoff: after the first attempt (``podInitialBackoffSeconds``).
        max_backoff: after many (``podMaxBackoffSeconds``); 0 for no backoff at all.
        max_unschedulable: a rejected pod for which nothing happens is tried again after this time.
    """

    initial_backoff: float = 1
    max_backoff: float = 10
    max_unschedulable: float = 300

    def backoff(self, attempts: int) -> float:
        """How long a pod waits after so many attempts that failed."""
        # parity v1.36.4: backend/queue/backoff_queue.go calculateBackoffDuration
        doublings = attempts - 1 if attempts <= _MOST_DOUBLINGS else _MOST_DOUBLINGS
        return min(self.initial_backoff * 2.0**doublings, self.max_backoff)

    def backoff_end(self, queued: QueuedPod) -> float:
        """The second in which a pod's backoff ends; it may be taken when that is over."""
        # parity v1.36.4: backend/queue/backoff_queue.go getBackoffTime
        attempts = queued.errors or queued.rejections
        if not attempts or not self.max_backoff:
            return LONG_AGO
        return math.floor((queued.since + self.backoff(attempts)) / WINDOW) * WINDOW

    def deadline(self, queued: QueuedPod) -> float:
        """When an unschedulable pod is to be tried again, whatever happens."""
        return max(queued.since, queued.flushed_at) + self.max_unschedulable


def backs_off(queued: QueuedPod, now: float) -> bool:
    """Whether a pod's backoff is not over."""
    # parity v1.36.4: backend/queue/backoff_queue.go isPodBackingoff
    return queued.backoff_until + WINDOW > now
