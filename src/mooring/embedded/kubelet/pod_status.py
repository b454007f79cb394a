"""The status a kubelet writes into a pod that runs, ended, or was rejected.

`kubelet` calls it. Nothing here depends on anything but the pod and what is handed in.
"""

import functools
import hashlib
from collections.abc import Iterable
from typing import Final

from mooring.embedded.kubelet.node_admission import AdmitFailure
from mooring.embedded.resources import Obj

# parity v1.36.4: pkg/kubelet/types/pod_status.go PodConditionByKubelet
_OWN: Final = (
    "PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled",
)  # fmt: skip
_Conditions = Iterable[tuple[str, str, str, str]]


def running(pod: Obj, host: str, ip: str, now: str) -> Obj:
    """The status of a pod all of whose containers run and are ready."""
    spec, old = pod["spec"], pod.get("status") or {}
    gates = _missing_gates(spec, old)
    ready = ("False", "ReadinessGatesNotReady", gates) if gates else ("True", "", "")
    status = _kept(old)
    status["phase"] = "Running"
    status["conditions"] = _conditions(
        pod,
        now,
        (
            ("PodReadyToStartContainers", "True", "", ""),
            ("Initialized", "True", "", ""),
            ("Ready", *ready),
            ("ContainersReady", "True", "", ""),
            ("PodScheduled", "True", "", ""),
        ),
    )
    if host:
        status["hostIP"] = host
        status["hostIPs"] = [{"ip": host}]
    if spec.get("hostNetwork"):
        ip = host
    if ip:
        status["podIP"] = ip
        status["podIPs"] = [{"ip": ip}]
    status["startTime"] = old.get("startTime") or now
    uid = pod["metadata"].get("uid", "")
    if spec.get("initContainers"):
        status["initContainerStatuses"] = [
            _container(one, uid, started=now, ended=now, code=0, ready=True)
            if one.get("restartPolicy") != "Always"
            else _container(one, uid, started=now)
            for one in spec["initContainers"]
        ]
    status["containerStatuses"] = [_container(one, uid, started=now) for one in spec["containers"]]
    return _finish(pod, status)


def ended(pod: Obj, code: int, now: str) -> Obj:
    """The status of a pod whose containers have ended by themselves.

    Args:
        pod: the pod; it was running.
        code: the exit code of its containers.
        now: when they ended.
    """
    old = pod.get("status") or {}
    status = {**old, **_kept(old)}
    status.pop("conditions", None)
    status["phase"] = "Failed" if code else "Succeeded"
    reason = "PodFailed" if code else "PodCompleted"
    status["conditions"] = _conditions(
        pod,
        now,
        (
            ("PodReadyToStartContainers", "False", "", ""),
            ("Initialized", "True", "" if code else reason, ""),
            ("Ready", "False", reason, ""),
            ("ContainersReady", "False", reason, ""),
            ("PodScheduled", "True", "", ""),
        ),
    )
    for field in ("initContainerStatuses", "containerStatuses"):
        if old.get(field):
            status[field] = [_stopped(one, code, now) for one in old[field]]
    return _finish(pod, status)


def rejected(pod: Obj, failure: AdmitFailure, now: str) -> Obj:
    """The status of a pod that the kubelet does not run."""
    old = pod.get("status") or {}
    status = _kept(old)
    for one in old.get("conditions") or ():
        if one["type"] == "PodScheduled":
            status["conditions"] = [_without_nulls(one)]
    status["phase"] = "Failed"
    status["reason"] = failure.reason
    status["message"] = f"Pod was rejected: {failure.message}"
    status["startTime"] = now
    return _finish(pod, status)


def _finish(pod: Obj, status: Obj) -> Obj:
    generation = pod["metadata"].get("generation")
    if generation:
        status["observedGeneration"] = generation
    return status


def _kept(old: Obj) -> Obj:
    """What the kubelet leaves as it is."""
    kept = ("qosClass", "resourceClaimStatuses", "extendedResourceClaimStatus")
    return {name: old[name] for name in kept if name in old}


def _conditions(pod: Obj, now: str, wanted: _Conditions) -> list[Obj]:
    """All conditions: those of others first, then the kubelet's own."""
    old = {one["type"]: one for one in (pod.get("status") or {}).get("conditions") or ()}
    conditions = [_without_nulls(one) for one in old.values() if one["type"] not in _OWN]
    generation = pod["metadata"].get("generation")
    for kind, state, reason, message in wanted:
        before = old.get(kind)
        same = before is not None and before.get("status") == state
        condition: Obj = {
            "type": kind,
            "status": state,
            "lastTransitionTime": before.get("lastTransitionTime", now) if same and before else now,
        }
        if reason:
            condition["reason"] = reason
        if message:
            condition["message"] = message
        if generation:
            condition["observedGeneration"] = generation
        conditions.append(condition)
    return conditions


def _without_nulls(condition: Obj) -> Obj:
    """A stored condition without empty times: the API writes them again, but reads them slowly."""
    return {name: value for name, value in condition.items() if value is not None}


def _missing_gates(spec: Obj, status: Obj) -> str:
    """What keeps a pod with readiness gates from being ready."""
    gates = spec.get("readinessGates")
    if not gates:
        return ""
    states = {one["type"]: one.get("status") for one in status.get("conditions") or ()}
    messages = []
    for gate in gates:
        kind = gate["conditionType"]
        if kind not in states:
            messages.append(
                f'corresponding condition of pod readiness gate "{kind}" does not exist.'
            )
        elif states[kind] != "True":
            messages.append(
                f'the status of pod readiness gate "{kind}" is not "True", but {states[kind]}'
            )
    return ", ".join(messages)


def _container(
    container: Obj, uid: str, *, started: str, ended: str = "", code: int = 0, ready: bool = True
) -> Obj:
    name, image = container["name"], container.get("image") or ""
    identity = _identity(uid, name)
    state: Obj = {"running": {"startedAt": started}}
    if ended:
        state = {"terminated": _terminated(code, started, ended, identity)}
    return {
        "name": name,
        "state": state,
        "lastState": {},
        "ready": ready,
        "restartCount": 0,
        "image": full_image(image),
        "imageID": image_id(image),
        "containerID": identity,
        "started": not ended,
    }


def _stopped(status: Obj, code: int, now: str) -> Obj:
    run = (status.get("state") or {}).get("running")
    if run is None:
        return status
    identity = status.get("containerID", "")
    state = {"terminated": _terminated(code, run.get("startedAt", now), now, identity)}
    return {**status, "state": state, "ready": False, "started": False}


def _terminated(code: int, started: str, ended: str, identity: str) -> Obj:
    return {
        "exitCode": code,
        "reason": "Error" if code else "Completed",
        "startedAt": started,
        "finishedAt": ended,
        "containerID": identity,
    }


def _identity(uid: str, name: str) -> str:
    return f"containerd://{hashlib.sha256(f'{uid}/{name}'.encode()).hexdigest()}"


@functools.lru_cache(maxsize=4096)
def full_image(image: str) -> str:
    """An image with its registry and tag, as container runtimes call it."""
    host, slash, rest = image.partition("/")
    if not slash:
        host, rest = "docker.io", f"library/{image}"
    elif not ("." in host or ":" in host or host == "localhost"):
        host, rest = "docker.io", image
    if "@" not in rest and ":" not in rest:
        rest += ":latest"
    return f"{host}/{rest}"


@functools.lru_cache(maxsize=4096)
def image_id(image: str) -> str:
    """A digest for an image; the same image has the same one everywhere."""
    whole = full_image(image)
    if "@" in whole:
        return whole
    name = whole.rpartition(":")[0]
    return f"{name}@sha256:{hashlib.sha256(whole.encode()).hexdigest()}"
