"""What might help if a pod's relations to other pods keep it from a node: spread and affinity."""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from mooring.explaining import edits
from mooring.explaining import remedy as costs
from mooring.explaining.node_remedies import label_node, requirement_text
from mooring.explaining.remedy import Remedy
from mooring.explaining.trial import Trial
from mooring.model.node import Node
from mooring.model.pod import Pod, TopologySpreadConstraint
from mooring.model.selectors import LabelSelector, PodAffinityTerm
from mooring.model.workloads import Namespace

_SPREAD: Final = "PodTopologySpread"
_REQUIRED: Final = "DoNotSchedule"
#: A larger skew is no answer any more.
_MAX_SKEW: Final = 1024
#: So many values of a missing label are tried, and so many pods are tried to be moved.
_TRIED: Final = 4


def topology_spread_remedies(trial: Trial, pod: Pod, node: Node) -> Iterator[Remedy]:
    """A larger skew, a wish instead of a demand, or a label that the node does not have."""
    for number, constraint in enumerate(pod.spec.topology_spread_constraints or ()):
        if constraint.when_unsatisfiable != _REQUIRED:
            continue
        if _accepts(trial, pod, node, constraint):
            continue
        yield from _relaxed(trial, pod, node, number, constraint)
        if constraint.topology_key not in node.labels:
            column = trial.cluster.columns.labels(constraint.topology_key)
            for value in sorted(column.values[1:])[:_TRIED]:
                yield label_node(node, {constraint.topology_key: value})


def _relaxed(
    trial: Trial, pod: Pod, node: Node, number: int, constraint: TopologySpreadConstraint
) -> Iterator[Remedy]:
    key = constraint.topology_key
    skew = _smallest_skew(trial, pod, node, constraint)
    if skew is not None:
        raised = replace(constraint, max_skew=skew)
        yield Remedy(
            f"raise maxSkew over {key} from {constraint.max_skew} to {skew}",
            costs.GIVE_UP_CONDITION + 0.1 * (skew - constraint.max_skew),
            frozenset({f"skew {key}"}),
            pod=lambda pod: edits.with_constraint(pod, number, raised),
        )
    wish = replace(constraint, when_unsatisfiable="ScheduleAnyway", min_domains=None)
    yield Remedy(
        f"make the spread over {key} a wish (whenUnsatisfiable: ScheduleAnyway)",
        costs.GIVE_UP_PORT,
        frozenset({f"spread {key}"}),
        pod=lambda pod: edits.with_constraint(pod, number, wish),
    )


def _accepts(trial: Trial, pod: Pod, node: Node, constraint: TopologySpreadConstraint) -> bool:
    """Whether a constraint alone would let the pod onto the node."""
    alone = edits.with_spec(pod, topology_spread_constraints=[constraint])
    return all(one.plugin != _SPREAD for one in trial.objections(alone, node.name))


def _smallest_skew(
    trial: Trial, pod: Pod, node: Node, constraint: TopologySpreadConstraint
) -> int | None:
    """The smallest skew with which the constraint lets the pod onto the node."""
    low, high = constraint.max_skew, constraint.max_skew + 1
    while not _accepts(trial, pod, node, replace(constraint, max_skew=high)):
        low, high = high, 2 * high
        if high > _MAX_SKEW:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if _accepts(trial, pod, node, replace(constraint, max_skew=middle)):
            high = middle
        else:
            low = middle
    return high


def inter_pod_affinity_remedies(trial: Trial, pod: Pod, node: Node) -> Iterator[Remedy]:
    """Give up a term, or take the pods away that want to be apart from this one."""
    affinity = pod.spec.affinity
    together = affinity.pod_affinity if affinity is not None else None
    apart = affinity.pod_anti_affinity if affinity is not None else None
    for own, anti in ((together, False), (apart, True)):
        terms = own.required_during_scheduling_ignored_during_execution if own is not None else None
        for term in terms or ():
            what = "anti-affinity" if anti else "affinity"
            yield Remedy(
                f"give up the {what} to pods {_selected(term)} by {term.topology_key}",
                costs.GIVE_UP_TERM,
                frozenset({f"{what} {term.topology_key} {_selected(term)}"}),
                pod=lambda pod, term=term, anti=anti: edits.without_pod_term(  # type: ignore[misc]
                    pod, term, anti=anti
                ),
            )
    for other in _keeping_apart(trial, pod, node)[:_TRIED]:
        yield Remedy(
            f"take {other.key} off {other.node_name}, which wants to be apart",
            costs.MOVE_POD,
            frozenset({f"apart {other.key}"}),
            moved=other.key,
        )


def _keeping_apart(trial: Trial, pod: Pod, node: Node) -> list[Pod]:
    """The pods whose anti-affinity is about this pod and reaches this node."""
    cluster = trial.cluster
    namespace = cluster.catalog.get(Namespace, pod.namespace)
    labels = namespace.labels if namespace is not None else {}
    found = []
    for row, there in enumerate(cluster.columns.nodes):
        for other in cluster.pods_on(row):
            for term in cluster.shape_of(other).anti_affinity:
                key = term.topology_key
                same = key in node.labels and there.labels.get(key) == node.labels[key]
                if same and term.matches(pod.namespace, pod.labels, labels):
                    found.append(other)
                    break
    return found


def _selected(term: PodAffinityTerm) -> str:
    selector = term.label_selector or LabelSelector()
    texts = [f"{key}={value}" for key, value in (selector.match_labels or {}).items()]
    texts += [requirement_text(one) for one in selector.match_expressions or ()]
    return f"with {', '.join(texts)}" if texts else "of any labels"
