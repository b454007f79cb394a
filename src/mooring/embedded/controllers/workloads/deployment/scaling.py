"""How many pods each ReplicaSet of a Deployment should have: arithmetic only.

parity v1.36.4: pkg/controller/deployment/util/deployment_util.go
"""

from collections.abc import Iterable, Sequence
from math import ceil, floor
from typing import Final

from mooring.embedded.controllers.timestamps import parse_time
from mooring.embedded.resources import Obj

DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
MAXIMUM: Final = "deployment.kubernetes.io/max-replicas"


def scaled_value(value: int | str | None, total: int, *, up: bool) -> int:
    """A number, or a percentage of the total rounded up or down."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    share = int(value.rstrip("%")) * total / 100
    return ceil(share) if up else floor(share)


def replicas(obj: Obj) -> int:
    """How many pods an object asks for."""
    wanted = obj["spec"].get("replicas")
    return 1 if wanted is None else int(wanted)


def status_count(obj: Obj, field: str) -> int:
    """A number of an object's status."""
    return int((obj.get("status") or {}).get(field) or 0)


def total_replicas(sets: Iterable[Obj]) -> int:
    """How many pods ReplicaSets ask for together."""
    return sum(map(replicas, sets))


def active_replica_sets(sets: Iterable[Obj]) -> list[Obj]:
    """The ReplicaSets that ask for pods."""
    return [one for one in sets if replicas(one) > 0]


def is_rolling(deployment: Obj) -> bool:
    """Whether pods are replaced a few at a time."""
    strategy = deployment["spec"].get("strategy") or {}
    return bool(strategy.get("type", "RollingUpdate") == "RollingUpdate")


def _limits(deployment: Obj) -> tuple[int, int]:
    rolling = (deployment["spec"].get("strategy") or {}).get("rollingUpdate") or {}
    wanted = replicas(deployment)
    surge = scaled_value(rolling.get("maxSurge", "25%"), wanted, up=True)
    unavailable = scaled_value(rolling.get("maxUnavailable", "25%"), wanted, up=False)
    if surge == 0 and unavailable == 0:
        unavailable = 1
    return surge, unavailable


def max_surge(deployment: Obj) -> int:
    """How many pods there may be above the number that is asked for."""
    return _limits(deployment)[0] if is_rolling(deployment) else 0


def max_unavailable(deployment: Obj) -> int:
    """How many pods may be missing."""
    wanted = replicas(deployment)
    if not is_rolling(deployment) or wanted == 0:
        return 0
    return min(_limits(deployment)[1], wanted)


def new_replica_set_size(deployment: Obj, sets: Sequence[Obj], new: Obj) -> int:
    """How many pods the newest ReplicaSet may have while the others have theirs."""
    wanted = replicas(deployment)
    if not is_rolling(deployment):
        return wanted
    room = wanted + max_surge(deployment) - total_replicas(sets)
    if room <= 0:
        return replicas(new)
    return replicas(new) + min(room, wanted - replicas(new))


def is_saturated(deployment: Obj, new: Obj | None) -> bool:
    """Whether the newest ReplicaSet has all pods, and all are available."""
    if new is None:
        return False
    wanted = replicas(deployment)
    annotations = new["metadata"].get("annotations") or {}
    return (
        replicas(new) == wanted
        and annotations.get(DESIRED) == str(wanted)
        and status_count(new, "availableReplicas") == wanted
    )


def proportional_sizes(deployment: Obj, sets: Sequence[Obj]) -> dict[str, int]:
    """The sizes of several ReplicaSets that share a Deployment which was scaled in mid-rollout."""
    wanted = replicas(deployment)
    allowed = wanted + max_surge(deployment) if wanted > 0 else 0
    to_add = allowed - total_replicas(sets)
    ordered = by_age(sets)
    if to_add > 0:
        ordered.reverse()
    # The largest first; among equals the newest if pods are added, else the oldest.
    if to_add:
        ordered.sort(key=replicas, reverse=True)
    sizes: dict[str, int] = {}
    added = 0
    for one in ordered:
        share = _share(one, deployment, to_add, added) if to_add else 0
        sizes[one["metadata"]["name"]] = replicas(one) + share
        added += share
    if to_add and ordered:
        first = ordered[0]["metadata"]["name"]
        sizes[first] = max(sizes[first] + to_add - added, 0)
    return sizes


def by_age(sets: Iterable[Obj]) -> list[Obj]:
    """ReplicaSets, the oldest first."""
    return sorted(
        sets,
        key=lambda one: (
            parse_time(one["metadata"].get("creationTimestamp") or ""),
            one["metadata"]["name"],
        ),
    )


def _share(one: Obj, deployment: Obj, to_add: int, added: int) -> int:
    if replicas(one) == 0 or to_add == added:
        return 0
    left = to_add - added
    fraction = _fraction(one, deployment)
    return min(fraction, left) if to_add > 0 else max(fraction, left)


def _fraction(one: Obj, deployment: Obj) -> int:
    wanted = replicas(deployment)
    if wanted == 0:
        return -replicas(one)
    text = (one["metadata"].get("annotations") or {}).get(MAXIMUM, "")
    before = int(text) if text.isdigit() else 0
    before = before or status_count(deployment, "replicas")
    if before == 0:
        return 0
    size = replicas(one) * (wanted + max_surge(deployment)) / before
    return floor(size + 0.5) - replicas(one)
