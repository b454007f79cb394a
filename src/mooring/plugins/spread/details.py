"""How uneven matching pods would be spread, in numbers.

Called by the plugin about nodes that it rejects.
"""

from collections.abc import Sequence

from mooring.framework.details.rejected_nodes import RejectedNodes
from mooring.plugins.spread.constraint_counts import RequiredCounts


def spread_details(rejected: RejectedNodes, required: Sequence[RequiredCounts]) -> list[str]:
    """For each node the first constraint that keeps the pod away, with its counts."""
    nodes = rejected.nodes
    columns = nodes.columns
    texts = [""] * len(nodes)
    for one in reversed(required):  # the first constraint that rejects has the last word
        key, ids = one.constraint.topology_key, nodes.take(one.ids)
        values = columns.labels(key).values
        skew, least = one.constraint.max_skew, one.minimum
        limit = skew + least - one.own
        for place, domain in enumerate(ids.tolist()):
            here = int(one.sums[domain])
            if domain == 0:
                texts[place] = f"must be spread over {key}, a label that the node does not have"
            elif here > limit:
                texts[place] = (
                    f"must be spread over {key} (maxSkew {skew}): {values[domain]} has "
                    f"{here} of the pods, and the domain with the fewest has {least}"
                )
    return texts
