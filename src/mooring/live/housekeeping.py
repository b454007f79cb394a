"""What the scheduler forgets as time goes by, so that it does not stay as large as it ever was.

`lifecycle` runs it beside the loop. Nothing depends on what is forgotten: answers that nobody asked
for lately are worked out again, and events about pods that are gone are over. What the log has left
out lately is told then, too.
"""

import asyncio
import logging
from typing import Final, Protocol

from mooring.kube.event_body import ObjectReference
from mooring.kube.events import EventRecorder
from mooring.live.attempt_log import AttemptLog
from mooring.log_kinds import report_left_out
from mooring.model.pod import Pod
from mooring.process.garbage_collection import collect_everything
from mooring.state.cluster import Cluster

log = logging.getLogger("mooring.live")

_PAUSE_SECONDS: Final = 20.0
#: So often all objects are looked through for garbage: once a day.
_ROUNDS_BETWEEN: Final = 24 * 60 * 60 // 20
#: When so many pods are gone, the pause of a full garbage collection is worth what it gives back.
_MANY_GONE: Final = 1000


class TrimMemory(Protocol):
    """Gives free memory back to the system; see `process.memory.trim_memory`."""

    def __call__(self, *, thoroughly: bool) -> None:
        """Give it back, after a search for garbage if asked for."""


class Housekeeping:
    """Forgets from time to time.

    Args:
        cluster: the state, whose answers are forgotten.
        recorder: the events, of which those about pods that are gone are forgotten.
        attempt_log: the log's memory of pods, of which the same goes.
        trim_memory: gives back what is free then; None if the process is not the scheduler's own.
    """

    def __init__(
        self,
        cluster: Cluster,
        recorder: EventRecorder,
        attempt_log: AttemptLog,
        trim_memory: TrimMemory | None,
    ) -> None:
        self._cluster = cluster
        self._recorder = recorder
        self._attempt_log = attempt_log
        self._trim_memory = trim_memory
        #: The most pods since the last thorough look.
        self._most_pods = 0
        self._rounds = 0

    async def run(self) -> None:
        """Forget every now and then, until it is cancelled."""
        while True:
            await asyncio.sleep(_PAUSE_SECONDS)
            try:
                self.forget()
            except Exception:
                log.exception("cleanup failed; retrying in %gs", _PAUSE_SECONDS)

    def forget(self) -> None:
        """Forget what nobody asked for since the last call, and give its memory back."""
        self._cluster.forget_unused()
        self._recorder.forget_gone(self._is_gone)
        self._attempt_log.forget_gone(self._cluster.pod_by_uid)
        report_left_out()
        if self._trim_memory is None:
            return
        self._rounds += 1
        if self._rounds % _ROUNDS_BETWEEN == 0:
            collect_everything()
        pods = self._cluster.pods
        self._most_pods = max(self._most_pods, pods)
        flood_is_over = self._most_pods - pods >= _MANY_GONE
        if flood_is_over:
            self._most_pods = pods
        self._trim_memory(thoroughly=flood_is_over)

    def _is_gone(self, thing: ObjectReference) -> bool:
        return thing.kind == Pod.kind_name and self._cluster.pod_by_uid(thing.uid) is None
