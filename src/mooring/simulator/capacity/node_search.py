"""How many new nodes are needed until all pods fit, or the cheapest mix of several kinds.

    bound: what is asked for against what is free ──> too few: not tried
    trial: the nodes are added on a fork, and the scheduler places the pods ──> all placed?

Mixes are tried in the order of their price, so the first that fits is the cheapest there is; only
if that takes too many trials, the cheapest found so far is given, and said to be that.
"""

import heapq
import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from mooring.explaining.explainer import Explainer
from mooring.explaining.published_devices import PublishedDevices
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.resources import spec_requests
from mooring.simulator.forked_scheduler import Deciders, ForkedScheduler
from mooring.simulator.nodes_like import add_like
from mooring.simulator.pod_owners import stays_with_node
from mooring.state.cluster import Cluster

_TRIALS: Final = 300
_FEWEST: Final = 10
#: In all trials together, about so many pods are placed.
_PLACED: Final = 1_000_000
#: So many mixes are considered.
_MIXES: Final = 50_000
_PODS: Final = "pods"


class NodeKind(NamedTuple):
    """Nodes that can be added: one that they are like, and the price of one."""

    model: Node
    price: float


class NodesNeeded(msgspec.Struct, frozen=True, rename="camel"):
    """What it takes until all pods fit.

    Attributes:
        pods: how many pods are to be placed.
        nodes: how many nodes like each of the models, by name; None if no number is enough.
        price: the sum of their prices.
        cheapest: no cheaper mix is enough.
        trials: how many mixes were tried.
        text: why no number is enough, as a clause about `pod`.
        pod: the pod that does not fit.
        assumed: scheduler names without a profile, for which the first profile decided.
    """

    pods: int
    nodes: dict[str, int] | None
    price: float = 0.0
    cheapest: bool = True
    trials: int = 0
    text: str = ""
    pod: str = ""
    assumed: tuple[str, ...] = ()


class NodeSearch:
    """Looks for the nodes that are needed.

    Args:
        explainer: the cluster.
        deciders: what decides.
        pods: the new pods to be placed; if there are none, those that are pending.
        kinds: the nodes that can be added.
        most: so many nodes of a kind are tried at most.
    """

    def __init__(
        self,
        explainer: Explainer,
        deciders: Deciders,
        pods: Sequence[Pod],
        kinds: Sequence[NodeKind],
        most: int,
    ) -> None:
        self._explainer = explainer
        self._deciders = deciders
        self._new = pods
        self._kinds = kinds
        self._most = most
        cluster = explainer.cluster
        self._wanted = list(pods) or [one for one in cluster.all_pods() if not one.node_name]
        self._enough = _bound(cluster, self._wanted, [one.model for one in kinds])
        self._tried: dict[tuple[int, ...], list[Pod]] = {}

    def search(self) -> NodesNeeded:
        """The cheapest mix.

        Raises:
            InputError: a plugin failed.
        """
        none = (0,) * len(self._kinds)
        if not self._pending(none):
            return self._answer(none, cheapest=True)
        alone = [found for kind in range(len(self._kinds)) if (found := self._alone(kind))]
        best = min(alone, key=self._price, default=None)
        if len(self._kinds) > 1:
            return self._mixed(best)
        return self._hopeless() if best is None else self._answer(best, cheapest=True)

    # -- one kind

    def _alone(self, kind: int) -> tuple[int, ...] | None:
        """The smallest number of nodes of one kind that is enough; None if none is."""

        def mix(number: int) -> tuple[int, ...]:
            return tuple(number if one == kind else 0 for one in range(len(self._kinds)))

        low = _first_true(lambda number: self._enough(mix(number)), self._most)
        if low is None:
            return None
        low = max(low, 1)
        high, left = low, len(self._pending(mix(low)))
        while left:
            low, high = high + 1, high * 2
            if high > self._most:
                return None
            before, left = left, len(self._pending(mix(high)))
            if left >= before:
                return None  # twice as many nodes help no pod more
        while low < high:
            middle = (low + high) // 2
            if self._pending(mix(middle)):
                low = middle + 1
            else:
                high = middle
        return mix(high)

    # -- several kinds

    def _mixed(self, best: tuple[int, ...] | None) -> NodesNeeded:
        """The first mix that is enough, in the order of their prices."""
        heap = [(self._price(mix), sum(mix), mix) for mix in self._smallest(best)]
        heapq.heapify(heap)
        most = max(_FEWEST, min(_TRIALS, _PLACED // max(len(self._wanted), 1)))
        start = len(self._tried)
        while heap:
            price, _, mix = heapq.heappop(heap)
            if best is not None and price >= self._price(best):
                return self._answer(best, cheapest=True)
            if len(self._tried) - start >= most:
                break
            if not self._pending(mix):
                return self._answer(mix, cheapest=True)
            more = (*mix[:-1], mix[-1] + 1)
            if more[-1] <= self._most:
                heapq.heappush(heap, (self._price(more), sum(more), more))
        return self._hopeless() if best is None else self._answer(best, cheapest=False)

    def _smallest(self, best: tuple[int, ...] | None) -> list[tuple[int, ...]]:
        """For all numbers of the other kinds, the fewest of the last kind that may be enough.

        Mixes that cost more than `best` are left out.
        """
        most = self._price(best) if best is not None else math.inf
        begun: list[tuple[int, ...]] = [()]
        for kind in self._kinds[:-1]:
            longer: list[tuple[int, ...]] = []
            for mix in begun:
                left = most - self._price(mix)
                number = self._most if math.isinf(left) else int(left / (kind.price or 1)) + 1
                longer += ((*mix, count) for count in range(min(number, self._most) + 1))
                if len(longer) > _MIXES:
                    break
            begun = longer[:_MIXES]
        found = []
        for mix in begun:
            fewest = _first_true(lambda count, mix=mix: self._enough((*mix, count)), self._most)  # type: ignore[misc]
            if fewest is not None:
                found.append((*mix, fewest))
        return found

    def _price(self, mix: tuple[int, ...]) -> float:
        return sum(count * kind.price for count, kind in zip(mix, self._kinds, strict=False))

    # -- trials

    def _pending(self, mix: tuple[int, ...]) -> list[Pod]:
        """The wanted pods that have no node if nodes are added."""
        known = self._tried.get(mix)
        if known is None:
            known = self._tried[mix] = self._still_pending(self._try(mix))
        return known

    def _try(self, mix: tuple[int, ...]) -> ForkedScheduler:
        scheduler = ForkedScheduler(self._explainer.cluster.fork(), self._deciders)
        for count, kind in zip(mix, self._kinds, strict=True):
            add_like(scheduler, kind.model, count)
        for pod in self._new:
            scheduler.create(pod)
        scheduler.settle()
        return scheduler

    def _still_pending(self, scheduler: ForkedScheduler) -> list[Pod]:
        wanted = {one.key for one in self._wanted}
        return [one for one in scheduler.pending() if one.key in wanted]

    # -- answers

    def _answer(self, mix: tuple[int, ...], *, cheapest: bool) -> NodesNeeded:
        names = [one.model.name for one in self._kinds]
        return NodesNeeded(
            len(self._wanted), dict(zip(names, mix, strict=True)), self._price(mix), cheapest,
            len(self._tried), assumed=tuple(self._deciders.assumed),
        )  # fmt: skip

    def _hopeless(self) -> NodesNeeded:
        """No number is enough: why, with the most nodes that were tried."""
        mix = max(self._tried, key=sum)
        if not sum(mix):
            mix = (1,) * len(self._kinds)
        scheduler = self._try(mix)
        left = self._still_pending(scheduler)
        pod = left[0] if left else self._wanted[0]
        explainer = self._explainer.on(scheduler.cluster)
        found = explainer.explain(pod, profile=self._deciders.name_for(pod))
        message = f"cannot be scheduled: {found.record.message}"
        text = found.causes[0].text if found.causes else message
        return NodesNeeded(
            len(self._wanted), None, trials=len(self._tried), text=text, pod=pod.key,
            assumed=tuple(self._deciders.assumed),
        )  # fmt: skip


def _first_true(check: Callable[[int], bool], most: int) -> int | None:
    """The smallest number for which something is true that stays true; None up to `most`."""
    if not check(most):
        return None
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if check(middle) else (middle + 1, high)
    return low


def _bound(
    cluster: Cluster, pods: Sequence[Pod], models: Sequence[Node]
) -> Callable[[tuple[int, ...]], bool]:
    """Whether there can be enough room for pods, as far as sums tell; never wrongly false."""
    #: Devices may provide these, and their number is not a sum.
    left_out = PublishedDevices(cluster.catalog).resources
    each_asks = [
        {name: amount for name, amount in spec_requests(pod).items() if name not in left_out}
        | {_PODS: 1}
        for pod in pods
    ]
    asked: dict[str, int] = {}
    for one in each_asks:
        for name, amount in one.items():
            if amount:
                asked[name] = asked.get(name, 0) + amount
    rooms = [
        {
            name: max(0, node.allocatable[name] - (len(node.pods) if name == _PODS else used))
            for name in asked
            for used in (node.used[name],)
        }
        for node in cluster.columns.nodes
    ]
    each = [_empty(cluster, model, asked) for model in models]
    if each_asks and all(one == each_asks[0] for one in each_asks):
        # Pods that are alike: count how many fit on each node, which tells more than sums.
        rooms = [_slots(one, each_asks[0]) for one in rooms]
        each = [_slots(one, each_asks[0]) for one in each]
        asked = {_PODS: len(pods)}
    free = {name: sum(one[name] for one in rooms) for name in asked}

    def enough(mix: tuple[int, ...]) -> bool:
        return all(
            free[name] + sum(count * one[name] for count, one in zip(mix, each, strict=True))
            >= amount
            for name, amount in asked.items()
        )

    return enough


def _slots(room: dict[str, int], asks: dict[str, int]) -> dict[str, int]:
    """How many pods that ask for so much have room."""
    return {_PODS: min(room[name] // amount for name, amount in asks.items() if amount)}


def _empty(cluster: Cluster, model: Node, names: dict[str, int]) -> dict[str, int]:
    """What a new node like another one has for pods."""
    pods = cluster.pods_on(cluster.columns.row_of[model.name])
    own = [one for one in pods if stays_with_node(one)]
    found = {}
    for name in names:
        taken = len(own) if name == _PODS else sum(spec_requests(one)[name] for one in own)
        found[name] = max(0, model.allocatable[name] - taken)
    return found
