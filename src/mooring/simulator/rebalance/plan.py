"""Moves of running pods, ranked by what they gain, each proved on a fork before the next.

    every group of alike pods ──gain──> heap
    the best ──> gain now? ── less ──> back into the heap
                    │ the same
                    └──> evicted on a fork, scheduled there ──> it is where it gains: a move

Disruption budgets are respected: a pod whose budget allows nothing is left alone, and moves that
a budget does not allow at the same time are in waves, to be carried out one after the other.
"""

import heapq
from typing import Final

import msgspec

from mooring.explaining.explainer import Explainer
from mooring.model.pod import Pod
from mooring.simulator.disruption_budgets import Budgets
from mooring.simulator.forked_scheduler import Deciders, ForkedScheduler
from mooring.simulator.rebalance.gains import MISPLACED, Gain, Gains
from mooring.state.cluster import Cluster

#: What other pods gain may have grown by the moves of a round; so many rounds are made.
_ROUNDS: Final = 3


class Move(msgspec.Struct, frozen=True, rename="camel"):
    """A pod that is to be evicted, and where the scheduler puts it then.

    Attributes:
        wave: moves of one wave may be carried out together, later waves when its pods run again.
        pod: ``namespace/name``.
        source: the node it is on.
        target: the node it goes to.
        gain: how many points more its total is there; None if it does not fit on its node any more.
        why: which plugins make the difference.
        budgets: the disruption budgets that protect it.
    """

    wave: int
    pod: str
    source: str = msgspec.field(name="from")
    target: str = msgspec.field(name="to")
    gain: int | None
    why: str
    budgets: tuple[str, ...] = ()


class RebalancePlan(msgspec.Struct, frozen=True, rename="camel"):
    """Moves, the most useful first.

    Attributes:
        moves: the moves, in the order in which they were proved.
        looked_at: how many running pods could be moved.
        protected: how many would gain, but their disruption budgets allow no eviction.
        unconfirmed: how many would gain by their scores, but did not when it was tried.
        more: there may be more moves, but no more were wanted.
        assumed: scheduler names without a profile, for which the first profile decided.
    """

    moves: tuple[Move, ...]
    looked_at: int
    protected: int
    unconfirmed: int
    more: bool
    assumed: tuple[str, ...] = ()


class Limits(msgspec.Struct, frozen=True):
    """What moves are wanted.

    Attributes:
        most: so many moves at most.
        least_gain: each gains at least so many points.
        namespace: only pods in it; empty for all.
    """

    most: int
    least_gain: int
    namespace: str = ""


class Rebalancing:
    """Makes a plan for a cluster, on forks of it.

    Args:
        explainer: the cluster.
        deciders: what decides.
        limits: what moves are wanted.
    """

    def __init__(self, explainer: Explainer, deciders: Deciders, limits: Limits) -> None:
        self._explainer = explainer
        self._deciders = deciders
        self._limits = limits
        scheduler = ForkedScheduler(explainer.cluster.fork(), deciders)
        scheduler.settle()
        self._cluster = scheduler.cluster
        self._budgets = Budgets(self._cluster)
        self._waves = _Waves(self._budgets)
        self._moves: list[Move] = []
        self._done: set[str] = set()
        self._protected: set[str] = set()
        self._unconfirmed: set[str] = set()

    def plan(self) -> RebalancePlan:
        """Find the moves.

        Raises:
            InputError: a plugin failed.
        """
        looked_at = sum(map(len, self._gains().groups(self._limits.namespace)))
        for _ in range(_ROUNDS):
            before = len(self._moves)
            self._round()
            if len(self._moves) in (before, self._limits.most):
                break
        return RebalancePlan(
            tuple(self._moves),
            looked_at,
            len(self._protected - self._done),
            len(self._unconfirmed),
            len(self._moves) == self._limits.most,
            tuple(self._deciders.assumed),
        )

    def _gains(self) -> Gains:
        return Gains(self._explainer.on(self._cluster), self._deciders)

    def _round(self) -> None:
        gains = self._gains()
        heap: list[tuple[int, int, int, list[Pod]]] = []
        for number, pods in enumerate(gains.groups(self._limits.namespace)):
            left = [one for one in pods if one.key not in self._done | self._unconfirmed]
            movable = [one for one in left if self._budgets.allow_eviction(one)]
            if left and (found := gains.of(left[0])).points >= self._limits.least_gain:
                if movable:
                    heap.append((-found.points, number, len(self._moves), movable))
                self._protected.update(one.key for one in left if one not in movable)
        heapq.heapify(heap)
        while heap and len(self._moves) < self._limits.most:
            points, number, asked, pods = heapq.heappop(heap)
            if asked < len(self._moves):  # something moved since
                found = gains.of(pods[0])
                if found.points < self._limits.least_gain:
                    continue
                if heap and -found.points > heap[0][0]:
                    heapq.heappush(heap, (-found.points, number, len(self._moves), pods))
                    continue
            else:
                found = Gain(-points)
            if self._try(gains, pods[0], found):
                gains = self._gains()
            if len(pods) > 1:
                heapq.heappush(heap, (points, number, -1, pods[1:]))

    def _try(self, gains: Gains, pod: Pod, found: Gain) -> bool:
        """Carry a move out on a fork; whether it is one."""
        target, after = self._carried_out(pod)
        if not target or target == pod.node_name:
            self._unconfirmed.add(pod.key)
            return False
        gain = None if found.points >= MISPLACED else found.points
        budgets = tuple(one.key for one in self._budgets.of(pod))
        why = gains.why(pod, target)
        move = Move(self._waves.of(pod), pod.key, pod.node_name, target, gain, why, budgets)
        self._moves.append(move)
        self._done.add(pod.key)
        self._cluster = after
        return True

    def _carried_out(self, pod: Pod) -> tuple[str, Cluster]:
        """Where a pod goes that is evicted, and the cluster then; empty if others have to move."""
        fork = self._cluster.fork()
        scheduler = ForkedScheduler(fork, self._deciders)
        scheduler.settle()
        scheduler.evict([pod])
        scheduler.settle()
        new = fork.pod(pod.namespace, pod.name)
        if new is None or scheduler.preempted:
            return "", fork
        return new.node_name, fork


class _Waves:
    """Which moves may be carried out together."""

    def __init__(self, budgets: Budgets) -> None:
        self._budgets = budgets
        self._wave = 1
        self._used: dict[str, int] = {}

    def of(self, pod: Pod) -> int:
        """The wave of the next move."""
        budgets = self._budgets.of(pod)
        if any(self._used.get(one.key, 0) >= one.status.disruptions_allowed for one in budgets):
            self._wave += 1
            self._used = {}
        for one in budgets:
            self._used[one.key] = self._used.get(one.key, 0) + 1
        return self._wave
