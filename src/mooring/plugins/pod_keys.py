"""What several plugins read of a pod, as keys: equal for pods that are alike in it.

Called by plugins for what they remember and what they sign; made once for all pods of a template.
"""

from typing import Final, cast

import msgspec

from mooring.model.pod import Pod
from mooring.state.shapes import Shape

_encode = msgspec.msgpack.Encoder(order="deterministic").encode
_NODE_SELECTION: Final = f"{__name__} node selection"
_TOLERATIONS: Final = f"{__name__} tolerations"


def node_selection_key(pod: Pod, shape: Shape) -> bytes:
    """The node selector and the required node affinity."""
    known = shape.data.get(_NODE_SELECTION)
    if known is None:
        known = shape.data[_NODE_SELECTION] = _encode((pod.node_selector, _required(pod)))
    return cast("bytes", known)


def tolerations_key(pod: Pod, shape: Shape) -> bytes:
    """The tolerations, as far as they decide where a pod may go, whatever their order."""
    known = shape.data.get(_TOLERATIONS)
    if known is None:
        known = shape.data[_TOLERATIONS] = _encode(_tolerations(pod))
    return cast("bytes", known)


def _required(pod: Pod) -> object:
    affinity = pod.spec.affinity
    terms = affinity.node_affinity if affinity is not None else None
    return terms and terms.required_during_scheduling_ignored_during_execution


def _tolerations(pod: Pod) -> list[tuple[str, str, str, str]]:
    return sorted({(one.key, one.operator, one.value, one.effect) for one in pod.tolerations})
