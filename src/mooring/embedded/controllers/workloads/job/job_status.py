"""What a Job has come to: its pods counted, its conditions, whether it is done.

Nothing here writes; `job_controller` calls it.

parity v1.36.4: pkg/controller/job/job_controller.go
"""

from collections.abc import Iterable, Sequence, Set

import msgspec

from mooring.embedded.controllers.conditions import (
    find_condition,
    is_condition_true,
    without_condition,
)
from mooring.embedded.controllers.pod_index import PodSummary
from mooring.embedded.controllers.timestamps import format_time, parse_time
from mooring.embedded.controllers.workloads.job.indexes import index_of, read_indexes, write_indexes
from mooring.embedded.resources import Obj


class JobPodCounts(msgspec.Struct):
    """The pods of a Job, counted.

    Attributes:
        active: those that run or wait.
        ready: how many of them are ready.
        terminating: how many are on their way out.
        new_succeeded: those that succeeded and were not counted before.
        new_failed: those that failed and were not counted before.
        succeeded: how many succeeded in all.
        failed: how many failed in all.
        done: the indexes that succeeded, of an Indexed Job.
    """

    active: list[PodSummary]
    ready: int
    terminating: int
    new_succeeded: list[PodSummary]
    new_failed: list[PodSummary]
    succeeded: int
    failed: int
    done: set[int]


def completions(job: Obj) -> int | None:
    """How many pods have to succeed; None if one success is enough for all."""
    value = job["spec"].get("completions")
    return None if value is None else int(value)


def is_indexed(job: Obj) -> bool:
    """Whether each pod has a number of its own."""
    return bool(job["spec"].get("completionMode") == "Indexed")


def replaces_failed_only(job: Obj) -> bool:
    """Whether a pod is replaced only when it is gone."""
    return bool(job["spec"].get("podReplacementPolicy") == "Failed")


def finished(job: Obj) -> Obj | None:
    """The condition that says that the Job is over."""
    conditions = (job.get("status") or {}).get("conditions")
    for kind in ("Complete", "Failed"):
        if is_condition_true(conditions, kind):
            return find_condition(conditions, kind)
    return None


def count(
    job: Obj, pods: Sequence[PodSummary], counted: Set[str], tracking: str, now: float
) -> JobPodCounts:
    """Count the pods of a Job.

    Args:
        job: the Job.
        pods: its pods.
        counted: the ids of pods that were counted although they still have the finalizer.
        tracking: the finalizer of pods that were not counted yet.
        now: seconds since 1970; a Job that begins begins now.
    """
    status = job.setdefault("status", {})
    if "startTime" not in status and not job["spec"].get("suspend"):
        status["startTime"] = format_time(now)
    active = [pod for pod in pods if pod.active]
    late = replaces_failed_only(job)
    won: list[PodSummary] = []
    lost: list[PodSummary] = []
    for pod in pods:
        if tracking not in pod.finalizers or pod.uid in counted:
            continue
        if pod.phase == "Succeeded":
            won.append(pod)
        elif pod.phase == "Failed" or (pod.deleting and not late):
            lost.append(pod)
    done: set[int] = set()
    succeeded = int(status.get("succeeded") or 0) + len(won)
    if is_indexed(job):
        most = completions(job) or 0
        done = read_indexes(status.get("completedIndexes") or "", most)
        done.update(index for pod in won if 0 <= (index := index_of(pod.annotations)) < most)
        succeeded = len(done)
    return JobPodCounts(
        active=active,
        ready=sum(pod.ready for pod in active),
        terminating=sum(pod.deleting and not pod.finished for pod in pods),
        new_succeeded=won,
        new_failed=lost,
        succeeded=succeeded,
        failed=int(status.get("failed") or 0) + len(lost),
        done=done,
    )


def wanted(job: Obj, counts: JobPodCounts) -> int:
    """How many pods should be active."""
    parallelism = int(job["spec"].get("parallelism", 1))
    total = completions(job)
    if total is None:
        return len(counts.active) if counts.succeeded > 0 else parallelism
    return max(min(parallelism, total - counts.succeeded), 0)


def target(job: Obj, counts: JobPodCounts, now: float) -> Obj | None:
    """The condition that says how the Job is about to end; None if it goes on."""
    conditions = job["status"].get("conditions")
    for kind in ("SuccessCriteriaMet", "FailureTarget"):
        if is_condition_true(conditions, kind):
            return find_condition(conditions, kind)
    spec = job["spec"]
    if counts.failed > int(spec.get("backoffLimit", 6)):
        message = "Job has reached the specified backoff limit"
        return _condition("FailureTarget", "BackoffLimitExceeded", message, now)
    left = until_deadline(job, now)
    if left is not None and left <= 0:
        message = "Job was active longer than specified deadline"
        return _condition("FailureTarget", "DeadlineExceeded", message, now)
    total = completions(job)
    if total is None:
        met = counts.succeeded > 0 and not counts.active
    else:
        met = counts.succeeded >= total and not counts.active
    if met:
        message = "Reached expected number of succeeded pods"
        return _condition("SuccessCriteriaMet", "CompletionsReached", message, now)
    return None


def until_deadline(job: Obj, now: float) -> float | None:
    """In how many seconds the Job will have run for too long."""
    seconds = job["spec"].get("activeDeadlineSeconds")
    start = (job.get("status") or {}).get("startTime")
    if seconds is None or start is None or job["spec"].get("suspend"):
        return None
    return parse_time(start) + float(seconds) - now


def status(job: Obj, counts: JobPodCounts, target: Obj | None, *, busy: bool, now: float) -> Obj:
    """The status of a Job.

    Args:
        job: the Job.
        counts: its pods.
        target: how it is about to end.
        busy: whether pods were just made or deleted.
        now: seconds since 1970.
    """
    old = job["status"]
    new: Obj = dict(old)
    conditions = list(old.get("conditions") or [])
    if target is not None:
        if find_condition(conditions, target["type"]) is None:
            conditions.append(target)
        if not counts.active and not counts.terminating and not busy:
            done = target["type"] == "SuccessCriteriaMet"
            kind = "Complete" if done else "Failed"
            conditions.append(_condition(kind, target["reason"], target["message"], now))
            if done:
                new["completionTime"] = format_time(now)
    else:
        conditions, new = _suspended(job, conditions, new, now)
    new.update(
        active=len(counts.active) or None,
        ready=counts.ready,
        terminating=counts.terminating,
        succeeded=counts.succeeded or None,
        failed=counts.failed or None,
        conditions=conditions or None,
        uncountedTerminatedPods={},
    )
    if is_indexed(job):
        new["completedIndexes"] = write_indexes(counts.done) or None
    return new


def _suspended(job: Obj, conditions: list[Obj], new: Obj, now: float) -> tuple[list[Obj], Obj]:
    paused = bool(job["spec"].get("suspend"))
    current = find_condition(conditions, "Suspended")
    if paused == (current is not None and current["status"] == "True"):
        return conditions, new
    if paused:
        condition = _condition("Suspended", "JobSuspended", "Job suspended", now)
        new.pop("startTime", None)
    else:
        condition = _condition("Suspended", "JobResumed", "Job resumed", now, state="False")
        new["startTime"] = format_time(now)
    return [*without_condition(conditions, "Suspended"), condition], new


def status_events(job: Obj, new: Obj) -> Iterable[tuple[str, str, str]]:
    """The events that a change of the status is worth: type, reason and message."""
    before = {
        (one["type"], one["status"]) for one in (job.get("status") or {}).get("conditions") or ()
    }
    for one in new.get("conditions") or ():
        if (one["type"], one["status"]) in before:
            continue
        if one["type"] == "Complete":
            yield "Normal", "Completed", "Job completed"
        elif one["type"] == "Failed":
            yield "Warning", one["reason"], one["message"]
        elif one["type"] == "Suspended":
            reason = "Suspended" if one["status"] == "True" else "Resumed"
            yield "Normal", reason, one["message"]


def _condition(kind: str, reason: str, message: str, now: float, *, state: str = "True") -> Obj:
    time = format_time(now)
    return {
        "type": kind,
        "status": state,
        "lastProbeTime": time,
        "lastTransitionTime": time,
        "reason": reason,
        "message": message,
    }
