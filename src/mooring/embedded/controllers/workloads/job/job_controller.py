"""Runs Jobs: pods until enough have succeeded or too many have failed.

A pod is held by a finalizer until it was counted, so that none is missed when it is deleted.
Success policies, pod failure policies and limits for each index are not implemented.

parity v1.36.4: pkg/controller/job, pkg/controller/ttlafterfinished
"""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from mooring.embedded.controllers.controller import Controller
from mooring.embedded.controllers.controller_client import ControllerClient
from mooring.embedded.controllers.pod_index import Key, PodIndex, PodSummary
from mooring.embedded.controllers.timestamps import parse_time
from mooring.embedded.controllers.workloads.controller_utils import (
    BATCH,
    is_namespace_terminating,
    pods_to_delete,
)
from mooring.embedded.controllers.workloads.job import job_status
from mooring.embedded.controllers.workloads.job.indexes import INDEX, free_indexes, index_of
from mooring.embedded.controllers.workloads.pod_control import PodControl
from mooring.embedded.controllers.workloads.pod_templates import pod_from_template, pod_name_prefix
from mooring.embedded.graceful_deletion import remove_finalizer
from mooring.embedded.resources import JOBS, PODS, Obj
from mooring.embedded.status_errors import StatusError
from mooring.embedded.stored_object import StoredObject

TRACKING: Final = "batch.kubernetes.io/job-tracking"
_MANAGER: Final = "kubernetes.io/job-controller"
_FIRST_BACKOFF: Final = 10.0
_LAST_BACKOFF: Final = 600.0
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


class JobController(Controller):
    """Makes the pods of Jobs and counts how they end."""

    resource = JOBS

    def __init__(self, client: ControllerClient, pods: PodIndex) -> None:
        super().__init__(client, pods)
        self._pod_control = PodControl(client)
        self._counted: set[str] = set()
        self._failures: dict[str, tuple[int, float]] = {}

    def pod_changed(self, old: PodSummary | None, new: PodSummary | None) -> Iterable[Key]:
        """The Job that controls the pod; none for the last pod of a Job that is gone."""
        if new is None and old is not None:
            self._counted.discard(old.uid)
        keys = self._controlling(new or old)
        if new is None and keys and self._client.store.get(JOBS, *keys[0]) is None:
            return ()  # the last of a Job that went before it
        return keys

    def sync(self, key: Key, item: StoredObject, now: float) -> float | None:
        """Bring one Job a step further."""
        obj = item.obj
        if obj["spec"].get("managedBy", _MANAGER) != _MANAGER:
            return None
        finished = job_status.finished(obj)
        if finished is not None:
            self._failures.pop(item.uid, None)
            for pod in self._pods.owned_by(item.uid):
                self._remove_finalizer(pod)
            return self._expire(item, obj, finished, now)
        wait = self._throttle.wait(key, now)
        if wait is not None:
            return wait
        return self._step(key, item, obj, now)

    def sync_deleted(self, key: Key, now: float) -> float | None:  # noqa: ARG002
        """Take the finalizer from pods whose Job is gone."""
        for pod in self._pods.in_namespace(key[0]):
            if key in self._controlling(pod):
                self._remove_finalizer(pod)
        return None

    def _step(self, key: Key, item: StoredObject, obj: Obj, now: float) -> float | None:
        mine = self._pods.owned_by(item.uid)
        counts = job_status.count(obj, mine, self._counted, TRACKING, now)
        self._note_failures(item.uid, counts, now)
        target = job_status.target(obj, counts, now)
        again: float | None = None
        error: StatusError | None = None
        if target is not None:
            again = self._stop(obj, counts.active, now)
        elif not obj["metadata"].get("deletionTimestamp"):
            try:
                again = self._manage(obj, counts, now)
            except StatusError as caught:
                error = caught
        status = job_status.status(obj, counts, target, busy=again == 0.0, now=now)
        for kind, reason, message in job_status.status_events(obj, status):
            self._client.record_event(obj, kind, reason, message, now)
        self._client.set_status(JOBS, item, obj, status)
        for pod in (*counts.new_succeeded, *counts.new_failed):
            self._counted.add(pod.uid)
            self._remove_finalizer(pod)
        if error is not None and not is_namespace_terminating(error):
            raise error
        if again is None:
            self._throttle.synced(key, len(mine), now)
            again = job_status.until_deadline(obj, now)
        return again

    # -- pods

    def _manage(self, obj: Obj, counts: job_status.JobPodCounts, now: float) -> float | None:
        """Make or delete some pods; in how many seconds to go on."""
        if obj["spec"].get("suspend"):
            return self._stop(obj, counts.active, now, uncounted=True)
        wanted = job_status.wanted(obj, counts)
        missing = wanted - len(counts.active)
        if missing < 0:
            spare = pods_to_delete(counts.active, -missing)
            return self._stop(obj, spare, now, uncounted=True)
        if job_status.replaces_failed_only(obj):
            missing -= counts.terminating
        if missing <= 0:
            return None
        wait = self._backoff(obj["metadata"]["uid"], now)
        if wait > 0:
            return wait
        self._create(obj, counts, min(missing, BATCH), now)
        return 0.0

    def _create(self, obj: Obj, counts: job_status.JobPodCounts, count: int, now: float) -> None:
        metadata = obj["metadata"]
        pod = pod_from_template(obj["spec"]["template"], obj)
        pod["metadata"]["generateName"] = pod_name_prefix(metadata["name"])
        pod["metadata"]["finalizers"] = [*pod["metadata"].get("finalizers", ()), TRACKING]
        indexes: list[int] = []
        if job_status.is_indexed(obj):
            taken = {index_of(one.annotations) for one in counts.active} | counts.done
            indexes = free_indexes(job_status.completions(obj) or 0, taken, count)
            count = len(indexes)
        body = _encode(pod)
        for number in range(count):
            made: Obj = _decode(body)
            if indexes:
                _give_index(made, metadata["name"], indexes[number])
            self._pod_control.create(obj, made, now)

    def _stop(
        self, obj: Obj, pods: list[PodSummary], now: float, *, uncounted: bool = False
    ) -> float | None:
        """Delete some pods; 0 if others have to follow.

        Args:
            obj: the Job.
            pods: which ones.
            now: seconds since 1970.
            uncounted: they do not count as failed.
        """
        for pod in pods[:BATCH]:
            if uncounted:
                self._remove_finalizer(pod)
            self._pod_control.delete(obj, pod, now)
        return 0.0 if pods else None

    def _remove_finalizer(self, pod: PodSummary) -> None:
        """Take the finalizer from a pod."""
        item = self._client.store.get(PODS, *pod.key)
        if item is None or item.uid != pod.uid or TRACKING not in pod.finalizers:
            return
        obj = item.obj
        remove_finalizer(obj, TRACKING)
        self._client.update(PODS, obj)

    # -- time

    def _note_failures(self, uid: str, counts: job_status.JobPodCounts, now: float) -> None:
        count, since = self._failures.get(uid, (0, now))
        if counts.new_succeeded:
            count = 0
        if counts.new_failed:
            count, since = count + len(counts.new_failed), now
        if count:
            self._failures[uid] = (count, since)
        else:
            self._failures.pop(uid, None)

    def _backoff(self, uid: str, now: float) -> float:
        count, since = self._failures.get(uid, (0, now))
        if not count:
            return 0.0
        pause: float = min(_FIRST_BACKOFF * 2 ** min(count - 1, 10), _LAST_BACKOFF)
        return since + pause - now

    def _expire(self, item: StoredObject, obj: Obj, finished: Obj, now: float) -> float | None:
        """Delete a finished Job when its time is over."""
        seconds = obj["spec"].get("ttlSecondsAfterFinished")
        if seconds is None or obj["metadata"].get("deletionTimestamp"):
            return None
        due = parse_time(finished.get("lastTransitionTime") or "") + float(seconds)
        if due > now:
            return due - now
        self._client.delete(JOBS, item.namespace, item.name, item.uid, propagation="Foreground")
        return None


def _give_index(pod: Obj, job: str, index: int) -> None:
    metadata, spec = pod["metadata"], pod["spec"]
    metadata["annotations"] = {**metadata.get("annotations", {}), INDEX: str(index)}
    metadata["labels"] = {**metadata.get("labels", {}), INDEX: str(index)}
    metadata["generateName"] = f"{job}-{index}-"
    spec["hostname"] = f"{job}-{index}"
    source = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}}
    for container in (*spec["containers"], *(spec.get("initContainers") or ())):
        env = container.setdefault("env", [])
        if not any(one["name"] == "JOB_COMPLETION_INDEX" for one in env):
            env.append({"name": "JOB_COMPLETION_INDEX", "valueFrom": source})
