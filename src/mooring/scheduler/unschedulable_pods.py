"""Pods that wait for a cluster event: rejected in their last attempt, or gated.

Used by the queue alone. Pods are found by the plugins that rejected them, so that an event is
looked at only for pods of plugins with a hint for it; ten thousand others cost nothing.
"""

import functools
from collections.abc import Iterator

from mooring.framework.cluster_events import ClusterEvent
from mooring.scheduler.heap import Heap
from mooring.scheduler.queued_pod import QueuedPod, RejectorPlugin
from mooring.scheduler.requeue_hints import RequeueHints


class UnschedulablePods:
    """The unschedulable and the gated pods."""

    def __init__(self) -> None:
        # Dicts stand for sets that keep their order, so that a run can be repeated exactly.
        self._by_plugin: dict[RejectorPlugin, dict[QueuedPod, None]] = {}
        self._deadlines: Heap[QueuedPod] = Heap()

    def put(self, queued: QueuedPod, deadline: float) -> None:
        """A pod waits that did not wait here before, at most until the deadline."""
        # parity v1.36.4: backend/queue/scheduling_queue.go movePodsToActiveOrBackoffQueue: what
        # does not concern the plugin that holds a pod back cannot let it go.
        names = frozenset((queued.gate,)) if queued.gate else queued.unschedulable_plugins
        queued.rejectors = _rejectors(queued.profile, names)
        for rejector in queued.rejectors:
            pods = self._by_plugin.get(rejector)
            if pods is None:
                pods = self._by_plugin[rejector] = {}
            pods[queued] = None
        self._deadlines.put(queued, deadline)

    def discard(self, queued: QueuedPod) -> None:
        """A pod that waits here does not any more."""
        for rejector in queued.rejectors:
            pods = self._by_plugin[rejector]
            del pods[queued]
            if not pods:
                del self._by_plugin[rejector]
        self._deadlines.discard(queued)

    def concerned_by(self, hints: RequeueHints, event: ClusterEvent) -> list[QueuedPod]:
        """The pods that plugins with a hint for such an event rejected."""
        found: dict[QueuedPod, None] = {}
        for rejector, pods in self._by_plugin.items():
            if hints.matching(rejector, event):
                found.update(pods)
        return list(found)

    def first(self) -> QueuedPod | None:
        """The pod whose deadline comes first."""
        return self._deadlines.first()

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter(self._deadlines)

    def __len__(self) -> int:
        return len(self._deadlines)


@functools.lru_cache(maxsize=256)
def _rejectors(profile: str, plugins: frozenset[str]) -> tuple[RejectorPlugin, ...]:
    """The plugins of a profile; one value for all pods that they rejected."""
    return tuple((profile, name) for name in sorted(plugins))
