"""What might help if affinity or anti-affinity to other pods keeps a pod from a node.

Called by the plugin.
"""

from collections.abc import Iterator
from typing import Final

from mooring.framework.remedies.remedy import Cost, Remedy, RemedyCase
from mooring.model import changed_copies
from mooring.model.pod import Pod
from mooring.model.selector_texts import requirement_text
from mooring.model.selectors import LabelSelector, PodAffinityTerm
from mooring.model.workloads import Namespace
from mooring.plugins.pod_changes import stays_away

#: So many pods are tried to be moved.
_TRIED: Final = 4


def inter_pod_affinity_remedies(case: RemedyCase) -> Iterator[Remedy]:
    """Give up a term, or take the pods away that want to be apart from this one."""
    affinity = case.pod.spec.affinity
    together = affinity.pod_affinity if affinity is not None else None
    apart = affinity.pod_anti_affinity if affinity is not None else None
    for own, anti in ((together, False), (apart, True)):
        terms = own.required_during_scheduling_ignored_during_execution if own is not None else None
        for term in terms or ():
            what = "anti-affinity" if anti else "affinity"
            yield Remedy(
                f"drop the {what} to pods {selected(term)} by {term.topology_key}",
                Cost.GIVE_UP_TERM,
                frozenset({f"{what} {term.topology_key} {selected(term)}"}),
                pod=changed_copies.without_pod_term(case.pod, term, anti=anti),
            )
    for other in list(filter(stays_away, _keeping_apart(case)))[:_TRIED]:
        yield Remedy.take_off(other, ", which has anti-affinity to this pod", f"apart {other.key}")


def _keeping_apart(case: RemedyCase) -> list[Pod]:
    """The pods whose anti-affinity is about this pod and reaches this node."""
    pod, node, cluster = case.pod, case.node, case.cluster
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


def selected(term: PodAffinityTerm) -> str:
    """Which pods a term is about."""
    selector = term.label_selector or LabelSelector()
    texts = [f"{key}={value}" for key, value in (selector.match_labels or {}).items()]
    texts += [requirement_text(one) for one in selector.match_expressions or ()]
    return f"with {', '.join(texts)}" if texts else "with any labels"
