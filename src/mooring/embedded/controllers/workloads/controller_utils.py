"""What controllers of pods share: which pods are available, and which ones to delete first.

Called by all controllers of workloads.

parity v1.36.4: pkg/controller/controller_utils.go
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from mooring.embedded.controllers.pod_index import PodSummary
from mooring.embedded.controllers.timestamps import parse_time
from mooring.embedded.resources import Obj
from mooring.embedded.status_errors import StatusError
from mooring.model.selectors import LabelSelector

#: So many pods are made or deleted at once; the rest has to wait for its turn.
BATCH: Final = 20
_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}
_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


def read_selector(selector: Obj | None) -> LabelSelector:
    """A label selector of an object; one that selects nothing if there is none."""
    if not selector or not (selector.get("matchLabels") or selector.get("matchExpressions")):
        return _NOTHING
    return msgspec.convert(selector, LabelSelector)


_NOTHING: Final = LabelSelector(match_labels={"": ""})


def is_available(pod: PodSummary, min_ready: float, now: float) -> bool:
    """Whether a pod has been ready for long enough."""
    if pod.ready_since is None:
        return False
    return not min_ready or parse_time(pod.ready_since) + min_ready <= now


def until_available(pods: Iterable[PodSummary], min_ready: float, now: float) -> float | None:
    """In how many seconds the next ready pod will be available."""
    if not min_ready:
        return None
    waits = (
        parse_time(pod.ready_since) + min_ready - now
        for pod in pods
        if pod.active and pod.ready_since is not None
    )
    return min((wait for wait in waits if wait > 0), default=None)


def pods_to_delete(pods: Sequence[PodSummary], count: int) -> list[PodSummary]:
    """The pods to delete first."""
    # parity v1.36.4: pkg/controller/controller_utils.go ActivePodsWithRanks; of two that are alike
    # up to here the younger goes, whatever the order of magnitude of their ages
    together: dict[str, int] = {}
    for pod in pods:
        if pod.ready:
            together[pod.node] = together.get(pod.node, 0) + 1

    def rank(pod: PodSummary) -> tuple[object, ...]:
        return (
            bool(pod.node),
            _PHASES.get(pod.phase, 0),
            pod.ready,
            _cost(pod),
            -together.get(pod.node, 0) if pod.node else 0,
            -parse_time(pod.ready_since or ""),
            -parse_time(pod.created),
            pod.uid,
        )

    return sorted(pods, key=rank)[:count]


def _cost(pod: PodSummary) -> int:
    text = pod.annotations.get(_COST, "0")
    try:
        return int(text)
    except ValueError:
        return 0


def min_ready_seconds(obj: Obj) -> int:
    """For how long a pod of an object has to be ready before it counts as available."""
    return int(obj["spec"].get("minReadySeconds") or 0)


def is_namespace_terminating(error: StatusError) -> bool:
    """Whether something was rejected because its namespace is being deleted."""
    causes = (error.status.get("details") or {}).get("causes") or ()
    return any(one.get("reason") == "NamespaceTerminating" for one in causes)


def deep_copy(obj: Obj) -> Obj:
    """A copy that shares nothing with the object."""
    return _decode(_encode(obj))
