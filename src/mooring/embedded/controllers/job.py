"""Runs Jobs: pods until enough have succeeded or too many have failed.

A pod is held by a finalizer until it was counted, so that none is missed when it is deleted.
Success policies, pod failure policies and limits for each index are not worked on.

parity v1.36.4: pkg/controller/job, pkg/controller/ttlafterfinished
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from mooring.embedded.controllers import job_status as reports
from mooring.embedded.controllers import moments
from mooring.embedded.controllers.hand import Hand
from mooring.embedded.controllers.job_indexes import INDEX, free_indexes, index_of
from mooring.embedded.controllers.pod_index import Key, PodIndex, SeenPod
from mooring.embedded.controllers.replica_set import is_terminating
from mooring.embedded.controllers.replicas import BATCH, Pace, to_give_up
from mooring.embedded.controllers.templates import generated, pod_from
from mooring.embedded.controllers.work import Controller, Heard, own_key
from mooring.embedded.refusals import Refused
from mooring.embedded.resources import JOBS, PODS, Obj, Resource
from mooring.embedded.store import Item

TRACKING: Final = "batch.kubernetes.io/job-tracking"
_MANAGER: Final = "kubernetes.io/job-controller"
_FIRST_BACKOFF: Final = 10.0
_LAST_BACKOFF: Final = 600.0
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


class Jobs(Controller):
    """Makes the pods of Jobs and counts how they end.

    Args:
        hand: writes.
        pods: all pods.
    """

    def __init__(self, hand: Hand, pods: PodIndex) -> None:
        self._hand = hand
        self._pods = pods
        self._pace = Pace()
        self._counted: set[str] = set()
        self._failures: dict[str, tuple[int, float]] = {}

    @property
    def name(self) -> str:
        """For the log."""
        return self._hand.component

    @property
    def listens(self) -> Mapping[Resource, Heard]:
        """To Jobs."""
        return {JOBS: own_key}

    def pod_changed(self, old: SeenPod | None, new: SeenPod | None) -> Iterable[Key]:
        """The Job that controls the pod; a pod whose Job is gone is let go."""
        if new is None and old is not None:
            self._counted.discard(old.uid)
        pod = new or old
        if pod is None or pod.owner is None or pod.owner.kind != "Job":
            return ()
        key = (pod.key[0], pod.owner.name)
        if new is None and self._hand.store.get(JOBS, *key) is None:
            return ()  # the last of a Job that went before it
        return (key,)

    def reconcile(self, key: Key, now: float) -> float | None:
        """Bring one Job a step further."""
        item = self._hand.store.get(JOBS, *key)
        self._release_orphans(key, item)
        if item is None:
            return None
        obj = item.obj
        if obj["spec"].get("managedBy", _MANAGER) != _MANAGER:
            return None
        finished = reports.finished(obj)
        if finished is not None:
            self._failures.pop(item.uid, None)
            for pod in self._pods.owned_by(item.uid):
                self._let_go(pod)
            return self._expire(item, obj, finished, now)
        wait = self._pace.wait(key, now)
        if wait is not None:
            return wait
        return self._step(key, item, obj, now)

    def _step(self, key: Key, item: Item, obj: Obj, now: float) -> float | None:
        mine = self._pods.owned_by(item.uid)
        tally = reports.count(obj, mine, self._counted, TRACKING, now)
        self._note_failures(item.uid, tally, now)
        target = reports.target(obj, tally, now)
        again: float | None = None
        refused: Refused | None = None
        if target is not None:
            again = self._stop(obj, tally.active, now)
        elif not obj["metadata"].get("deletionTimestamp"):
            try:
                again = self._manage(obj, tally, now)
            except Refused as error:
                refused = error
        status = reports.status(obj, tally, target, busy=again == 0.0, now=now)
        for kind, reason, message in reports.news(obj, status):
            self._hand.tell(obj, kind, reason, message, now)
        self._hand.set_status(JOBS, item, obj, status)
        for pod in (*tally.new_succeeded, *tally.new_failed):
            self._counted.add(pod.uid)
            self._let_go(pod)
        if refused is not None and not is_terminating(refused):
            raise refused
        if again is None:
            self._pace.looked(key, len(mine), now)
            again = reports.until_deadline(obj, now)
        return again

    # -- pods

    def _manage(self, obj: Obj, tally: reports.Tally, now: float) -> float | None:
        """Make or delete some pods; in how many seconds to go on."""
        if obj["spec"].get("suspend"):
            return self._stop(obj, tally.active, now, uncounted=True)
        wanted = reports.wanted(obj, tally)
        missing = wanted - len(tally.active)
        if missing < 0:
            spare = to_give_up(tally.active, -missing)
            return self._stop(obj, spare, now, uncounted=True)
        if reports.replaces_failed_only(obj):
            missing -= tally.terminating
        if missing <= 0:
            return None
        wait = self._backoff(obj["metadata"]["uid"], now)
        if wait > 0:
            return wait
        self._create(obj, tally, min(missing, BATCH), now)
        return 0.0

    def _create(self, obj: Obj, tally: reports.Tally, count: int, now: float) -> None:
        metadata = obj["metadata"]
        pod = pod_from(obj["spec"]["template"], obj)
        pod["metadata"]["generateName"] = generated(metadata["name"])
        pod["metadata"]["finalizers"] = [*pod["metadata"].get("finalizers", ()), TRACKING]
        indexes: list[int] = []
        if reports.is_indexed(obj):
            taken = {index_of(one.annotations) for one in tally.active} | tally.done
            indexes = free_indexes(reports.completions(obj) or 0, taken, count)
            count = len(indexes)
        body = _encode(pod)
        for number in range(count):
            made: Obj = _decode(body)
            if indexes:
                _give_index(made, metadata["name"], indexes[number])
            try:
                there = self._hand.create(PODS, made, metadata["namespace"])
            except Refused as refused:
                if not is_terminating(refused):
                    message = f"Error creating: {refused}"
                    self._hand.tell(obj, "Warning", "FailedCreate", message, now)
                raise
            self._hand.tell(obj, "Normal", "SuccessfulCreate", f"Created pod: {there.name}", now)

    def _stop(
        self, obj: Obj, pods: list[SeenPod], now: float, *, uncounted: bool = False
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
                self._let_go(pod)
            self._hand.delete(PODS, *pod.key, pod.uid)
            message = f"Deleted pod: {pod.key[1]}"
            self._hand.tell(obj, "Normal", "SuccessfulDelete", message, now)
        return 0.0 if pods else None

    def _let_go(self, pod: SeenPod) -> None:
        """Take the finalizer from a pod."""
        item = self._hand.store.get(PODS, *pod.key)
        if item is None or item.uid != pod.uid or TRACKING not in pod.finalizers:
            return
        obj = item.obj
        kept = [one for one in obj["metadata"].get("finalizers") or () if one != TRACKING]
        if kept:
            obj["metadata"]["finalizers"] = kept
        else:
            obj["metadata"].pop("finalizers", None)
        self._hand.update(PODS, obj)

    def _release_orphans(self, key: Key, item: Item | None) -> None:
        """Let pods go whose Job is gone, or is another one now."""
        if item is not None:
            return
        for pod in self._pods.in_namespace(key[0]):
            owner = pod.owner
            if owner is not None and owner.kind == "Job" and owner.name == key[1]:
                self._let_go(pod)

    # -- time

    def _note_failures(self, uid: str, tally: reports.Tally, now: float) -> None:
        count, since = self._failures.get(uid, (0, now))
        if tally.new_succeeded:
            count = 0
        if tally.new_failed:
            count, since = count + len(tally.new_failed), now
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

    def _expire(self, item: Item, obj: Obj, finished: Obj, now: float) -> float | None:
        """Delete a finished Job when its time is over."""
        seconds = obj["spec"].get("ttlSecondsAfterFinished")
        if seconds is None or obj["metadata"].get("deletionTimestamp"):
            return None
        due = moments.read(finished.get("lastTransitionTime") or "") + float(seconds)
        if due > now:
            return due - now
        self._hand.delete(JOBS, item.namespace, item.name, item.uid, propagation="Foreground")
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
