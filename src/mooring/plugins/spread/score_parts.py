"""The score of a node as the sum of what each constraint adds, in whole numbers.

Many nodes have the same few numbers of matching pods, so sums are worked out once for each
combination and not for each node. Called by topology spread.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from mooring.framework.arrays import Amounts, Floats
from mooring.state.node_labels import Ids

#: More combinations than this are not worked out: there may be more of them than nodes.
_MOST_COMBINATIONS: Final = 2048


class ScorePart(NamedTuple):
    """What one constraint adds.

    Attributes:
        values: the different numbers, none of them negative.
        places: (n_nodes,) for each node the place of its number.
    """

    values: Floats
    places: Ids


def rounded_sum(parts: Sequence[ScorePart]) -> Amounts:
    """(n_nodes,) the sums of all parts, halves rounded up."""
    values, places = parts[0]
    for more_values, more_places in parts[1:]:
        # The sums are the same, and are added in the same order, whichever way.
        if len(values) * len(more_values) <= _MOST_COMBINATIONS:
            values = np.add.outer(values, more_values).ravel()
            places = places * len(more_values) + more_places
        else:
            values = values.take(places) + more_values.take(more_places)
            places = np.arange(len(places))
    low = values.astype(np.int64)
    low += values - low >= 0.5
    return low.take(places)
