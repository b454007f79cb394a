"""Templates whose pods fit nowhere: they are not evaluated again while nothing changes.

One change may wake thousands of pods of a few templates. The first one of each template that finds
no node, and no room to be made, is answered for all of them until anything changes that a decision
could depend on. Used by the runtime if all its plugins are mooring's own. Pods that one of them
does not sign (`hook.Sign`) are always evaluated: volumes and devices may be a single pod's.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Final

from msgspec.structs import replace

from mooring.framework.cycle import Cycle
from mooring.framework.decisions.decision import Decision
from mooring.framework.decisions.observer import POST_FILTER, Observer
from mooring.framework.filtering import rejected
from mooring.model.meta import OwnerReference
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster
from mooring.state.shapes import Shape

#: So many templates are remembered.
_MOST: Final = 64

#: The template, and the controller: what plugins look up for a pod, they find by these.
_Key = tuple[Shape, OwnerReference | None]


class UnschedulableTemplates:
    """The templates whose pods fit nowhere now.

    Args:
        cluster: the state.
        signs: the `sign` hooks of the profile's plugins.

    Attributes:
        known: the decision about the first pod of each.
    """

    def __init__(self, cluster: Cluster, signs: Sequence[Callable[[Pod], Hashable | None]]) -> None:
        self._cluster = cluster
        self._signs = signs
        self._version: tuple[int, int, int] | None = None
        self.known: dict[_Key, Decision] = {}

    def find(self, cycle: Cycle, observer: Observer) -> Decision | None:
        """The decision about a pod that surely fits nowhere, like the last one of its template."""
        if self._version != self._cluster.changes or self._cluster.nominations:
            self.known.clear()
            return None
        known = self.known.get(_key(cycle))
        if known is None:
            return None
        result = known.post_filter_result
        observer.started(POST_FILTER)
        observer.post_filtered(result)
        return Decision(
            cycle,
            known.filtering,
            known.best,
            post_filter_result=result,
            known_message=known.known_message,
        )

    def note(self, decision: Decision) -> None:
        """A pod fits nowhere, and no room can be made for it."""
        result = decision.post_filter_result
        if decision.error or decision.candidates or result.deferred or self._cluster.nominations:
            return
        if any(sign(decision.cycle.pod) is None for sign in self._signs):
            return
        if self._version != self._cluster.changes or len(self.known) >= _MOST:
            self.known.clear()
            self._version = self._cluster.changes
        found = result.preemption
        if found is not None:
            result = result._replace(preemption=replace(found, potential=(), rejected={}))
        self.known[_key(decision.cycle)] = decision._replace(
            filtering=rejected(decision.filtering),
            post_filter_result=result,
            known_message=decision.message,
        )


def _key(cycle: Cycle) -> _Key:
    return cycle.shape, cycle.pod.controller
