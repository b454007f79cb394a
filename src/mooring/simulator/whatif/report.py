"""What comes of operations: who moves where, who stays pending and why, budgets, cost.

`what_if` carries operations out on a fork of an explainer's cluster and compares what is there
before and after. The cluster itself stays as it is.
"""

from collections.abc import Sequence

import msgspec

from mooring.explaining.explainer import Explainer
from mooring.explaining.pending_pods import PendingGroup, pending_report
from mooring.simulator.disruption_budgets import BudgetBook, BudgetOutcome, BudgetVerdict
from mooring.simulator.forked_scheduler import Deciders, ForkedScheduler
from mooring.simulator.node_groups import Prices
from mooring.simulator.pod_owners import stays_with_node
from mooring.simulator.whatif.carrying_out import Carrier, LoadProfiles
from mooring.simulator.whatif.operations import Operation
from mooring.state.cluster import Cluster
from mooring.wording import natural_key


class MovedPod(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A pod that is elsewhere in the end, or created anew.

    Attributes:
        pod: ``namespace/name``.
        source: the node it was on; empty if it was pending or was not there.
        target: the node it is on; empty if it is pending or gone.
        why: which operation, or which pod that preempted it.
        new: an operation created it.
    """

    pod: str
    source: str = ""
    target: str = ""
    why: str = ""
    new: bool = False


class CostChange(msgspec.Struct, frozen=True, rename="camel"):
    """What the nodes cost an hour.

    Attributes:
        before: as it is.
        after: with the operations.
        drained: how much of that is for nodes that were drained, and could be removed.
        unpriced: how many nodes, in the end, have no price.
    """

    before: float
    after: float
    drained: float
    unpriced: int


class WhatIfReport(msgspec.Struct, frozen=True, rename="camel"):
    """What comes of operations.

    Attributes:
        operations: the operations as texts.
        nodes_before: how many nodes there are.
        nodes_after: how many there are in the end.
        moved: pods that have another node in the end, or ran anew on theirs; here and below, pods
            of DaemonSets and static pods do not count, as they come and go with their nodes.
        created: new pods that have a node.
        placed: pods that were pending before and have a node.
        pending: pods without a node in the end, by why.
        newly_pending: those of them that ran before or are new.
        lost: pods that nothing creates again.
        deleted: pods that were scaled down.
        budgets: the disruption budgets that lose pods.
        cost: None without prices.
        assumed: scheduler names without a profile, for which the first profile decided.
    """

    operations: tuple[str, ...]
    nodes_before: int
    nodes_after: int
    moved: tuple[MovedPod, ...]
    created: tuple[MovedPod, ...]
    placed: tuple[MovedPod, ...]
    pending: tuple[PendingGroup, ...]
    newly_pending: tuple[MovedPod, ...]
    lost: tuple[MovedPod, ...]
    deleted: tuple[MovedPod, ...]
    budgets: tuple[BudgetOutcome, ...]
    cost: CostChange | None
    assumed: tuple[str, ...]

    @property
    def left_pending(self) -> int:
        """How many pods are pending in the end."""
        return sum(len(one.pods) for one in self.pending)

    @property
    def fine(self) -> bool:
        """Whether every pod has a node in the end, none is lost, and no budget objects."""
        return not self.pending and not self.lost and not self.objecting

    @property
    def objecting(self) -> list[BudgetOutcome]:
        """The budgets that do not allow what happens."""
        bad = (BudgetVerdict.BLOCKS, BudgetVerdict.BREAKS)
        return [one for one in self.budgets if one.verdict in bad]


class WhatIfSettings(msgspec.Struct, frozen=True):
    """How a what-if is made.

    Attributes:
        deciders: what decides.
        load_profiles: makes the profiles of a policy.
        prices: what nodes cost.
    """

    deciders: Deciders
    load_profiles: LoadProfiles
    prices: Prices


def what_if(
    explainer: Explainer, operations: Sequence[Operation], settings: WhatIfSettings
) -> WhatIfReport:
    """Carry operations out on a fork.

    The scheduler works until it has nothing to do before the first one, and after each.

    Raises:
        InputError: something in them is not there, or a plugin failed.
    """
    cluster = explainer.cluster.fork()
    scheduler = ForkedScheduler(cluster, settings.deciders)
    scheduler.settle()
    before = _States(cluster)
    cost_before = settings.prices.total(cluster.nodes.values())
    nodes_before = len(cluster.nodes)
    carrier, book = Carrier(scheduler, settings.load_profiles), BudgetBook(cluster)
    causes: dict[str, str] = {}
    for operation in operations:
        scheduler.preempted.clear()
        there = {pod.key: pod for pod in cluster.all_pods()}
        leaving = carrier.carry_out(operation)
        for pod in (*leaving.evicted, *leaving.ended):
            causes[pod.key] = str(operation)
        victims = {key: by for key, by in scheduler.preempted.items() if key in there}
        for key, preemptor in victims.items():
            causes[key] = f"preempted by {preemptor}"
        book.note(leaving.evicted, [*leaving.ended, *(there[key] for key in victims)])
    drained = [cluster.nodes[name] for name in carrier.drained]
    cost_after = settings.prices.total(cluster.nodes.values())
    cost = CostChange(
        cost_before.price, cost_after.price, settings.prices.total(drained).price,
        cost_after.unpriced,
    )  # fmt: skip
    found = _Differences(before, cluster, causes, {one.key for one in scheduler.lost})
    return WhatIfReport(
        operations=tuple(map(str, operations)),
        nodes_before=nodes_before,
        nodes_after=len(cluster.nodes),
        moved=found.moved,
        created=found.created,
        placed=found.placed,
        pending=_pending(explainer, scheduler),
        newly_pending=found.newly_pending,
        lost=found.lost,
        deleted=found.deleted,
        budgets=tuple(book.outcomes()),
        cost=cost if settings.prices else None,
        assumed=tuple(settings.deciders.assumed),
    )


def _pending(explainer: Explainer, scheduler: ForkedScheduler) -> tuple[PendingGroup, ...]:
    decided_by = scheduler.deciders
    there = explainer.on(scheduler.cluster, decided_by.profiles, decided_by.registry)
    return pending_report(there, scheduler.pending(), changes=False).groups


class _States:
    """Where all pods are at some moment, and which pods they are."""

    def __init__(self, cluster: Cluster) -> None:
        self.nodes = {pod.key: pod.node_name for pod in cluster.all_pods()}
        self.uids = {pod.key: pod.uid for pod in cluster.all_pods()}
        self.with_node = {pod.key for pod in cluster.all_pods() if stays_with_node(pod)}


class _Differences:
    """What became of the pods between two moments."""

    def __init__(
        self, before: _States, cluster: Cluster, causes: dict[str, str], lost: set[str]
    ) -> None:
        after = _States(cluster)

        def moved(key: str) -> MovedPod:
            why = causes.get(key, "")
            node = after.nodes.get(key, "")
            return MovedPod(key, before.nodes.get(key, ""), node, why, key not in before.nodes)

        every = sorted({**before.nodes, **after.nodes}, key=natural_key)
        # Pods that come and go with their nodes are no news.
        silent = before.with_node | after.with_node
        every = [one for one in every if one not in silent or after.nodes.get(one) == ""]
        changed = [one for one in every if before.uids.get(one) != after.uids.get(one)]
        gone = [moved(key) for key in changed if key not in after.nodes]
        there = [moved(key) for key in changed if after.nodes.get(key)]
        self.moved = tuple(one for one in there if one.source)
        self.created = tuple(one for one in there if one.new)
        self.placed = tuple(
            moved(key) for key in every if before.nodes.get(key) == "" and after.nodes.get(key)
        )
        self.newly_pending = tuple(
            moved(key)
            for key in every
            if after.nodes.get(key) == "" and before.nodes.get(key) != ""
        )
        self.lost = tuple(one for one in gone if one.pod in lost)
        self.deleted = tuple(one for one in gone if one.pod not in lost)
