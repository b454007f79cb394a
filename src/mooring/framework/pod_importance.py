"""Which pods matter more, and which preemption costs least.

Used by the search for victims and by whoever has to choose among candidates: DefaultPreemption, and
the scheduler after policies had their say.
"""

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from mooring.errors import InputError
from mooring.framework.filtering import Candidate
from mooring.model.pod import Pod

#: kube-scheduler takes the present moment for a pod that has not started: later than any start.
_NOT_STARTED: Final = float(sys.maxsize)
#: Makes every priority positive, so that fewer victims are always cheaper than more of their kind.
_LIFT: Final = 2**31


def start_time(pod: Pod) -> float:
    """When a pod started, in seconds since 1970; later than everything if it did not yet.

    Raises:
        InputError: the pod's start time is no time.
    """
    # parity v1.36.4: scheduler/util/utils.go GetPodStartTime
    text = pod.status.start_time
    if not text:
        return _NOT_STARTED
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError(
            f"Pod {pod.key}: field status.startTime: {text!r} is not a valid time; use for "
            "example 2026-01-31T12:00:00Z"
        ) from error
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def most_important_first(pods: Iterable[Pod]) -> list[Pod]:
    """Pods by priority, then by age.

    Pods of equal priority and age keep their order; those that have not started are turned round,
    because kube-scheduler compares two moments of asking, and the first is always the earlier.
    """
    # parity v1.36.4: scheduler/util/utils.go MoreImportantPod, with Go's insertion sort
    keyed = []
    for place, pod in enumerate(pods):
        started = start_time(pod)
        keyed.append((-pod.priority, started, -place if started == _NOT_STARTED else place, pod))
    keyed.sort(key=lambda one: one[:3])
    return [one[3] for one in keyed]


def have_equals(pods: Sequence[Pod]) -> bool:
    """Whether two of the pods are equally important."""
    return len({(pod.priority, start_time(pod)) for pod in pods}) < len(pods)


def equally_good(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The candidates whose preemption costs least; several if nothing tells them apart."""
    # parity v1.36.4: framework/preemption/preemption.go pickOneNodeForPreemption
    left = list(candidates)
    for cost in _COSTS:
        if len(left) <= 1:
            break
        costs = [cost(one) for one in left]
        lowest = min(costs)
        left = [one for one, its in zip(left, costs, strict=True) if its == lowest]
    return left


def _highest_priority(candidate: Candidate) -> float:
    # A plugin may nominate a node without preempting anybody.
    return candidate.victims[0].priority if candidate.victims else -math.inf


def _priorities(candidate: Candidate) -> float:
    return sum(pod.priority + _LIFT for pod in candidate.victims)


def _age(candidate: Candidate) -> float:
    """The older the oldest of the most important victims, the dearer."""
    # parity v1.36.4: scheduler/util/utils.go GetEarliestPodStartTime
    return -min((start_time(pod) for pod in _top(candidate.victims)), default=_NOT_STARTED)


def _top(victims: Sequence[Pod]) -> list[Pod]:
    highest = max((pod.priority for pod in victims), default=0)
    return [pod for pod in victims if pod.priority == highest]


_COSTS: Final[tuple[Callable[[Candidate], float], ...]] = (
    lambda candidate: candidate.pdb_violations,
    _highest_priority,
    _priorities,
    lambda candidate: len(candidate.victims),
    _age,
)
