"""SchedulingGates: holds pods back until their gates are removed."""

from mooring.framework.hook import PreEnqueue
from mooring.framework.verdict import Verdict, reject
from mooring.model.pod import Pod


class SchedulingGates(PreEnqueue):
    """Holds back pods with scheduling gates."""

    name = "SchedulingGates"

    def pre_enqueue(self, pod: Pod) -> Verdict | None:
        """Hold the pod back while it has gates."""
        # parity v1.36.4: plugins/schedulinggates/scheduling_gates.go
        gates = pod.spec.scheduling_gates
        if not gates:
            return None
        names = " ".join(gate.name for gate in gates)
        return reject(f"waiting for scheduling gates: [{names}]", unresolvable=True)
