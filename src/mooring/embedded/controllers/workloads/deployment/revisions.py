"""The revisions of a Deployment: numbers and annotations on its ReplicaSets.

parity v1.36.4: pkg/controller/deployment/util/deployment_util.go SetNewReplicaSetAnnotations
"""

from collections.abc import Iterable
from typing import Final

from mooring.embedded.controllers.workloads.deployment.scaling import (
    DESIRED,
    MAXIMUM,
    max_surge,
    replicas,
)
from mooring.embedded.resources import Obj

REVISION: Final = "deployment.kubernetes.io/revision"
_HISTORY: Final = "deployment.kubernetes.io/revision-history"
_NOT_COPIED: Final = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        REVISION,
        _HISTORY,
        DESIRED,
        MAXIMUM,
        "deprecated.deployment.rollback.to",
    }
)
_HISTORY_LENGTH: Final = 2000


def annotations_of(obj: Obj) -> dict[str, str]:
    """The annotations of an object; what is put in there is in the object."""
    found: dict[str, str] | None = obj["metadata"].get("annotations")
    if found is None:
        found = obj["metadata"]["annotations"] = {}
    return found


def revision_of(obj: Obj) -> int:
    """The revision of a ReplicaSet; 0 if it has none."""
    text = (obj["metadata"].get("annotations") or {}).get(REVISION, "")
    return int(text) if text.isdigit() else 0


def next_revision(old: Iterable[Obj]) -> int:
    """The revision of a ReplicaSet that is newer than others."""
    return max(map(revision_of, old), default=0) + 1


def annotate(deployment: Obj, new: Obj, revision: int) -> bool:
    """Give the newest ReplicaSet its revision and the Deployment's annotations, in place.

    Returns:
        Whether anything changed.
    """
    annotations = annotations_of(new)
    before = dict(annotations)
    for key, value in (deployment["metadata"].get("annotations") or {}).items():
        if key not in _NOT_COPIED:
            annotations[key] = value
    had = annotations.get(REVISION)
    if revision_of(new) < revision:
        annotations[REVISION] = str(revision)
        if had is not None:
            past = annotations.get(_HISTORY, "")
            kept = f"{past},{had}" if past else had
            while len(kept) > _HISTORY_LENGTH and "," in kept:
                kept = kept.split(",", 1)[1]
            annotations[_HISTORY] = kept
    return annotations != before


def annotate_sizes(deployment: Obj, new: Obj) -> bool:
    """Note for how many pods a ReplicaSet was sized, in place; whether that changed."""
    annotations = annotations_of(new)
    wanted = replicas(deployment)
    sizes = {DESIRED: str(wanted), MAXIMUM: str(wanted + max_surge(deployment))}
    if sizes.items() <= annotations.items():
        return False
    annotations.update(sizes)
    return True
