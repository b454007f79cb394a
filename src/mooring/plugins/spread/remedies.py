"""What might help if a spread constraint keeps a pod from a node.

Called by the plugin. Which constraint it is and how much skew would do is found out by asking the
plugin about the pod with one constraint alone.
"""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from mooring.framework.remedies.remedy import Cost, Remedy, RemedyCase
from mooring.model import changed_copies
from mooring.model.node_facts import states_a_fact
from mooring.model.pod import TopologySpreadConstraint
from mooring.plugins.spread.constraints import DO_NOT_SCHEDULE, SCHEDULE_ANYWAY

#: A larger skew is no answer any more.
_MAX_SKEW: Final = 1024
#: So many values of a missing label are tried.
_TRIED: Final = 4


def topology_spread_remedies(case: RemedyCase) -> Iterator[Remedy]:
    """A larger skew, a wish instead of a demand, or a label that the node does not have."""
    for number, constraint in enumerate(case.pod.spec.topology_spread_constraints or ()):
        if constraint.when_unsatisfiable != DO_NOT_SCHEDULE:
            continue
        if _accepts(case, constraint):
            continue
        yield from _relaxed(case, number, constraint)
        key = constraint.topology_key
        if key not in case.node.labels and not states_a_fact(key):
            column = case.cluster.columns.labels(constraint.topology_key)
            for value in sorted(column.values[1:])[:_TRIED]:
                yield Remedy.label_node(case.node, {constraint.topology_key: value})


def _relaxed(
    case: RemedyCase, number: int, constraint: TopologySpreadConstraint
) -> Iterator[Remedy]:
    key = constraint.topology_key
    skew = _smallest_skew(case, constraint)
    if skew is not None:
        raised = replace(constraint, max_skew=skew)
        yield Remedy(
            f"raise maxSkew over {key} from {constraint.max_skew} to {skew}",
            Cost.GIVE_UP_CONDITION + 0.1 * (skew - constraint.max_skew),
            frozenset({f"skew {key}"}),
            pod=changed_copies.with_constraint(case.pod, number, raised),
        )
    wish = replace(constraint, when_unsatisfiable=SCHEDULE_ANYWAY, min_domains=None)
    yield Remedy(
        f"make the spread over {key} a preference (whenUnsatisfiable: ScheduleAnyway)",
        Cost.MAKE_PREFERRED,
        frozenset({f"spread {key}"}),
        pod=changed_copies.with_constraint(case.pod, number, wish),
    )


def _accepts(case: RemedyCase, constraint: TopologySpreadConstraint) -> bool:
    """Whether a constraint alone would let the pod onto the node."""
    alone = [constraint]
    return case.accepts(changed_copies.with_spec(case.pod, topology_spread_constraints=alone))


def _smallest_skew(case: RemedyCase, constraint: TopologySpreadConstraint) -> int | None:
    """The smallest skew with which the constraint lets the pod onto the node."""
    low, high = constraint.max_skew, constraint.max_skew + 1
    while not _accepts(case, replace(constraint, max_skew=high)):
        low, high = high, 2 * high
        if high > _MAX_SKEW:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if _accepts(case, replace(constraint, max_skew=middle)):
            high = middle
        else:
            low = middle
    return high
