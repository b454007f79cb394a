"""Which changes of pods and nodes help a pod that InterPodAffinity rejected.

Called by InterPodAffinity alone, with terms whose namespaces are known. It compares one change with
the terms; whether all terms are fulfilled then is found out when the pod is tried again.

v1.36.4 overlooks changes that help; these count here as well: a pod of which one anti-affinity
term was about another and not all of them (kubernetes#139161), pods in namespaces that a term
selects by label (kubernetes#141953), the last pod gone that a pod with affinity to its own kind had
to join (kubernetes#141354), and a new domain for a pod that others keep away.
"""

from collections.abc import Collection, Iterable, Sequence

from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.plugins.affinity.resolved_terms import ResolvedTerm
from mooring.plugins.pod_changes import is_assigned_or_nominated, is_same_pod

# parity v1.36.4: plugins/interpodaffinity/plugin.go


class RequiredTerms:
    """The required terms that decide about one pending pod.

    Args:
        affinity: what it requires nearby; a single pod must match all of it.
        anti_affinity: what it avoids; a pod that matches any of it keeps it away.
    """

    __slots__ = ("affinity", "anti_affinity")

    def __init__(
        self, affinity: Sequence[ResolvedTerm], anti_affinity: Sequence[ResolvedTerm]
    ) -> None:
        self.affinity = affinity
        self.anti_affinity = anti_affinity

    def affinity_matches(self, pod: Pod) -> bool:
        """Whether a pod is one that the pending pod requires nearby."""
        terms = self.affinity
        return bool(terms) and all(one.matches(pod.namespace, pod.labels) for one in terms)

    def anti_affinity_matches(self, pod: Pod) -> bool:
        """Whether a pod keeps the pending pod away from its domain."""
        return any(one.matches(pod.namespace, pod.labels) for one in self.anti_affinity)


def pod_update_helps(pod: Pod, old: Pod, new: Pod, terms: RequiredTerms) -> bool:
    """Whether other labels of a pod help: of the pending pod itself, or of one on a node."""
    if is_same_pod(pod, new):
        return True
    if not (is_assigned_or_nominated(old) and is_assigned_or_nominated(new)):
        return False
    if _frees(pod, old, new, terms) or (
        terms.affinity_matches(new) and not terms.affinity_matches(old)
    ):
        return True
    return any(
        one.matches(old.namespace, old.labels) and not one.matches(new.namespace, new.labels)
        for one in terms.anti_affinity
    )


def _frees(pod: Pod, old: Pod, new: Pod, terms: RequiredTerms) -> bool:
    """Whether a pod with affinity to its own kind has one fewer to join: a first goes anywhere."""
    return (
        terms.affinity_matches(old)
        and not terms.affinity_matches(new)
        and terms.affinity_matches(pod)
    )


def pod_add_helps(new: Pod, terms: RequiredTerms) -> bool:
    """Whether a pod that came to a node is one that the pending pod requires nearby."""
    return is_assigned_or_nominated(new) and terms.affinity_matches(new)


def pod_delete_helps(pod: Pod, old: Pod, terms: RequiredTerms, *, repelled: bool) -> bool:
    """Whether it helps that a pod is gone.

    Args:
        pod: the pending pod.
        old: the pod that is gone.
        terms: the pending pod's terms.
        repelled: whether the pod that is gone kept the pending pod away.
    """
    if not is_assigned_or_nominated(old):
        return False
    return (
        repelled
        or terms.anti_affinity_matches(old)
        or (terms.affinity_matches(old) and terms.affinity_matches(pod))
    )


def node_in_other_domain(
    old: Node | None, new: Node, together: Iterable[str], apart: Collection[str]
) -> bool:
    """Whether a node is new, or in another domain than before, in a way that may help.

    Args:
        old: the node before; None if it is new.
        new: the node now.
        together: the topology keys of affinity terms; a node must have them.
        apart: the topology keys of anti-affinity terms; a node without them is always fine.
    """
    labels = new.labels
    if old is None:
        return bool(apart) or any(key in labels for key in together)
    before = old.labels
    return any(key in labels and before.get(key) != labels[key] for key in together) or any(
        key in before and before[key] != labels.get(key) for key in apart
    )
