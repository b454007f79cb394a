"""Operations carried out on a fork, one after the other; the scheduler settles after each.

`Carrier` looks names up, changes the fork, and notes which pods had to leave their nodes and why.
"""

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from mooring.config.profiles import Profile
from mooring.config.registry import Registry
from mooring.errors import InputError
from mooring.model.changed_copies import as_new, cordoned
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.workloads import PriorityClass
from mooring.simulator.forked_scheduler import ForkedScheduler
from mooring.simulator.nodes_like import add_like
from mooring.simulator.pod_owners import PodOwner, pods_of, stays_with_node, workload_of
from mooring.simulator.whatif.operations import (
    Add,
    Drain,
    Operation,
    Remove,
    RemoveZones,
    Restart,
    Scale,
    SetPriority,
    UsePolicy,
)
from mooring.wording import natural_key

_ZONE: Final = "topology.kubernetes.io/zone"
_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_STATEFUL_SET: Final = "StatefulSet"
_SCALABLE: Final = ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController", "Job")

#: Makes the profiles with a policy that is named, and gives what makes their plugins.
LoadProfiles = Callable[[str], tuple[Mapping[str, Profile], Registry]]


class Leaving:
    """The pods that an operation made leave their nodes.

    Attributes:
        evicted: by the eviction API, which respects disruption budgets.
        ended: with their node, which asks nobody.
    """

    def __init__(self) -> None:
        self.evicted: list[Pod] = []
        self.ended: list[Pod] = []


class Carrier:
    """Carries operations out.

    Args:
        scheduler: the scheduler on the fork.
        load_profiles: for a policy.

    Attributes:
        drained: the nodes that were drained and are still there.
    """

    def __init__(self, scheduler: ForkedScheduler, load_profiles: LoadProfiles) -> None:
        self._scheduler = scheduler
        self._cluster = scheduler.cluster
        self._load_profiles = load_profiles
        self.drained: dict[str, None] = {}
        self._removed: set[str] = set()

    def carry_out(self, operation: Operation) -> Leaving:
        """Carry one operation out and let the scheduler settle.

        Raises:
            InputError: something in it is not there.
        """
        leaving = Leaving()
        match operation:
            case Drain():
                self._drain([self._node(name) for name in operation.nodes], leaving)
            case Remove():
                self._remove([self._node(name) for name in operation.nodes], leaving)
            case RemoveZones():
                self._remove(self._nodes_in(operation.zones), leaving)
            case Add():
                add_like(self._scheduler, self._node(operation.like), operation.number)
            case Scale():
                self._scale(operation)
            case Restart():
                for workload in operation.workloads:
                    running = [one for one in self._pods_of(workload) if one.node_name]
                    leaving.evicted += running
                    self._scheduler.evict(running)
            case SetPriority():
                self._set_priority(operation)
            case UsePolicy():
                self._scheduler.use(*self._load_profiles(operation.place))
        self._scheduler.settle()
        return leaving

    # -- names

    def _node(self, name: str) -> Node:
        node = self._cluster.nodes.get(name)
        if name in self._removed and node is None:
            raise InputError(
                f"node {name} is removed by an earlier operation; put this one before that, or "
                "name another node"
            )
        if node is None:
            raise InputError(_unknown("node", name, self._cluster.nodes))
        return node

    def _nodes_in(self, zones: Iterable[str]) -> list[Node]:
        known = {node.labels.get(_ZONE, "") for node in self._cluster.nodes.values()} - {""}
        for zone in zones:
            if zone not in known:
                raise InputError(_unknown("zone", zone, known))
        wanted = set(zones)
        return [one for one in self._cluster.nodes.values() if one.labels.get(_ZONE) in wanted]

    def _pods_of(self, workload: PodOwner) -> list[Pod]:
        pods = pods_of(self._cluster, workload)
        if not pods:
            known = {str(workload_of(self._cluster, pod)): None for pod in self._cluster.all_pods()}
            raise InputError(_unknown("pod of", str(workload), known))
        return pods

    # -- nodes

    def _drain(self, nodes: list[Node], leaving: Leaving) -> None:
        scheduler = self._scheduler
        for node in nodes:
            scheduler.put_node(cordoned(node))
            self.drained[node.name] = None
        for node in nodes:
            going = [one for one in self._pods_on(node.name) if not stays_with_node(one)]
            leaving.evicted += going
            scheduler.evict(going)

    def _remove(self, nodes: list[Node], leaving: Leaving) -> None:
        gone = [(node.name, self._pods_on(node.name)) for node in nodes]
        for name, pods in gone:
            for pod in pods:
                self._scheduler.delete(pod)
            self._scheduler.remove_node(name)
            self.drained.pop(name, None)
            self._removed.add(name)
        for _, pods in gone:
            going = [one for one in pods if not stays_with_node(one)]
            leaving.ended += going
            self._scheduler.evict(going)

    def _pods_on(self, name: str) -> list[Pod]:
        return list(self._cluster.pods_on(self._cluster.columns.row_of[name]))

    # -- workloads

    def _scale(self, operation: Scale) -> None:
        workload = operation.workload
        if workload.kind not in _SCALABLE:
            raise InputError(f"scale {workload}: a {workload.kind} cannot be scaled")
        pods = [one for one in self._pods_of(workload) if not one.deleting]
        more = operation.replicas - len(pods)
        if more < 0:
            for pod in _leaving_first(workload, pods)[:-more]:
                self._scheduler.delete(pod)
            return
        newest = max(pods, key=lambda one: (one.metadata.creation_timestamp or "", one.key))
        for name in _new_names(workload, pods, newest, more):
            new = as_new(newest)
            metadata = replace(
                new.metadata, name=name, uid=f"uid--{workload.namespace}/{name}", annotations=None
            )
            self._scheduler.create(replace(new, metadata=metadata))

    def _set_priority(self, operation: SetPriority) -> None:
        wanted = self._priority_class(operation.value)
        for pod in self._pods_of(operation.workload):
            spec = replace(
                pod.spec,
                priority=wanted.value,
                priority_class_name=wanted.name or None,
                preemption_policy=wanted.preemption_policy or pod.spec.preemption_policy,
            )
            changed = replace(pod, spec=spec)
            if pod.node_name:
                self._scheduler.change(changed)
            else:  # a pending pod cannot change its priority, so it is another one
                self._scheduler.delete(pod)
                self._scheduler.create(changed)

    def _priority_class(self, value: int | str) -> PriorityClass:
        if isinstance(value, int):
            return PriorityClass(value=value)
        known = self._cluster.catalog.all(PriorityClass)
        if value not in known:
            raise InputError(_unknown("PriorityClass", value, known))
        return known[value]


def _leaving_first(workload: PodOwner, pods: list[Pod]) -> list[Pod]:
    """The pods in the order in which their controller deletes them."""
    if workload.kind == _STATEFUL_SET:
        return sorted(pods, key=lambda one: natural_key(one.name), reverse=True)
    # parity v1.36.4: pkg/controller/controller_utils.go ActivePodsWithRanks.Less: pods without a
    # node, the cheapest, those on nodes with most others, and the newest go first.
    together = Counter(one.node_name for one in pods)
    newest = sorted(pods, key=lambda one: one.metadata.creation_timestamp or "", reverse=True)
    return sorted(
        newest, key=lambda one: (bool(one.node_name), _cost(one), -together[one.node_name])
    )


def _cost(pod: Pod) -> int:
    text = pod.annotations.get(_COST, "0")
    return int(text) if text.lstrip("-").isdecimal() else 0


def _new_names(workload: PodOwner, pods: list[Pod], newest: Pod, number: int) -> list[str]:
    taken = {one.name for one in pods}
    owner = newest.controller
    base = workload.name if owner is None else owner.name
    stateful = workload.kind == _STATEFUL_SET
    form = f"{base}-{{}}" if stateful else f"{base}-new-{{}}"
    found: list[str] = []
    count = 0 if stateful else 1
    while len(found) < number:
        name = form.format(count)
        if name not in taken:
            found.append(name)
        count += 1
    return found


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known)[:20_000], n=1)
    return f"there is no {what} {name}" + (f"; did you mean {near[0]}?" if near else "")
