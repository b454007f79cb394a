"""How an object is deleted: at once, after its grace period, or with its last finalizer.

`api` calls it, and so do controllers whose finalizers are done. It changes objects that are handed
to it and stores nothing.
"""

from datetime import datetime
from typing import Final

from mooring.embedded.resources import NAMESPACES, PODS, Obj, Resource
from mooring.kube.timestamps import second_time

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"


def before_delete(resource: Resource, obj: Obj, options: Obj, now: float) -> bool:
    """Mark an object as terminating, in place; false if it can be removed at once.

    Args:
        resource: what it is.
        obj: the object.
        options: DeleteOptions.
        now: seconds since 1970.
    """
    metadata = obj["metadata"]
    _add_finalizer(metadata, options)
    if resource is PODS and _before_delete_pod(obj, options, now):
        return True
    held = bool(metadata.get("finalizers"))
    if resource is NAMESPACES:
        held = held or bool(obj.get("spec", {}).get("finalizers"))
        if held:
            obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
    if held and "deletionTimestamp" not in metadata:
        _set_deletion_timestamp(metadata, now, 0)
    return held


def is_removable(resource: Resource, obj: Obj) -> bool:
    """Whether an object that is terminating is held by nothing any more."""
    metadata = obj["metadata"]
    if "deletionTimestamp" not in metadata or metadata.get("finalizers"):
        return False
    if resource is NAMESPACES:
        return not obj.get("spec", {}).get("finalizers")
    # A pod ends when its kubelet says so, unless it has no time left.
    return not metadata.get("deletionGracePeriodSeconds")


def _before_delete_pod(pod: Obj, options: Obj, now: float) -> bool:
    """Give a pod its grace period, in place; false if it has none."""
    # parity v1.36.4: apiserver/pkg/registry/rest/delete.go BeforeDelete, pod/strategy.go
    metadata, spec = pod["metadata"], pod.get("spec", {})
    wanted = options.get("gracePeriodSeconds")
    if "deletionTimestamp" in metadata:
        left = metadata.get("deletionGracePeriodSeconds")
        if not left:
            return False
        if wanted is None or wanted >= left:
            return True
        return _shorten_grace_period(metadata, left, max(wanted, 0), now)
    grace = spec.get("terminationGracePeriodSeconds") or 0 if wanted is None else wanted
    finished = pod.get("status", {}).get("phase") in ("Failed", "Succeeded")
    if not spec.get("nodeName") or finished:
        grace = 0
    if grace < 0:
        grace = 1
    if grace == 0:
        return False
    _set_deletion_timestamp(metadata, now, grace)
    return True


def _shorten_grace_period(metadata: Obj, left: int, wanted: int, now: float) -> bool:
    due = datetime.fromisoformat(metadata["deletionTimestamp"]).timestamp() - left + wanted
    if due < now:
        due = now
        wanted = 1 if wanted else 0
    metadata["deletionTimestamp"] = second_time(int(due * 1e9))
    metadata["deletionGracePeriodSeconds"] = wanted
    return wanted > 0


def _set_deletion_timestamp(metadata: Obj, now: float, grace: int) -> None:
    metadata["deletionTimestamp"] = second_time(int((now + grace) * 1e9))
    metadata["deletionGracePeriodSeconds"] = grace
    if metadata.get("generation"):
        metadata["generation"] += 1


def remove_finalizer(obj: Obj, finalizer: str) -> None:
    """Take a finalizer from an object, in place."""
    kept = [one for one in obj["metadata"].get("finalizers") or () if one != finalizer]
    if kept:
        obj["metadata"]["finalizers"] = kept
    else:
        obj["metadata"].pop("finalizers", None)


def _add_finalizer(metadata: Obj, options: Obj) -> None:
    """What is to become of dependents is a finalizer, which the garbage collector handles."""
    policy = options.get("propagationPolicy")
    if policy is None and options.get("orphanDependents"):
        policy = "Orphan"
    wanted = {"Foreground": FOREGROUND, "Orphan": ORPHAN}.get(policy or "")
    if policy is None:
        return
    kept = [one for one in metadata.get("finalizers", ()) if one not in (FOREGROUND, ORPHAN)]
    if wanted is not None:
        kept.append(wanted)
    if kept:
        metadata["finalizers"] = kept
    else:
        metadata.pop("finalizers", None)
