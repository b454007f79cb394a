"""Which conditions on nodes are not met, in words.

Called by the plugin about nodes that it rejects.
"""

from mooring.framework.details.rejected_nodes import RejectedNodes
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.selector_texts import requirement_text
from mooring.plugins.nodes.node_affinity_remedies import required_nodes, unmet_requirements


def node_affinity_details(rejected: RejectedNodes) -> list[str]:
    """For each node the conditions of the pod that it does not meet."""
    known: dict[tuple[str, ...], str] = {}
    texts = []
    for node in rejected.nodes:
        unmet = _unmet(rejected.pod, node)
        if unmet not in known:
            known[unmet] = f"needs a node with {' and '.join(unmet)}" if unmet else ""
        texts.append(known[unmet])
    return texts


def _unmet(pod: Pod, node: Node) -> tuple[str, ...]:
    selector = [
        f"{key}={value}"
        for key, value in pod.node_selector.items()
        if node.labels.get(key) != value
    ]
    required = required_nodes(pod)
    if required is None or required.matches(node.labels, node.name):
        return tuple(selector)
    missing = [unmet_requirements(term, node) for term in required.node_selector_terms or ()]
    nearest = min((one for one in missing if one), key=len, default=[])
    return (*selector, *(requirement_text(one) for one in nearest))
