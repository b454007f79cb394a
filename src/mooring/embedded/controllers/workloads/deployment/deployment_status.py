"""What a Deployment reports: counts, and the conditions that ``kubectl rollout status`` reads.

parity v1.36.4: pkg/controller/deployment/{sync,progress}.go
"""

from collections.abc import Sequence
from typing import Final

from mooring.embedded.controllers.conditions import find_condition, without_condition
from mooring.embedded.controllers.timestamps import format_time, parse_time
from mooring.embedded.controllers.workloads.deployment.scaling import (
    max_unavailable,
    replicas,
    status_count,
    total_replicas,
)
from mooring.embedded.resources import Obj

PROGRESSING: Final = "Progressing"
NEW_SET_AVAILABLE: Final = "NewReplicaSetAvailable"
TIMED_OUT: Final = "ProgressDeadlineExceeded"
_FAILURE: Final = "ReplicaFailure"
_NEVER: Final = 2**31 - 1


def deadline(deployment: Obj) -> int | None:
    """In how many seconds a rollout has to make progress; None for never."""
    seconds = deployment["spec"].get("progressDeadlineSeconds", 600)
    return None if seconds in (None, _NEVER) else int(seconds)


def set_deployment_condition(
    status: Obj, kind: str, state: str, reason: str, message: str, now: float
) -> None:
    """Set a condition in a status, in place, unless state and reason are the same already."""
    conditions = status.get("conditions") or []
    current = find_condition(conditions, kind)
    if current is not None and (current["status"], current.get("reason")) == (state, reason):
        return
    time = format_time(now)
    since = time
    if current is not None and current["status"] == state:
        since = current.get("lastTransitionTime", time)
    condition = {
        "type": kind,
        "status": state,
        "lastUpdateTime": time,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }
    status["conditions"] = [*without_condition(conditions, kind), condition]


def is_complete(deployment: Obj, status: Obj) -> bool:
    """Whether all pods are new and available."""
    wanted = replicas(deployment)
    fields = ("updatedReplicas", "replicas", "availableReplicas")
    seen = status.get("observedGeneration") or 0
    return all((status.get(field) or 0) == wanted for field in fields) and (
        seen >= (deployment["metadata"].get("generation") or 0)
    )


def calculate_status(deployment: Obj, sets: Sequence[Obj], new: Obj | None, now: float) -> Obj:
    """The status of a Deployment with these ReplicaSets; conditions but one are kept."""
    old = deployment.get("status") or {}
    available = sum(status_count(one, "availableReplicas") for one in sets)
    status: Obj = {
        "observedGeneration": deployment["metadata"].get("generation"),
        "replicas": sum(status_count(one, "replicas") for one in sets) or None,
        "updatedReplicas": (status_count(new, "replicas") if new is not None else 0) or None,
        "readyReplicas": sum(status_count(one, "readyReplicas") for one in sets) or None,
        "availableReplicas": available or None,
        "unavailableReplicas": max(total_replicas(sets) - available, 0) or None,
        "terminatingReplicas": sum(status_count(one, "terminatingReplicas") for one in sets),
        "conditions": list(old.get("conditions") or []),
        "collisionCount": old.get("collisionCount"),
    }
    if available >= replicas(deployment) - max_unavailable(deployment):
        state, reason = "True", "MinimumReplicasAvailable"
        message = "Deployment has minimum availability."
    else:
        state, reason = "False", "MinimumReplicasUnavailable"
        message = "Deployment does not have minimum availability."
    set_deployment_condition(status, "Available", state, reason, message, now)
    return status


def rollout_status(deployment: Obj, sets: Sequence[Obj], new: Obj | None, now: float) -> Obj:
    """The status during and after a rollout, with how it progresses."""
    status = calculate_status(deployment, sets, new, now)
    old = deployment.get("status") or {}
    current = find_condition(old.get("conditions"), PROGRESSING)
    if deadline(deployment) is None:
        status["conditions"] = without_condition(status["conditions"], PROGRESSING)
    done = (
        current is not None
        and current.get("reason") == NEW_SET_AVAILABLE
        and (status["replicas"] or 0) == (status["updatedReplicas"] or 0)
    )
    if deadline(deployment) is not None and not done:
        _progress(deployment, status, current, new, now)
    failures = [
        one
        for source in ([new] if new is not None else []) + list(sets)
        for one in (source.get("status") or {}).get("conditions") or ()
        if one["type"] == _FAILURE
    ]
    if failures:
        first = failures[0]
        set_deployment_condition(
            status, _FAILURE, first["status"], first["reason"], first["message"],
            parse_time(first["lastTransitionTime"]),
        )  # fmt: skip
    else:
        status["conditions"] = without_condition(status["conditions"], _FAILURE)
    status["conditions"] = status["conditions"] or None
    return status


def _progress(
    deployment: Obj, status: Obj, current: Obj | None, new: Obj | None, now: float
) -> None:
    who = f'ReplicaSet "{new["metadata"]["name"]}"' if new is not None else None
    who = who or f'Deployment "{deployment["metadata"]["name"]}"'
    if is_complete(deployment, status):
        message = f"{who} has successfully progressed."
        set_deployment_condition(status, PROGRESSING, "True", NEW_SET_AVAILABLE, message, now)
    elif _is_progressing(deployment, status):
        # Its time is written anew with every bit of progress: the deadline is counted from it.
        time = format_time(now)
        since = time
        if current is not None and current["status"] == "True":
            since = current.get("lastTransitionTime", time)
        condition = {
            "type": PROGRESSING,
            "status": "True",
            "lastUpdateTime": time,
            "lastTransitionTime": since,
            "reason": "ReplicaSetUpdated",
            "message": f"{who} is progressing.",
        }
        status["conditions"] = [*without_condition(status["conditions"], PROGRESSING), condition]
    elif _has_timed_out(deployment, status, now):
        message = f"{who} has timed out progressing."
        set_deployment_condition(status, PROGRESSING, "False", TIMED_OUT, message, now)


def _is_progressing(deployment: Obj, status: Obj) -> bool:
    old = deployment.get("status") or {}

    def more(field: str) -> bool:
        return (status.get(field) or 0) > (old.get(field) or 0)

    return (
        more("updatedReplicas")
        or more("readyReplicas")
        or more("availableReplicas")
        or _old_ones(status) < _old_ones(old)
    )


def _old_ones(status: Obj) -> int:
    return int(status.get("replicas") or 0) - int(status.get("updatedReplicas") or 0)


def _has_timed_out(deployment: Obj, status: Obj, now: float) -> bool:
    condition = find_condition(status.get("conditions"), PROGRESSING)
    seconds = deadline(deployment)
    if condition is None or seconds is None or condition.get("reason") == NEW_SET_AVAILABLE:
        return False
    if condition.get("reason") == TIMED_OUT:
        return True
    return parse_time(condition.get("lastUpdateTime") or "") + seconds < now


def until_timed_out(deployment: Obj, status: Obj, now: float) -> float | None:
    """In how many seconds a rollout will have taken too long without progress."""
    condition = find_condition(status.get("conditions"), PROGRESSING)
    seconds = deadline(deployment)
    if condition is None or seconds is None or is_complete(deployment, status):
        return None
    if condition.get("reason") in (TIMED_OUT, NEW_SET_AVAILABLE):
        return None
    due = parse_time(condition.get("lastUpdateTime") or "") + seconds
    return max(due - now, 0.0) + 1.0
