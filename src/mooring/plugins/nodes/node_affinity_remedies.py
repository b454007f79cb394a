"""What might help if a node does not have what the pod demands of nodes: labels, or its name.

Either the pod gives up the conditions that the node does not meet, or the node gets the labels.
Called by the plugin with the pod and the node that it rejects.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from mooring.framework.remedies.remedy import Cost, Remedy
from mooring.model import changed_copies
from mooring.model.node import Node
from mooring.model.node_facts import states_a_fact
from mooring.model.pod import Pod
from mooring.model.selector_texts import requirement_text
from mooring.model.selectors import NodeSelector, NodeSelectorTerm, Requirement

_NAME: Final = "metadata.name"


def node_affinity_remedies(pod: Pod, node: Node) -> Iterator[Remedy]:
    """Changes to the pod's node selector and affinity, or to the node's labels."""
    selector = {
        key: value for key, value in pod.node_selector.items() if node.labels.get(key) != value
    }
    required = required_nodes(pod)
    if required is None or required.matches(node.labels, node.name):
        # An empty list stands for "nothing is missing".
        missing: list[tuple[NodeSelectorTerm, list[Requirement]]] = []
    else:
        missing = [
            (term, unmet_requirements(term, node)) for term in required.node_selector_terms or ()
        ]
        missing = [(term, unmet) for term, unmet in missing if unmet]
    if not missing and not selector:
        return
    yield _give_up(pod, selector, missing, required)
    yield from _label(node, selector, missing)


def required_nodes(pod: Pod) -> NodeSelector | None:
    """What the pod's own node affinity requires."""
    affinity = pod.spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return None
    return affinity.node_affinity.required_during_scheduling_ignored_during_execution


def unmet_requirements(term: NodeSelectorTerm, node: Node) -> list[Requirement]:
    """The conditions of a term that a node does not meet."""
    fields = {_NAME: node.name}
    return [
        *(one for one in term.match_expressions or () if not one.matches(node.labels)),
        *(one for one in term.match_fields or () if not one.matches(fields)),
    ]


def _give_up(
    pod: Pod,
    selector: dict[str, str],
    missing: Sequence[tuple[NodeSelectorTerm, list[Requirement]]],
    required: NodeSelector | None,
) -> Remedy:
    texts = [f"the node selector {key}={value}" for key, value in selector.items()]
    if not missing:
        return Remedy(
            f"drop {' and '.join(texts)}",
            Cost.GIVE_UP_CONDITION * len(selector),
            frozenset(f"selector {key}" for key in selector),
            pod=changed_copies.without_selector(pod, selector),
        )
    term, unmet = min(missing, key=lambda one: len(one[1]))
    texts += [f"the requirement {requirement_text(one)}" for one in unmet]
    left = _without(required, term, unmet)
    without_selector = changed_copies.without_selector(pod, selector)
    return Remedy(
        f"drop {' and '.join(texts)}",
        Cost.GIVE_UP_CONDITION * (len(selector) + len(unmet)),
        frozenset(f"selector {key}" for key in (*selector, *(one.key for one in unmet))),
        pod=changed_copies.with_required_nodes(without_selector, left),
    )


def _without(
    required: NodeSelector | None, term: NodeSelectorTerm, unmet: list[Requirement]
) -> NodeSelector | None:
    """The demands without some conditions of one term; None if nothing is demanded any more."""
    expressions = [one for one in term.match_expressions or () if one not in unmet]
    fields = [one for one in term.match_fields or () if one not in unmet]
    if required is None or not (expressions or fields):
        return None
    new = replace(term, match_expressions=expressions or None, match_fields=fields or None)
    terms = [new if one is term else one for one in required.node_selector_terms or ()]
    return NodeSelector(node_selector_terms=terms)


def _label(
    node: Node,
    selector: dict[str, str],
    missing: Sequence[tuple[NodeSelectorTerm, list[Requirement]]],
) -> Iterator[Remedy]:
    for _, unmet in missing or [(NodeSelectorTerm(), [])]:
        labels: dict[str, str | None] = dict(selector)
        for one in unmet:
            if one.key == _NAME and not one.matches({}):
                break
            labels[one.key] = _satisfying(one)
        else:
            if not any(map(states_a_fact, labels)):
                yield Remedy.label_node(node, labels)


def _satisfying(requirement: Requirement) -> str | None:
    """A value of the label with which the condition holds; None if it must not be there."""
    values = requirement.values or [""]
    if requirement.operator == "In":
        return values[0]
    if requirement.operator == "Exists":
        return "true"
    if requirement.operator in ("Gt", "Lt"):
        try:
            return str(int(values[0]) + (1 if requirement.operator == "Gt" else -1))
        except ValueError:
            return values[0]
    return None
