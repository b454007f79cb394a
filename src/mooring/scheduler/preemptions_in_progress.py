"""Preemptions in progress: which pods wait for which victims, until the state shows them going.

Kept by `Core`; plugins see through their handle which pods preempt. The API server answers a
deletion before the watch tells of it. A pod that is tried in between finds victims where they were:
its own, and those of pods that were nominated to the same node. It would take more of them. So it
is held back until the state has seen each of its victims go, and nobody preempts more on a node
while victims of others are on their way. kube-scheduler has the same gate, but opens it with the
answer, and knows of others' victims by the watch alone.
"""

# parity v1.36.4: framework/preemption/executor.go isRunningPreemption

from collections.abc import Iterable, Set
from typing import Final

from mooring.model.pod import Pod

#: So long after the answer a pod waits for what the watch should show; something is wrong then,
#: and it is better to try again with what is known.
PATIENCE_SECONDS: Final = 30.0
_NOBODY: Final[frozenset[str]] = frozenset()


class _Preemption:
    """Victims of one pod; `until` is None as long as they are being deleted."""

    __slots__ = ("node", "preemptor", "unseen", "until")

    def __init__(self, preemptor: Pod, node: str, unseen: set[str]) -> None:
        self.preemptor = preemptor
        self.node = node
        self.unseen = unseen
        self.until: float | None = None

    @property
    def over(self) -> bool:
        return self.until is not None and not self.unseen


class PreemptionsInProgress:
    """The preemptions in progress; pods are known by their unique ids.

    Attributes:
        preemptors: the pods for which victims are being preempted, always as they are now.
    """

    def __init__(self) -> None:
        self._of: dict[str, _Preemption] = {}
        self.preemptors: Set[str] = self._of.keys()
        self._for: dict[str, list[str]] = {}
        self._on: dict[str, set[str]] = {}

    def start(self, preemptor: Pod, node: str, victims: Iterable[str]) -> None:
        """Pods are to leave a node for another one; those that are going already are left out."""
        self._end(preemptor.uid)
        unseen = set(victims)
        self._of[preemptor.uid] = _Preemption(preemptor, node, unseen)
        for victim in unseen:
            self._for.setdefault(victim, []).append(preemptor.uid)
            self._on.setdefault(node, set()).add(victim)

    def leaving(self, node: str) -> Set[str]:
        """The pods that are to leave a node and of which the state does not show it yet."""
        return self._on.get(node, _NOBODY)

    def reported(self, preemptor: Pod, now: float, *, failed: bool = False) -> bool:
        """The API server answered; says whether the pod need not wait any longer."""
        preemption = self._of.get(preemptor.uid)
        if preemption is None:
            return True
        preemption.until = now + PATIENCE_SECONDS
        if failed or preemption.over:
            self._end(preemptor.uid)
            return True
        return False

    def seen(self, victim: str) -> list[Pod]:
        """The state shows that a pod goes or is gone; the pods that need not wait any longer."""
        done = []
        for uid in self._for.pop(victim, ()):
            preemption = self._of[uid]
            preemption.unseen.discard(victim)
            self._has_left(preemption.node, victim)
            if preemption.over:
                done.append(preemption.preemptor)
                del self._of[uid]
        return done

    def late(self, now: float) -> list[Pod]:
        """The pods that waited too long for what the state should show."""
        found = [
            one.preemptor for one in self._of.values() if one.until is not None and one.until <= now
        ]
        for preemptor in found:
            self._end(preemptor.uid)
        return found

    def next_time(self) -> float | None:
        """When the first of them has waited too long."""
        return min((one.until for one in self._of.values() if one.until is not None), default=None)

    def _end(self, uid: str) -> None:
        preemption = self._of.pop(uid, None)
        if preemption is None:
            return
        for victim in preemption.unseen:
            waiting = self._for[victim]
            waiting.remove(uid)
            if not waiting:
                del self._for[victim]
                self._has_left(preemption.node, victim)

    def _has_left(self, node: str, victim: str) -> None:
        on_node = self._on.get(node, set())
        on_node.discard(victim)
        if not on_node:
            self._on.pop(node, None)

    def __contains__(self, victim: object) -> bool:
        return victim in self._for

    def __len__(self) -> int:
        return len(self._of)
