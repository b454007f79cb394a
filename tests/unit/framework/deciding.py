"""One decision without extenders, for tests."""

from mooring.framework.decisions.decision import Decision
from mooring.framework.decisions.decision_cycle import decide, without_extenders
from mooring.framework.decisions.observer import NOBODY, Observer
from mooring.framework.runtime import Runtime
from mooring.model.pod import Pod


def decide_alone(runtime: Runtime, pod: Pod, observer: Observer = NOBODY) -> Decision:
    """Find the best nodes for a pod."""
    return without_extenders(decide(runtime, pod, observer))
