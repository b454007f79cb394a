"""What might help if a node has too little left for a pod: asking for less, or fewer pods there.

Called by the plugin.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from mooring.framework.remedies.remedy import Remedy, RemedyCase
from mooring.model import changed_copies
from mooring.model.pod import Pod
from mooring.model.quantity_texts import rounded_up, show_alike
from mooring.model.resources import PODS, Resources, spec_requests
from mooring.plugins.pod_changes import stays_away

_INSUFFICIENT: Final = "Insufficient "
#: So many pods are tried to be taken off a node, the least important first.
_MOVED: Final = 3


def resource_remedies(case: RemedyCase) -> Iterator[Remedy]:
    """Less of what is short, or another pod that is taken off the node."""
    reasons = case.verdict.reasons
    short = [one.removeprefix(_INSUFFICIENT) for one in reasons if one.startswith(_INSUFFICIENT)]
    requests = spec_requests(case.pod)
    free = _free(case)
    if any(not one.startswith(_INSUFFICIENT) for one in reasons):
        # Only fewer pods help against "Too many pods".
        yield from _make_room(case, {}, requests, free)
        return
    missing = {name: requests[name] - free[name] for name in short}
    yield from _less(case.pod, missing, requests)
    yield from _make_room(case, missing, requests, free)


def _free(case: RemedyCase) -> Counter[str]:
    node, cluster = case.node, case.cluster
    free = Counter(node.allocatable)
    for name, amount in cluster.columns.usage(cluster.columns.row_of[node.name]).used.items():
        free[name] -= amount
    for other in cluster.nominations.counting(node.name, case.pod):
        for name, amount in other.requests.items():
            free[name] -= amount
    return free


def _less(pod: Pod, missing: Mapping[str, int], requests: Resources) -> Iterator[Remedy]:
    if not missing:
        return
    cuts = {name: min(rounded_up(name, amount), requests[name]) for name, amount in missing.items()}
    if any(cut == requests[name] for name, cut in cuts.items()):
        return  # who needs nothing of it would not have asked for it
    texts = [_less_text(name, cut, requests[name]) for name, cut in cuts.items()]
    yield Remedy(
        f"request {' and '.join(texts)}",
        sum(1 + 4 * cut / requests[name] for name, cut in cuts.items()),
        frozenset(f"less {name}" for name in cuts),
        pod=changed_copies.requesting_less(pod, cuts) or pod,
    )


def _less_text(name: str, cut: int, requested: int) -> str:
    less, left, before = show_alike(name, (cut, requested - cut, requested), exact=True)
    return f"{less} less {name} ({left} instead of {before})"


def _make_room(
    case: RemedyCase, missing: Mapping[str, int], requests: Resources, free: Counter[str]
) -> Iterator[Remedy]:
    """Take one other pod off the node: the least important that takes up enough."""
    if any(requests[name] > case.node.allocatable[name] for name in missing) or free[PODS] < 0:
        return
    cluster = case.cluster
    others = cluster.pods_on(cluster.columns.row_of[case.node.name])
    enough = [
        other
        for other in others
        if stays_away(other)
        and all(other.requests[name] >= amount for name, amount in missing.items())
    ]
    enough.sort(key=lambda other: (other.priority, other.requests["cpu"], other.key))
    for other in enough[:_MOVED]:
        yield Remedy.take_off(other)
