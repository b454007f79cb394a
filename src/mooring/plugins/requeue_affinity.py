"""Which changes of pods and nodes help a pod that InterPodAffinity refused.

Called by InterPodAffinity alone, with terms whose namespaces are known. It compares one change with
the terms; whether all terms are fulfilled then is found out when the pod is tried again.

v1.36.4 overlooks changes that help; these are told here as well: a pod of which one anti-affinity
term was about another and not all of them (kubernetes#139161), pods in namespaces that a term
selects by label (kubernetes#141953), the last pod gone that a pod with affinity to its own kind had
to join (kubernetes#141354), and a new domain for a pod that others keep away.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.plugins.requeue_pods import has_place, is_itself

# parity v1.36.4: plugins/interpodaffinity/plugin.go


class About(Protocol):
    """A term of the waiting pod."""

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Whether the term is about a pod of this namespace with these labels."""


class Terms:
    """The required terms that decide about one waiting pod.

    Args:
        affinity: what it demands nearby; a single pod must match all of it.
        anti_affinity: what it avoids; a pod that matches any of it keeps it away.
    """

    __slots__ = ("affinity", "anti_affinity")

    def __init__(self, affinity: Sequence[About], anti_affinity: Sequence[About]) -> None:
        self.affinity = affinity
        self.anti_affinity = anti_affinity

    def wanted(self, pod: Pod) -> bool:
        """Whether a pod is one that the waiting pod demands nearby."""
        terms = self.affinity
        return bool(terms) and all(one.matches(pod.namespace, pod.labels) for one in terms)

    def avoided(self, pod: Pod) -> bool:
        """Whether a pod keeps the waiting pod away from its domain."""
        return any(one.matches(pod.namespace, pod.labels) for one in self.anti_affinity)


def is_updated_well(pod: Pod, old: Pod, new: Pod, terms: Terms) -> bool:
    """Whether other labels of a pod help: of the waiting pod itself, or of one on a node."""
    if is_itself(pod, new):
        return True
    if not (has_place(old) and has_place(new)):
        return False
    if _frees(pod, old, new, terms) or (terms.wanted(new) and not terms.wanted(old)):
        return True
    return any(
        one.matches(old.namespace, old.labels) and not one.matches(new.namespace, new.labels)
        for one in terms.anti_affinity
    )


def _frees(pod: Pod, old: Pod, new: Pod, terms: Terms) -> bool:
    """Whether a pod with affinity to its own kind has one fewer to join: a first goes anywhere."""
    return terms.wanted(old) and not terms.wanted(new) and terms.wanted(pod)


def is_welcome(new: Pod, terms: Terms) -> bool:
    """Whether a pod that came to a node is one that the waiting pod demands nearby."""
    return has_place(new) and terms.wanted(new)


def is_gone_well(pod: Pod, old: Pod, terms: Terms, *, repelled: bool) -> bool:
    """Whether it helps that a pod is gone.

    Args:
        pod: the waiting pod.
        old: the pod that is gone.
        terms: the waiting pod's terms.
        repelled: whether the pod that is gone kept the waiting pod away.
    """
    if not has_place(old):
        return False
    return repelled or terms.avoided(old) or (terms.wanted(old) and terms.wanted(pod))


def is_other_domain(
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
