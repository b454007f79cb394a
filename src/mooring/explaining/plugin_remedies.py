"""What might help against a plugin's objection to one node, plugin by plugin.

Called by the search with the pod and the node as they are at that moment. Remedies are proposals:
whether one helps is for the search to find out by asking again. A plugin that is not in the table
(a policy, for example) has its own reasons, and nothing is proposed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from mooring.explaining import edits
from mooring.explaining import remedy as costs
from mooring.explaining.node_remedies import node_affinity_remedies
from mooring.explaining.pod_remedies import inter_pod_affinity_remedies, topology_spread_remedies
from mooring.explaining.quantity_texts import rounded_up, show
from mooring.explaining.remedy import Remedy
from mooring.explaining.trial import NO_PROFILE, Objection, Trial
from mooring.explaining.volume_remedies import volume_remedies
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.resources import PODS, Resources, spec_requests
from mooring.model.taints import NO_EXECUTE, NO_SCHEDULE, Taint
from mooring.plugins.nodes.feature_requirements import required_features
from mooring.state.shapes import host_ports

_CORDONED: Final = Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)
_INSUFFICIENT: Final = "Insufficient "
#: So many pods are tried to be taken off a node, the least important first.
_MOVED: Final = 3


class RemedyCase(NamedTuple):
    """An objection, and where it stands."""

    trial: Trial
    pod: Pod
    node: Node
    objection: Objection


def remedies(case: RemedyCase, profiles: Iterable[str] = ()) -> Iterator[Remedy]:
    """Changes that might help, for the search to try.

    Args:
        case: the objection.
        profiles: the scheduler names that have a profile.
    """
    plugin = case.objection.plugin
    if plugin == NO_PROFILE:
        for name in profiles:
            yield Remedy(
                f"use the scheduler {name}",
                costs.TRIVIAL,
                frozenset({"scheduler"}),
                pod=lambda pod, name=name: edits.with_spec(pod, scheduler_name=name),  # type: ignore[misc]
            )
    elif plugin in _REMEDIES:
        yield from _REMEDIES[plugin](case)


def _gates(case: RemedyCase) -> Iterator[Remedy]:
    gates = case.pod.spec.scheduling_gates or []
    names = ", ".join(gate.name for gate in gates)
    yield Remedy(
        f"remove the scheduling gate{'s' if gates[1:] else ''} {names}",
        costs.TRIVIAL * len(gates),
        frozenset({"gates"}),
        pod=lambda pod: edits.with_spec(pod, scheduling_gates=None),
    )


def _name(case: RemedyCase) -> Iterator[Remedy]:
    yield Remedy(
        f"do not name the node {case.pod.node_name} in the pod",
        costs.GIVE_UP_CONDITION,
        frozenset({"name"}),
        pod=lambda pod: edits.with_spec(pod, node_name=None),
    )


def _cordon(case: RemedyCase) -> Iterator[Remedy]:
    yield Remedy(
        f"uncordon {case.node.name}",
        costs.CHANGE_NODE,
        frozenset({"cordon"}),
        node=edits.uncordoned,
    )
    yield Remedy(
        f"tolerate cordoned nodes ({_CORDONED})",
        costs.MOVE_POD,
        frozenset({f"tolerate {_CORDONED}"}),
        pod=lambda pod: edits.tolerating(pod, [_CORDONED]),
    )


def _taints(case: RemedyCase) -> Iterator[Remedy]:
    taints = [
        taint
        for taint in case.node.taints
        if taint.effect in (NO_SCHEDULE, NO_EXECUTE)
        and not any(one.tolerates(taint) for one in case.pod.tolerations)
    ]
    what = f"the taint{'s' if taints[1:] else ''} {', '.join(map(str, taints))}"
    yield Remedy(
        f"tolerate {what}",
        costs.GIVE_UP_CONDITION * len(taints),
        frozenset(f"tolerate {taint}" for taint in taints),
        pod=lambda pod: edits.tolerating(pod, taints),
    )
    yield Remedy(
        f"remove {what} from {case.node.name}",
        costs.REMOVE_TAINT * len(taints),
        frozenset(f"taint {taint}" for taint in taints),
        node=lambda node: edits.without_taints(node, taints),
    )


def _ports(case: RemedyCase) -> Iterator[Remedy]:
    columns = case.trial.cluster.columns
    row = columns.row_of[case.node.name]
    taken = {
        port
        for port in host_ports(case.pod)
        if columns.port_mask(*port)[row] or case.objection.nominated
    }
    numbers = sorted({number for _, _, number in taken})
    ports = f"the host port{'s' if numbers[1:] else ''} {', '.join(map(str, numbers))}"
    yield Remedy(
        f"do without {ports}",
        costs.GIVE_UP_PORT * len(numbers),
        frozenset(f"port {number}" for number in numbers),
        pod=lambda pod: edits.without_host_ports(pod, numbers),
    )
    for other in case.trial.cluster.pods_on(row):
        theirs = {(protocol, number) for _, protocol, number in host_ports(other)}
        if theirs & {(protocol, number) for _, protocol, number in taken}:
            yield _moved(other, case.node, f", which has {ports}")


def _resources(case: RemedyCase) -> Iterator[Remedy]:
    reasons = case.objection.verdict.reasons
    short = [one.removeprefix(_INSUFFICIENT) for one in reasons if one.startswith(_INSUFFICIENT)]
    requests = spec_requests(case.pod)
    free = _free(case)
    if any(not one.startswith(_INSUFFICIENT) for one in reasons):
        # Only fewer pods help against "Too many pods".
        yield from _make_room(case, {}, requests, free)
        return
    missing = {name: requests[name] - free[name] for name in short}
    yield from _less(missing, requests)
    yield from _make_room(case, missing, requests, free)


def _free(case: RemedyCase) -> Resources:
    node, cluster = case.node, case.trial.cluster
    free = Resources(node.allocatable)
    for name, amount in cluster.columns.usage(cluster.columns.row_of[node.name]).used.items():
        free[name] -= amount
    for other in cluster.nominations.counting(node.name, case.pod):
        for name, amount in other.requests.items():
            free[name] -= amount
    return free


def _less(missing: Mapping[str, int], requests: Resources) -> Iterator[Remedy]:
    if not missing:
        return
    cuts = {name: min(rounded_up(name, amount), requests[name]) for name, amount in missing.items()}
    texts = [
        f"{show(name, cut)} less {name} ({show(name, requests[name] - cut)} instead of "
        f"{show(name, requests[name])})"
        if cut < requests[name]
        else f"no {name} (instead of {show(name, cut)})"
        for name, cut in cuts.items()
    ]
    yield Remedy(
        f"ask for {' and '.join(texts)}",
        sum(1 + 4 * cut / requests[name] for name, cut in cuts.items()),
        frozenset(f"less {name}" for name in cuts),
        pod=lambda pod: edits.requesting_less(pod, cuts) or pod,
    )


def _make_room(
    case: RemedyCase, missing: Mapping[str, int], requests: Resources, free: Resources
) -> Iterator[Remedy]:
    """Take one other pod off the node: the least important that takes up enough."""
    if any(requests[name] > case.node.allocatable[name] for name in missing) or free[PODS] < 0:
        return
    cluster = case.trial.cluster
    others = cluster.pods_on(cluster.columns.row_of[case.node.name])
    enough = [
        other
        for other in others
        if all(other.requests[name] >= amount for name, amount in missing.items())
    ]
    enough.sort(key=lambda other: (other.priority, other.requests["cpu"], other.key))
    for other in enough[:_MOVED]:
        yield _moved(other, case.node)


def _moved(other: Pod, node: Node, why: str = "") -> Remedy:
    return Remedy(
        f"take {other.key} off {node.name}{why}",
        costs.MOVE_POD,
        frozenset({"move"}),
        moved=other.key,
    )


def _volumes(case: RemedyCase) -> Iterator[Remedy]:
    return volume_remedies(case.trial, case.pod)


def _features(case: RemedyCase) -> Iterator[Remedy]:
    missing = sorted(required_features(case.pod) - {*(case.node.status.declared_features or ())})
    yield Remedy(
        f"run a kubelet on {case.node.name} that declares {' and '.join(missing)}",
        costs.GIVE_UP_VOLUME,
        frozenset({"features"}),
        node=lambda node: edits.with_features(node, missing),
    )


def _node_affinity(case: RemedyCase) -> Iterator[Remedy]:
    return node_affinity_remedies(case.pod, case.node)


def _spread(case: RemedyCase) -> Iterator[Remedy]:
    return topology_spread_remedies(case.trial, case.pod, case.node)


def _affinity(case: RemedyCase) -> Iterator[Remedy]:
    return inter_pod_affinity_remedies(case.trial, case.pod, case.node)


_REMEDIES: Final[Mapping[str, Callable[[RemedyCase], Iterator[Remedy]]]] = {
    "SchedulingGates": _gates,
    "NodeUnschedulable": _cordon,
    "NodeName": _name,
    "TaintToleration": _taints,
    "NodeAffinity": _node_affinity,
    "NodePorts": _ports,
    "NodeResourcesFit": _resources,
    "VolumeRestrictions": _volumes,
    "NodeVolumeLimits": _volumes,
    "VolumeBinding": _volumes,
    "VolumeZone": _volumes,
    "PodTopologySpread": _spread,
    "InterPodAffinity": _affinity,
    "NodeDeclaredFeatures": _features,
}
