"""What controllers of replicas share: whose a pod is, which one to give up, how often to look.

Called by `replica_set`, `job`, `stateful_set` and `daemon_set`.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from mooring.embedded.controllers import moments
from mooring.embedded.controllers.hand import Hand, controller_reference
from mooring.embedded.controllers.pod_index import Key, PodIndex, SeenPod
from mooring.embedded.resources import PODS, Obj
from mooring.model.selectors import LabelSelector

#: So many pods are made or deleted at once; the rest has to wait for its turn.
BATCH: Final = 20
_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}
_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
#: An owner of more pods than this is not looked at for each of their changes.
_MANY: Final = 200
_SECONDS_FOR_EACH: Final = 0.0001


def read_selector(selector: Obj | None) -> LabelSelector:
    """A label selector of an object; one that selects nothing if there is none."""
    if not selector or not (selector.get("matchLabels") or selector.get("matchExpressions")):
        return _NOTHING
    return msgspec.convert(selector, LabelSelector)


_NOTHING: Final = LabelSelector(match_labels={"": ""})


def is_available(pod: SeenPod, min_ready: float, now: float) -> bool:
    """Whether a pod has been ready for long enough."""
    if pod.ready_since is None:
        return False
    return not min_ready or moments.read(pod.ready_since) + min_ready <= now


def until_available(pods: Iterable[SeenPod], min_ready: float, now: float) -> float | None:
    """In how many seconds the next ready pod will be available."""
    if not min_ready:
        return None
    waits = (
        moments.read(pod.ready_since) + min_ready - now
        for pod in pods
        if pod.active and pod.ready_since is not None
    )
    return min((wait for wait in waits if wait > 0), default=None)


def to_give_up(pods: Sequence[SeenPod], count: int) -> list[SeenPod]:
    """The pods that are missed least."""
    # parity v1.36.4: pkg/controller/controller_utils.go ActivePodsWithRanks; of two that are alike
    # up to here the younger goes, whatever the order of magnitude of their ages
    together: dict[str, int] = {}
    for pod in pods:
        if pod.ready:
            together[pod.node] = together.get(pod.node, 0) + 1

    def rank(pod: SeenPod) -> tuple[object, ...]:
        return (
            bool(pod.node),
            _PHASES.get(pod.phase, 0),
            pod.ready,
            _cost(pod),
            -together.get(pod.node, 0) if pod.node else 0,
            -moments.read(pod.ready_since or ""),
            -moments.read(pod.created),
            pod.uid,
        )

    return sorted(pods, key=rank)[:count]


def _cost(pod: SeenPod) -> int:
    text = pod.annotations.get(_COST, "0")
    try:
        return int(text)
    except ValueError:
        return 0


class Pace:
    """Keeps owners of thousands of pods from being looked at after each change of one pod."""

    def __init__(self) -> None:
        self._until: dict[Key, float] = {}

    def wait(self, key: Key, now: float) -> float | None:
        """In how many seconds to look at the owner; None for now."""
        until = self._until.get(key)
        if until is None or until <= now:
            self._until.pop(key, None)
            return None
        return until - now

    def looked(self, key: Key, count: int, now: float) -> None:
        """The owner was looked at, and nothing is left to do until one of its pods changes."""
        if count > _MANY:
            self._until[key] = now + count * _SECONDS_FOR_EACH


class Claims:
    """Which pods are an owner's: those it controls and selects, and those nobody has yet.

    Args:
        hand: takes pods in and lets them go.
        pods: all pods.
    """

    def __init__(self, hand: Hand, pods: PodIndex) -> None:
        self._hand = hand
        self._pods = pods
        self._selectors: dict[str, dict[str, LabelSelector]] = {}
        self._alone: dict[Key, set[Key]] = {}

    def know(self, key: Key, selector: LabelSelector) -> None:
        """An owner is new or has changed: pods that nobody controls may be its own."""
        self._selectors.setdefault(key[0], {})[key[1]] = selector
        alone = self._pods.without_owner(key[0])
        if alone:
            found = {pod.key for pod in alone if selector.matches(pod.labels)}
            if found:
                self._alone.setdefault(key, set()).update(found)

    def forget(self, key: Key) -> None:
        """An owner is gone."""
        self._alone.pop(key, None)
        owners = self._selectors.get(key[0])
        if owners is not None:
            owners.pop(key[1], None)
            if not owners:
                del self._selectors[key[0]]

    def wanted_by(self, pod: SeenPod) -> list[Key]:
        """The owners that may take a pod in that nobody controls."""
        namespace = pod.key[0]
        found = [
            (namespace, name)
            for name, selector in self._selectors.get(namespace, {}).items()
            if selector.matches(pod.labels)
        ]
        for key in found:
            self._alone.setdefault(key, set()).add(pod.key)
        return found

    def of(self, key: Key, owner: Obj, selector: LabelSelector) -> list[SeenPod]:
        """The owner's pods, after taking in those that nobody controls and letting others go."""
        uid = owner["metadata"]["uid"]
        mine = []
        for pod in self._pods.owned_by(uid):
            if selector.matches(pod.labels):
                mine.append(pod)
            elif not pod.deleting:
                self._release(pod, uid)
        alone = self._alone.pop(key, None)
        if alone and not owner["metadata"].get("deletionTimestamp"):
            for other in sorted(alone):
                pod_alone = self._pods.get(other)
                if (
                    pod_alone is not None
                    and pod_alone.owner is None
                    and pod_alone.active
                    and selector.matches(pod_alone.labels)
                ):
                    self._adopt(pod_alone, owner)
                    mine.append(pod_alone)
        return mine

    def _adopt(self, pod: SeenPod, owner: Obj) -> None:
        item = self._hand.store.get(PODS, *pod.key)
        if item is None:
            return
        obj = item.obj
        owners = obj["metadata"].get("ownerReferences") or []
        obj["metadata"]["ownerReferences"] = [*owners, controller_reference(owner)]
        self._hand.update(PODS, obj)

    def _release(self, pod: SeenPod, uid: str) -> None:
        item = self._hand.store.get(PODS, *pod.key)
        if item is None:
            return
        obj = item.obj
        owners = obj["metadata"].get("ownerReferences") or []
        obj["metadata"]["ownerReferences"] = [one for one in owners if one.get("uid") != uid]
        self._hand.update(PODS, obj)
