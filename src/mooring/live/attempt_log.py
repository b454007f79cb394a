"""What the log says of each pod: that it is unschedulable and why, and, in detail, where it goes.

The loop tells it what came of attempts. At the default level a pod that is bound at once costs a
look into a dict and leaves no line. Many pods may be unschedulable for one reason: the log's own
limit (`log_kinds`) names a few of them a minute and counts the others.
"""

import functools
import logging
import re
from collections.abc import Callable
from typing import Final

from mooring.framework.decisions.decision import Decision, Scoring
from mooring.log_kinds import TRACE, alike
from mooring.model.pod import Pod
from mooring.scheduler.effects import Bind, PatchStatus
from mooring.wording import counted

log = logging.getLogger("mooring.live")

#: Other numbers are no other reason: nodes come and go, and so do those that a reason counts.
_NUMBER: Final = re.compile(r"\d+")
_BETWEEN_REASONS: Final = re.compile(r"[.,:] ")
_UNSCHEDULABLE: Final = "Unschedulable"
_MOST_SHOWN: Final = 1024


class AttemptLog:
    """Logs what comes of attempts.

    Args:
        clock: seconds that only grow, the loop's clock.

    Attributes:
        detailed: whether every binding is logged, and `decided` has to be called.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.detailed = log.isEnabledFor(logging.DEBUG)
        # By the pods' unique ids: when it was logged that they are unschedulable, and why.
        self._unschedulable: dict[str, tuple[float, int]] = {}
        # What is to be said of a node that was chosen, until it is known what came of it.
        self._scores: dict[str, str] = {}

    def decided(self, decision: Decision) -> None:
        """A decision was made; what its scores were is said when the pod is bound."""
        pod, best = decision.cycle.pod, decision.best
        if not len(best):
            return
        scoring = decision.scoring
        if scoring is None:
            only = "the nominated node" if decision.nominated else "the only node that fits"
            self._scores[pod.uid] = only
            return
        self._scores[pod.uid] = f"score {scoring.total.max()}"
        if len(best) > 1:
            self._scores[pod.uid] += f", tied with {counted(len(best) - 1, 'other node')}"
        if log.isEnabledFor(TRACE):
            name = decision.cycle.cluster.columns.nodes[int(best[0])].name
            log.log(
                TRACE, "pod %s on node %s, one of %s that %s: %s", pod.key, name,
                counted(len(scoring.rows), "node"), "fits" if len(scoring.rows) == 1 else "fit",
                _parts(scoring),
            )  # fmt: skip

    def failed(self, effect: PatchStatus) -> None:
        """An attempt failed; errors are logged where they happen."""
        pod = effect.pod
        self._scores.pop(pod.uid, None)
        if effect.reason != _UNSCHEDULABLE:
            return
        known = self._unschedulable.get(pod.uid)
        reason = _reason(effect.message)
        if known is not None and known[1] == reason:
            return
        self._unschedulable[pod.uid] = (known[0] if known is not None else self._clock(), reason)
        room = (f"; pods are being preempted on node {effect.nominated_node}") * bool(
            effect.nominated_node
        )
        log.info(
            "pod %s is %sunschedulable: %s%s", pod.key, "" if known is None else "still ",
            _shown(effect.message), room, extra=alike("unschedulable"),
        )  # fmt: skip

    def bound(self, effect: Bind) -> None:
        """A pod was bound."""
        known = self._unschedulable.pop(effect.pod.uid, None) if self._unschedulable else None
        if known is None and not self.detailed:
            return
        pod, node = effect.pod, effect.binding.node_name
        if known is not None:
            log.info(
                "pod %s is bound to node %s after being unschedulable for %s",
                pod.key, node, _time(self._clock() - known[0]), extra=alike("schedulable"),
            )  # fmt: skip
        if self.detailed:
            log.debug(
                "bound pod %s to node %s: %s, %s, attempt %d", pod.key, node,
                self._scores.pop(pod.uid, "no score"), _time(self._clock() - effect.first_tried),
                effect.attempt,
            )  # fmt: skip

    def forget_gone(self, pod_by_uid: Callable[[str], Pod | None]) -> None:
        """Forget pods that are gone; called now and then."""
        for uid in [one for one in self._unschedulable if pod_by_uid(one) is None]:
            del self._unschedulable[uid]
        for uid in [one for one in self._scores if pod_by_uid(one) is None]:
            del self._scores[uid]


@functools.lru_cache(maxsize=64)
def _reason(message: str) -> int:
    """The same number for the same reasons; thousands of pods may have one message."""
    return hash(frozenset(_BETWEEN_REASONS.split(_NUMBER.sub("", message))))


def _parts(scoring: Scoring) -> str:
    """What each plugin gave to the best node: weight times score."""
    place = int(scoring.total.argmax())
    return ", ".join(
        f"{one.name} {one.weight}×{one.normalized[place]}"
        for one in scoring.scores
        if one.normalized is not None
    )


def _shown(message: str) -> str:
    """As much of a message as the pod's event has; plugins write as much as they like."""
    return message if len(message) <= _MOST_SHOWN else f"{message[: _MOST_SHOWN - 4]} ..."


def _time(seconds: float) -> str:
    """A time for people: ``4ms``, ``1.3s`` or ``250s``."""
    if seconds < 1:
        return f"{1000 * seconds:.0f}ms"
    return f"{seconds:.1f}s" if seconds < 10 else f"{seconds:.0f}s"
