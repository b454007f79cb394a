"""ImageLocality: prefers nodes that have the pod's images already."""

from typing import Final, cast

import numpy as np
import numpy.typing as npt

from mooring.framework.arrays import Amounts
from mooring.framework.hook import ScoreNodes, Sign
from mooring.framework.nodes import Nodes
from mooring.framework.scope import Scope
from mooring.model.pod import Pod
from mooring.plugins.score_arithmetic import MAX_SCORE
from mooring.plugins.shape_reader import ShapeReader
from mooring.state.aspects import Aspect
from mooring.state.columns import Columns
from mooring.state.shapes import Shape

_MIB: Final = 1024 * 1024
#: PodImages that are smaller in total do not count.
_LEAST: Final = 23 * _MIB
#: More than this for each container does not count.
_MOST_PER_CONTAINER: Final = 1000 * _MIB

#: The images of a pod, sorted, and how many containers it has.
PodImages = tuple[tuple[str, ...], int]


class ImageLocality(ScoreNodes, Sign, ShapeReader):
    """Prefers nodes that have many bytes of the pod's images already."""

    name = "ImageLocality"
    reads = ()
    score_scope = Scope.NODES

    def score_nodes(self, pod: Pod, nodes: Nodes) -> Amounts:
        """From 0 for less than 23 MiB of images to 100 for 1000 MiB for each container."""
        columns, images = nodes.columns, _images(nodes.cycle.shape, pod)
        found = columns.remember(
            (self.name, images), lambda: _scores(columns, images), Aspect.IMAGES
        )
        if found is None:
            return np.zeros(len(nodes), np.int64)
        return nodes.take(found).astype(np.int64)

    def sign(self, pod: Pod) -> PodImages:
        """The images, and how many containers there are."""
        return _images(self.shape_of(pod), pod)


def _images(shape: Shape, pod: Pod) -> PodImages:
    known = shape.data.get(ImageLocality.name)
    if known is None:
        spec = pod.spec
        containers = [*(spec.init_containers or ()), *(spec.containers or ())]
        names = [container.image for container in containers]
        names += [one.image.reference for one in spec.volumes or () if one.image is not None]
        known = (tuple(sorted(map(_with_tag, names))), len(containers))
        shape.data[ImageLocality.name] = known
    return cast("PodImages", known)


def _with_tag(name: str) -> str:
    """An image's name as nodes report it: with the tag ``latest`` if it has none."""
    return f"{name}:latest" if name.rfind(":") <= name.rfind("/") else name


def _scores(columns: Columns, images: PodImages) -> npt.NDArray[np.int8] | None:
    """(n,) the scores, in small numbers because many pods have images of their own."""
    # parity v1.36.4: plugins/imagelocality/image_locality.go: an image counts the more, the more
    # nodes have it, so that pods are not drawn to the few nodes that have it by accident.
    names, containers = images
    total = np.zeros(len(columns), np.int64)
    for name in names:
        state = columns.image(name)
        if state is not None:
            total[state.mask] += int(float(state.size) * (state.spread / len(columns)))
    most = _MOST_PER_CONTAINER * max(containers, 1)
    scores = MAX_SCORE * (total.clip(_LEAST, most) - _LEAST) // (most - _LEAST)
    return scores.astype(np.int8) if scores.any() else None
