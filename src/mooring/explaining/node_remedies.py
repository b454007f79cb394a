"""What might help if a node does not have what the pod demands of nodes: labels, or its name.

Either the pod gives up the conditions that the node does not meet, or the node gets the labels.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from mooring.explaining import edits
from mooring.explaining import remedy as costs
from mooring.explaining.remedy import Remedy
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.selectors import NodeSelector, NodeSelectorTerm, Requirement

_NAME: Final = "metadata.name"


def node_affinity_remedies(pod: Pod, node: Node) -> Iterator[Remedy]:
    """Changes to the pod's node selector and affinity, or to the node's labels."""
    selector = {
        key: value for key, value in pod.node_selector.items() if node.labels.get(key) != value
    }
    required = _required(pod)
    if required is None or required.matches(node.labels, node.name):
        # An empty list stands for "nothing is missing".
        missing: list[tuple[NodeSelectorTerm, list[Requirement]]] = []
    else:
        missing = [(term, _unmet(term, node)) for term in required.node_selector_terms or ()]
        missing = [(term, unmet) for term, unmet in missing if unmet]
        if not missing and not selector:
            return
    yield from _give_up(selector, missing, required)
    yield from _label(node, selector, missing)


def required_labels(pod: Pod) -> list[str]:
    """The labels of nodes on which it depends whether the pod may go there."""
    required = _required(pod)
    terms = (required.node_selector_terms or ()) if required is not None else ()
    conditions = (one.key for term in terms for one in term.match_expressions or ())
    spread = (one.topology_key for one in pod.spec.topology_spread_constraints or ())
    return sorted({*pod.node_selector, *conditions, *spread})


def _required(pod: Pod) -> NodeSelector | None:
    affinity = pod.spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return None
    return affinity.node_affinity.required_during_scheduling_ignored_during_execution


def _unmet(term: NodeSelectorTerm, node: Node) -> list[Requirement]:
    fields = {_NAME: node.name}
    return [
        *(one for one in term.match_expressions or () if not one.matches(node.labels)),
        *(one for one in term.match_fields or () if not one.matches(fields)),
    ]


def _give_up(
    selector: dict[str, str],
    missing: Sequence[tuple[NodeSelectorTerm, list[Requirement]]],
    required: NodeSelector | None,
) -> Iterator[Remedy]:
    texts = [f"the node selector {key}={value}" for key, value in selector.items()]
    if not missing:
        yield Remedy(
            f"give up {' and '.join(texts)}",
            costs.GIVE_UP_CONDITION * len(selector),
            frozenset(f"selector {key}" for key in selector),
            pod=lambda pod: edits.without_selector(pod, selector),
        )
        return
    term, unmet = min(missing, key=lambda one: len(one[1]))
    texts += [f"the demand {requirement_text(one)}" for one in unmet]
    left = _without(required, term, unmet)
    yield Remedy(
        f"give up {' and '.join(texts)}",
        costs.GIVE_UP_CONDITION * (len(selector) + len(unmet)),
        frozenset(f"selector {key}" for key in (*selector, *(one.key for one in unmet))),
        pod=lambda pod: edits.with_required_nodes(edits.without_selector(pod, selector), left),
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
            yield label_node(node, labels)


def label_node(node: Node, labels: dict[str, str | None]) -> Remedy:
    """The change that gives a node other labels; None takes a label away."""
    add = [f"{key}={value}" for key, value in labels.items() if value is not None]
    drop = [key for key, value in labels.items() if value is None]
    texts = []
    if add:
        texts.append(f"label {node.name} with {' and '.join(add)}")
    if drop:
        texts.append(f"take the label {' and '.join(drop)} off {node.name}")
    return Remedy(
        " and ".join(texts),
        costs.CHANGE_NODE * len(labels),
        frozenset(f"label {key}" for key in labels),
        node=lambda node: edits.with_labels(node, labels),
    )


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


def requirement_text(requirement: Requirement) -> str:
    """A condition as people say it."""
    values = requirement.values or []
    among = values[0] if len(values) == 1 else f"({', '.join(values)})"
    match requirement.operator:
        case "In":
            return (
                f"{requirement.key}={among}"
                if values[:1] and not values[1:]
                else (f"{requirement.key} in {among}")
            )
        case "NotIn":
            return f"{requirement.key} not in ({', '.join(values)})"
        case "Exists":
            return f"{requirement.key} exists"
        case "DoesNotExist":
            return f"{requirement.key} does not exist"
        case "Gt":
            return f"{requirement.key} > {among}"
        case "Lt":
            return f"{requirement.key} < {among}"
    return f"{requirement.key} {requirement.operator} {among}"
