"""What is suggested for a pod, with each suggestion made real on a cluster built anew."""

from collections.abc import Iterable, Sequence
from typing import Any

from mooring.explaining.explainer import Explainer
from mooring.explaining.suggestion import Combination, Suggestion
from mooring.model.meta import KubeObject
from mooring.model.node import Node
from mooring.model.pod import Pod


def suggest(
    objects: Sequence[KubeObject], pod: Pod, *, node: str = "", config: Any = None
) -> list[Suggestion]:
    """The suggestions for a pod; each is made real on a new cluster to see that it helps."""
    found = list(Explainer(objects, config).explain(pod, node).suggestions)
    for one in found:
        changed, new = carried_out(one.combination, objects, pod)
        record = Explainer(changed, config).record(new)
        assert tuple(record.feasible) == one.nodes
        assert one.combination.node in one.nodes or not node
        assert record.selected
    return found


def carried_out(
    combination: Combination, objects: Iterable[KubeObject], pod: Pod
) -> tuple[list[KubeObject], Pod]:
    """The objects and the pod after a combination was carried out."""
    things = {(type(one), one.key): one for one in objects}
    for change in combination.remedies:
        pod = change.pod or pod
        if change.node is not None:
            things[Node, combination.node] = change.node
        if change.added is not None:
            things[Node, change.added.name] = change.added
        things |= {(type(one), one.key): one for one in change.created}
        if change.moved:
            del things[Pod, change.moved]
    return list(things.values()), pod


def texts(found: Iterable[Suggestion]) -> list[str]:
    return [one.combination.text for one in found]
