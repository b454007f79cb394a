"""The aspects of nodes: what a node's change concerns, and what a remembered result depends on.

`Columns` counts the changes of each aspect. Whoever remembers a result says which aspects it was
worked out from, so that a node whose images change throws away nothing that was made of labels.
"""

import enum


class Aspect(enum.Enum):
    """A part of what is known of nodes.

    That a node comes, goes or gets another row concerns every aspect. Names belong to the rows.
    """

    #: The labels.
    LABELS = "labels"
    #: The taints, and whether the node is cordoned.
    TAINTS = "taints"
    #: The images, with their sizes.
    IMAGES = "images"
    #: What pods can use.
    ALLOCATABLE = "allocatable"
    #: The features that the kubelet declares.
    DECLARED_FEATURES = "declared features"

    # There is one object for each, and the hash of an Enum is slow.
    __hash__ = object.__hash__
