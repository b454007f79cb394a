"""GangScheduling: holds back pods of scheduling groups, because mooring cannot place groups yet.

It is in no profile by default, as in kube-scheduler; the runtime rejects such pods anyway, whatever
the profile.
"""

from collections.abc import Sequence
from typing import Final

from mooring.framework.cycle import Cycle
from mooring.framework.hook import Permit, PreEnqueue, RequeueHint, Requeues
from mooring.framework.verdict import Verdict, reject
from mooring.model.node import Node
from mooring.model.pod import Pod

_NO_GROUPS: Final = reject(
    "pod groups (spec.schedulingGroup) are not supported by mooring yet", unresolvable=True
)


class GangScheduling(PreEnqueue, Permit, Requeues):
    """Holds back pods of scheduling groups: placing groups is not supported yet."""

    name = "GangScheduling"
    reads = ()

    def pre_enqueue(self, pod: Pod) -> Verdict | None:
        """Hold back pods that belong to a group."""
        return None if pod.spec.scheduling_group is None else _NO_GROUPS

    def permit(self, cycle: Cycle, node: Node) -> Verdict | None:  # noqa: ARG002
        """Reject pods that belong to a group, should one get here."""
        return None if cycle.pod.spec.scheduling_group is None else _NO_GROUPS

    def requeue_on(self) -> Sequence[RequeueHint]:
        """No change: groups are rejected whatever they are like."""
        return ()
