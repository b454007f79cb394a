"""What might help against a plugin's objection to one node, plugin by plugin.

Called by the search with the pod and the node as they are at that moment. Remedies are proposals:
whether one helps is for the search to find out by asking again. A plugin that is not in the table
(a policy, for example) has its own reasons, and nothing is proposed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from mooring.explaining import change as costs
from mooring.explaining import edits
from mooring.explaining.amounts import rounded_up, show
from mooring.explaining.change import Change
from mooring.explaining.node_demands import node_demands
from mooring.explaining.pod_relations import inter_pod_affinity, topology_spread
from mooring.explaining.trial import NO_PROFILE, Objection, Trial
from mooring.explaining.volume_demands import volume_demands
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.resources import PODS, Resources, spec_requests
from mooring.model.taints import NO_EXECUTE, NO_SCHEDULE, Taint
from mooring.plugins.feature_requirements import required_features
from mooring.state.shapes import shape_of

_CORDONED: Final = Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)
_INSUFFICIENT: Final = "Insufficient "
#: So many pods are tried to be taken off a node, the least important first.
_MOVED: Final = 3


class Case(NamedTuple):
    """An objection, and where it stands."""

    trial: Trial
    pod: Pod
    node: Node
    objection: Objection


def remedies(case: Case, profiles: Iterable[str] = ()) -> Iterator[Change]:
    """Changes that might help, for the search to try.

    Args:
        case: the objection.
        profiles: the scheduler names that have a profile.
    """
    plugin = case.objection.plugin
    if plugin == NO_PROFILE:
        for name in profiles:
            yield Change(
                f"use the scheduler {name}",
                costs.FREE_HAND,
                frozenset({"scheduler"}),
                pod=lambda pod, name=name: edits.with_spec(pod, scheduler_name=name),  # type: ignore[misc]
            )
    elif plugin in _REMEDIES:
        yield from _REMEDIES[plugin](case)


def _gates(case: Case) -> Iterator[Change]:
    gates = case.pod.spec.scheduling_gates or []
    names = ", ".join(gate.name for gate in gates)
    yield Change(
        f"remove the scheduling gate{'s' if gates[1:] else ''} {names}",
        costs.FREE_HAND * len(gates),
        frozenset({"gates"}),
        pod=lambda pod: edits.with_spec(pod, scheduling_gates=None),
    )


def _name(case: Case) -> Iterator[Change]:
    yield Change(
        f"do not name the node {case.pod.node_name} in the pod",
        costs.GIVE_UP_CONDITION,
        frozenset({"name"}),
        pod=lambda pod: edits.with_spec(pod, node_name=None),
    )


def _cordon(case: Case) -> Iterator[Change]:
    yield Change(
        f"uncordon {case.node.name}",
        costs.CHANGE_NODE,
        frozenset({"cordon"}),
        node=edits.uncordoned,
    )
    yield Change(
        f"tolerate cordoned nodes ({_CORDONED})",
        costs.MOVE_POD,
        frozenset({f"tolerate {_CORDONED}"}),
        pod=lambda pod: edits.tolerating(pod, [_CORDONED]),
    )


def _taints(case: Case) -> Iterator[Change]:
    taints = [
        taint
        for taint in case.node.taints
        if taint.effect in (NO_SCHEDULE, NO_EXECUTE)
        and not any(one.tolerates(taint) for one in case.pod.tolerations)
    ]
    what = f"the taint{'s' if taints[1:] else ''} {', '.join(map(str, taints))}"
    yield Change(
        f"tolerate {what}",
        costs.GIVE_UP_CONDITION * len(taints),
        frozenset(f"tolerate {taint}" for taint in taints),
        pod=lambda pod: edits.tolerating(pod, taints),
    )
    yield Change(
        f"remove {what} from {case.node.name}",
        costs.REMOVE_TAINT * len(taints),
        frozenset(f"taint {taint}" for taint in taints),
        node=lambda node: edits.without_taints(node, taints),
    )


def _ports(case: Case) -> Iterator[Change]:
    columns = case.trial.cluster.columns
    row = columns.row_of[case.node.name]
    taken = {
        port
        for port in shape_of(case.pod).host_ports
        if columns.port_mask(*port)[row] or case.objection.promised
    }
    numbers = sorted({number for _, _, number in taken})
    ports = f"the host port{'s' if numbers[1:] else ''} {', '.join(map(str, numbers))}"
    yield Change(
        f"do without {ports}",
        costs.GIVE_UP_PORT * len(numbers),
        frozenset(f"port {number}" for number in numbers),
        pod=lambda pod: edits.without_host_ports(pod, numbers),
    )
    for other in case.trial.cluster.pods_on(row):
        theirs = {(protocol, number) for _, protocol, number in shape_of(other).host_ports}
        if theirs & {(protocol, number) for _, protocol, number in taken}:
            yield _moved(other, case.node, f", which has {ports}")


def _resources(case: Case) -> Iterator[Change]:
    reasons = case.objection.verdict.reasons
    short = [one.removeprefix(_INSUFFICIENT) for one in reasons if one.startswith(_INSUFFICIENT)]
    asked = spec_requests(case.pod)
    free = _free(case)
    if any(not one.startswith(_INSUFFICIENT) for one in reasons):
        # Only fewer pods help against "Too many pods".
        yield from _make_room(case, {}, asked, free)
        return
    missing = {name: asked[name] - free[name] for name in short}
    yield from _less(missing, asked)
    yield from _make_room(case, missing, asked, free)


def _free(case: Case) -> Resources:
    node, cluster = case.node, case.trial.cluster
    free = Resources(node.allocatable)
    for name, amount in cluster.columns.usage(cluster.columns.row_of[node.name]).used.items():
        free[name] -= amount
    for other in cluster.nominations.counting(node.name, case.pod):
        for name, amount in other.requests.items():
            free[name] -= amount
    return free


def _less(missing: Mapping[str, int], asked: Resources) -> Iterator[Change]:
    if not missing:
        return
    cuts = {name: min(rounded_up(name, amount), asked[name]) for name, amount in missing.items()}
    texts = [
        f"{show(name, cut)} less {name} ({show(name, asked[name] - cut)} instead of "
        f"{show(name, asked[name])})"
        if cut < asked[name]
        else f"no {name} (instead of {show(name, cut)})"
        for name, cut in cuts.items()
    ]
    yield Change(
        f"ask for {' and '.join(texts)}",
        sum(1 + 4 * cut / asked[name] for name, cut in cuts.items()),
        frozenset(f"less {name}" for name in cuts),
        pod=lambda pod: edits.asking_less(pod, cuts) or pod,
    )


def _make_room(
    case: Case, missing: Mapping[str, int], asked: Resources, free: Resources
) -> Iterator[Change]:
    """Take one other pod off the node: the least important that takes up enough."""
    if any(asked[name] > case.node.allocatable[name] for name in missing) or free[PODS] < 0:
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


def _moved(other: Pod, node: Node, why: str = "") -> Change:
    return Change(
        f"take {other.key} off {node.name}{why}",
        costs.MOVE_POD,
        frozenset({"move"}),
        moved=other.key,
    )


def _volumes(case: Case) -> Iterator[Change]:
    return volume_demands(case.trial, case.pod)


def _features(case: Case) -> Iterator[Change]:
    missing = sorted(required_features(case.pod) - {*(case.node.status.declared_features or ())})
    yield Change(
        f"run a kubelet on {case.node.name} that declares {' and '.join(missing)}",
        costs.GIVE_UP_VOLUME,
        frozenset({"features"}),
        node=lambda node: edits.with_features(node, missing),
    )


def _demands(case: Case) -> Iterator[Change]:
    return node_demands(case.pod, case.node)


def _spread(case: Case) -> Iterator[Change]:
    return topology_spread(case.trial, case.pod, case.node)


def _affinity(case: Case) -> Iterator[Change]:
    return inter_pod_affinity(case.trial, case.pod, case.node)


_REMEDIES: Final[Mapping[str, Callable[[Case], Iterator[Change]]]] = {
    "SchedulingGates": _gates,
    "NodeUnschedulable": _cordon,
    "NodeName": _name,
    "TaintToleration": _taints,
    "NodeAffinity": _demands,
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
