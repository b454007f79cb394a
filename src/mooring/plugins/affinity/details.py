"""Which affinity or anti-affinity term keeps a pod from nodes, in words.

Called by the plugin about nodes that it rejects.
"""

from collections.abc import Mapping, Sequence

from mooring.framework.details.rejected_nodes import RejectedNodes
from mooring.model.pod import Pod
from mooring.model.selectors import PodAffinityTerm
from mooring.plugins.affinity.remedies import selected


def too_far(pod: Pod) -> str:
    """Near which pods the pod has to be."""
    affinity = pod.spec.affinity
    own = affinity.pod_affinity if affinity is not None else None
    terms = own.required_during_scheduling_ignored_during_execution if own is not None else None
    return f"has affinity to {_joined(terms or ())}, and there is no such pod"


def too_near(pod: Pod) -> str:
    """From which pods the pod has to be apart."""
    affinity = pod.spec.affinity
    own = affinity.pod_anti_affinity if affinity is not None else None
    terms = own.required_during_scheduling_ignored_during_execution if own is not None else None
    return f"has anti-affinity to {_joined(terms or ())}, and there is such a pod"


def unwanted(rejected: RejectedNodes, namespace_labels: Mapping[str, str]) -> list[str]:
    """For each node a pod whose anti-affinity is about this one."""
    there = _keeping_apart(rejected, namespace_labels)
    texts = []
    for node in rejected.nodes:
        others = [
            name
            for (key, value), names in there.items()
            if node.labels.get(key) == value
            for name in names
        ]
        more = f" (and {len(others) - 1} more)" if others[1:] else ""
        texts.append(f"is kept away by the anti-affinity of {''.join(others[:1])}{more}")
    return texts


def _keeping_apart(
    rejected: RejectedNodes, namespace_labels: Mapping[str, str]
) -> dict[tuple[str, str], list[str]]:
    """By topology key and domain, the pods there whose anti-affinity is about this one."""
    pod, cluster = rejected.pod, rejected.nodes.cycle.cluster
    found: dict[tuple[str, str], list[str]] = {}
    for row, node in enumerate(cluster.columns.nodes):
        for other in cluster.pods_on(row):
            for term in cluster.shape_of(other).anti_affinity:
                value = node.labels.get(term.topology_key)
                if value is not None and term.matches(pod.namespace, pod.labels, namespace_labels):
                    found.setdefault((term.topology_key, value), []).append(other.key)
    return found


def _joined(terms: Sequence[PodAffinityTerm]) -> str:
    return " and ".join(f"pods {selected(term)} (same {term.topology_key})" for term in terms)
