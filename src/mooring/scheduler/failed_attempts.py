"""Attempts that failed: the pod goes back to the queue, and its owner is told why.

Called by `Core` for decisions and by `BindingCycles` for what follows them. It undoes nothing: who
calls it has given back what the pod had.
"""

import logging
from collections import Counter
from collections.abc import Set
from typing import Final

from msgspec.structs import replace

from mooring.errors import MooringError
from mooring.framework import foreign
from mooring.framework.filtering import Rejection
from mooring.framework.fit_error import fit_error
from mooring.log_kinds import failure_of
from mooring.scheduler.effects import Effect
from mooring.scheduler.events import failed_scheduling
from mooring.scheduler.queue import Queue
from mooring.scheduler.queued_pod import QueuedPod
from mooring.state.cluster import Cluster

log = logging.getLogger("mooring.scheduler")

#: The reasons of the condition ``PodScheduled``: plugins rejected the pod, or something failed.
UNSCHEDULABLE: Final = "Unschedulable"
SCHEDULER_ERROR: Final = "SchedulerError"


class FailedAttempts:
    """Puts pods back.

    Args:
        cluster: the state.
        queue: the pending pods.
    """

    def __init__(self, cluster: Cluster, queue: Queue) -> None:
        self._cluster = cluster
        self._queue = queue

    def failed(
        self,
        queued: QueuedPod,
        reason: str,
        message: str,
        plugins: Set[str],
        now: float,
        *,
        nominated_node: str | None = "",
        written_node: str = "",
        bind_failed: bool = False,
    ) -> list[Effect]:
        """Put a pod back and say why.

        Args:
            queued: the pod's entry of the queue.
            reason: `UNSCHEDULABLE` or `SCHEDULER_ERROR`.
            message: for the pod's event and condition.
            plugins: who rejected it, and whose requeue hints count; with none of them it is tried
                again after its backoff.
            now: the time.
            nominated_node: its new nominated node; empty for none, None keeps the old one.
            written_node: the nominated node that was written in this attempt; the watch may not
                have shown that yet.
            bind_failed: its binding cycle failed, and the queue forgot it when that began.
        """
        # parity v1.36.4: schedule_one.go handleSchedulingFailure
        key = queued.key
        pod = self._cluster.pod_by_key(key)
        if pod is None or (pod is not queued.pod and pod.uid != queued.pod.uid) or pod.node_name:
            if not bind_failed:
                self._queue.done(queued)
            return []
        if nominated_node:
            self._cluster.nominations.put(pod, nominated_node)
        elif nominated_node == "":
            self._cluster.nominations.remove(key)
        self._queue.requeue(
            queued, plugins, now, error=reason == SCHEDULER_ERROR, pod=pod, bind_failed=bind_failed
        )
        if written_node:
            pod = replace(pod, status=replace(pod.status, nominated_node_name=written_node))
        return failed_scheduling(pod, reason, message, nominated_node)

    def rejected(self, queued: QueuedPod, rejection: Rejection, now: float) -> list[Effect]:
        """A plugin rejected the only node that was left."""
        reasons = rejection.verdict.reasons
        if rejection.verdict.error:
            return self.failed(queued, SCHEDULER_ERROR, ", ".join(reasons), set(), now)
        message = fit_error(1, Counter(reasons))
        return self.failed(queued, UNSCHEDULABLE, message, {rejection.plugin}, now)

    def broke(self, queued: QueuedPod, error: Exception, now: float) -> list[Effect]:
        """Something failed: a plugin, or mooring itself."""
        message, shown = foreign.tell(error)
        if issubclass(type(error), MooringError):
            cause = shown.__cause__ if shown is error else shown
            log.error("%s", message, exc_info=cause, extra=failure_of(error))
        else:
            log.error("the decision for %s failed: internal error", queued.key, exc_info=shown)
            message = f"internal error: {message}"
        return self.failed(queued, SCHEDULER_ERROR, message, set(), now)
