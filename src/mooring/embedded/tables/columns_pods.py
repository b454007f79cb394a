"""The columns of pods, and the one word that says how a pod is doing.

Owns what ``kubectl get pods`` shows; `tables` calls it.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from mooring.embedded.resources import Obj
from mooring.embedded.tables.ages import age, seconds
from mooring.embedded.tables.printer import (
    AGE,
    NAME,
    NONE,
    Cell,
    Printer,
    age_of,
    being_deleted,
    has_condition,
    listed,
    name_of,
    number,
    part,
    text,
    wide,
)

_DONE: Final = {"type": "Completed", "status": "True"}
_SUCCEEDED: Final = (
    {**_DONE, "reason": "Succeeded", "message": "The pod has completed successfully."},
)
_FAILED: Final = ({**_DONE, "reason": "Failed", "message": "The pod failed."},)


class _ContainerCounts(msgspec.Struct):
    """What has been counted while looking through a pod's containers."""

    reason: str
    ready: int = 0
    restarts: int = 0
    restarted: str = ""

    def count(self, container: Obj) -> None:
        """Add the restarts of a container, and when the last one was."""
        self.restarts += number(container, "restartCount")
        finished = part(container, "lastState", "terminated").get("finishedAt")
        if finished and (not self.restarted or seconds(self.restarted) < seconds(finished)):
            self.restarted = finished


def pod_cells(pod: Obj, now: float) -> list[Cell]:
    """The row of a pod."""
    # parity v1.36.4: pkg/printers/internalversion/printers.go printPod
    spec, status = part(pod, "spec"), part(pod, "status")
    sidecars = {
        one.get("name")
        for one in listed(spec, "initContainers")
        if one.get("restartPolicy") == "Always"
    }
    counts, of_sidecars, initializing = _initialization(pod, sidecars)
    if not initializing or has_condition(pod, "Initialized"):
        of_sidecars.reason, of_sidecars.ready = counts.reason, counts.ready
        counts = of_sidecars
        _look_at_containers(status, counts)
    reason = counts.reason
    if being_deleted(pod):
        if status.get("reason") == "NodeLost":
            reason = "Unknown"
        elif status.get("phase") not in ("Succeeded", "Failed"):
            reason = "Terminating"
    restarts = str(counts.restarts)
    if counts.restarts and counts.restarted:
        restarts = f"{restarts} ({age(counts.restarted, now)} ago)"
    return [
        name_of(pod),
        f"{counts.ready}/{len(listed(spec, 'containers')) + len(sidecars)}",
        reason,
        restarts,
        age_of(pod, now),
        _address(status),
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(pod),
    ]


def _initialization(
    pod: Obj, sidecars: set[str]
) -> tuple[_ContainerCounts, _ContainerCounts, bool]:
    """What all init containers report, the sidecars alone, and whether they are not through yet."""
    status = part(pod, "status")
    reason = status.get("reason") or status.get("phase") or ""
    for condition in listed(status, "conditions"):
        if (condition.get("type"), condition.get("reason")) == ("PodScheduled", "SchedulingGated"):
            reason = "SchedulingGated"
    counts, of_sidecars = _ContainerCounts(reason), _ContainerCounts(reason)
    for at, container in enumerate(listed(status, "initContainerStatuses")):
        counts.count(container)
        if container.get("name") in sidecars:
            of_sidecars.count(container)
        state = part(container, "state")
        ended = state.get("terminated")
        if ended is not None and not number(ended, "exitCode"):
            continue
        if container.get("name") in sidecars and container.get("started"):
            counts.ready += bool(container.get("ready"))
            continue
        waiting = part(state, "waiting").get("reason")
        if ended is not None:
            counts.reason = f"Init:{_end(ended)}"
        elif waiting and waiting != "PodInitializing":
            counts.reason = f"Init:{waiting}"
        else:
            counts.reason = f"Init:{at}/{len(listed(pod, 'spec', 'initContainers'))}"
        return counts, of_sidecars, True
    return counts, of_sidecars, False


def _look_at_containers(status: Obj, counts: _ContainerCounts) -> None:
    """Add what the containers report, once the init containers are through."""
    runs = False
    failure = ""
    for container in reversed(listed(status, "containerStatuses")):
        counts.count(container)
        state = part(container, "state")
        waiting, ended = part(state, "waiting").get("reason"), state.get("terminated")
        if waiting:
            counts.reason = waiting
        elif ended is not None:
            counts.reason = _end(ended)
            if number(ended, "exitCode"):
                failure = counts.reason
        elif container.get("ready") and state.get("running") is not None:
            runs = True
            counts.ready += 1
    if counts.reason == "Completed":
        if runs and _is_ready(status):
            counts.reason = "Running"
        elif failure:
            counts.reason = failure
        elif runs:
            counts.reason = "NotReady"


def _end(terminated: Obj) -> str:
    """Why a container ended."""
    reason = terminated.get("reason")
    if reason:
        return str(reason)
    if number(terminated, "signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{number(terminated, 'exitCode')}"


def _is_ready(status: Obj) -> bool:
    return any(
        one.get("type") == "Ready" and one.get("status") == "True"
        for one in listed(status, "conditions")
    )


def _address(status: Obj) -> str:
    addresses = listed(status, "podIPs")
    return (addresses[0].get("ip") if addresses else status.get("podIP")) or NONE


def _gates(pod: Obj) -> str:
    """How many of the pod's readiness gates are open."""
    gates = listed(pod, "spec", "readinessGates")
    if not gates:
        return NONE
    return f"{sum(has_condition(pod, one.get('conditionType')) for one in gates)}/{len(gates)}"


def _conditions(pod: Obj) -> Sequence[Obj]:
    """That the pod has ended, for clients that show running ones only."""
    phase = part(pod, "status").get("phase")
    return _SUCCEEDED if phase == "Succeeded" else _FAILED if phase == "Failed" else ()


PODS: Final = Printer(
    (
        NAME, text("Ready"), text("Status"), text("Restarts"), AGE, wide("IP"), wide("Node"),
        wide("Nominated Node"), wide("Readiness Gates"),
    ),
    pod_cells,
    _conditions,
)  # fmt: skip
