from collections.abc import Sequence

import mooring as mr
from mooring import hook

APPROVED = "example.com/approved"
MAINTENANCE = "example.com/maintenance"


class Approval(hook.PreEnqueue, hook.Filter, hook.Requeues):
    """Schedules approved pods only, and none on nodes under maintenance."""

    name = "Approval"

    def pre_enqueue(self, pod: mr.Pod) -> mr.Verdict:
        return mr.accept_if(APPROVED in pod.labels, "waiting for approval")

    def filter(self, pod: mr.Pod, node: mr.Node) -> mr.Verdict:
        return mr.accept_if(MAINTENANCE not in node.labels, "node(s) were under maintenance")

    def requeue_on(self) -> Sequence[hook.RequeueHint]:
        node_changes = hook.Action.ADD | hook.Action.UPDATE_NODE_LABEL
        return [
            hook.RequeueHint(mr.Node, node_changes, self.is_usable),
            hook.RequeueHint(mr.Pod, hook.Action.UPDATE_POD_LABEL, self.is_approved),
        ]

    def is_usable(self, pod: mr.Pod, old: mr.Node | None, new: mr.Node) -> bool:
        return MAINTENANCE not in new.labels

    def is_approved(self, pod: mr.Pod, old: mr.Pod, new: mr.Pod) -> bool:
        return new.uid == pod.uid and APPROVED in new.labels
