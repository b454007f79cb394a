"""How evenly a node's resources are in use, 50 to 100, as balanced allocation counts it.

For two resources that every node has: one node in Python's own numbers, some nodes with few array
operations. Called by `resource_rows` and `node_amounts`; `NodeResourcesBalancedAllocation` itself
has the formula for any number of resources.
"""

from typing import Final

import numpy as np

from mooring.framework.arrays import Floats
from mooring.plugins.score_arithmetic import MAX_SCORE

_MAX: Final = float(MAX_SCORE)
# As arrays of no dimension, which numpy takes half as much time for.
_ONE: Final[Floats] = np.array(1.0)
_HALF: Final[Floats] = np.array(0.5)
_HUNDRED: Final[Floats] = np.array(_MAX)


def evenness(share: float, other: float) -> int:
    """That of one node, given which shares of its resources are in use."""
    # parity v1.36.4: plugins/noderesources/balanced_allocation.go balancedResourceScorer
    # No calls: this is run for every row that changed.
    if share > 1.0:
        share = 1.0
    if other > 1.0:
        other = 1.0
    deviation = (share - other) / 2 if share > other else (other - share) / 2
    return int((1 - deviation) * _MAX)


def evenness_of_nodes(shares: Floats, others: Floats) -> Floats:
    """(n_nodes,) that of some nodes, in whole numbers; the shares are overwritten."""
    deviations = np.minimum(shares, _ONE, out=shares)
    deviations -= np.minimum(others, _ONE, out=others)
    np.abs(deviations, out=deviations)
    deviations *= _HALF
    even = np.subtract(_ONE, deviations, out=deviations)
    even *= _HUNDRED
    return np.floor(even, out=even)
