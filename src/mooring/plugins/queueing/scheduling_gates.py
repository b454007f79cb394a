"""SchedulingGates: holds pods back until their gates are removed."""

from collections.abc import Iterator, Sequence

from mooring.framework.details.rejected_nodes import RejectedNodes
from mooring.framework.hook import Action, Details, PreEnqueue, Remedies, RequeueHint, Requeues
from mooring.framework.remedies.remedy import Cost, Remedy, RemedyCase
from mooring.framework.verdict import Verdict, reject
from mooring.model import changed_copies
from mooring.model.pod import Pod
from mooring.plugins.pod_changes import is_same_pod


class SchedulingGates(PreEnqueue, Requeues, Details, Remedies):
    """Holds back pods with scheduling gates."""

    name = "SchedulingGates"
    reads = ()

    def pre_enqueue(self, pod: Pod) -> Verdict | None:
        """Hold the pod back while it has gates."""
        # parity v1.36.4: plugins/schedulinggates/scheduling_gates.go
        gates = pod.spec.scheduling_gates
        if not gates:
            return None
        names = " ".join(gate.name for gate in gates)
        return reject(f"waiting for scheduling gates: [{names}]", unresolvable=True)

    def requeue_on(self) -> Sequence[RequeueHint]:
        """The pod's last gate is gone."""
        return (RequeueHint(Pod, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, _is_same_pod),)

    def details(self, rejected: RejectedNodes) -> str:
        """The gates."""
        return f"is waiting for {_named(rejected.pod)} to be removed"

    def remedies(self, case: RemedyCase) -> Iterator[Remedy]:
        """Remove the gates."""
        yield Remedy(
            f"remove {_named(case.pod)}",
            Cost.TRIVIAL * len(case.pod.spec.scheduling_gates or ()),
            frozenset({"gates"}),
            pod=changed_copies.with_spec(case.pod, scheduling_gates=None),
        )


def _named(pod: Pod) -> str:
    gates = pod.spec.scheduling_gates or []
    names = ", ".join(gate.name for gate in gates)
    return f"the scheduling gate{'s' if gates[1:] else ''} {names}"


def _is_same_pod(pod: Pod, old: Pod, new: Pod) -> bool:  # noqa: ARG001
    return is_same_pod(pod, new)
