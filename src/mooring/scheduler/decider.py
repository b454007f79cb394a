"""Making decisions for the pods of all profiles, and the choice where a decision leaves one.

Kept by `Core`: it knows whose plugins decide about a pod, whether extenders take part and who
watches. How is written in `framework.decisions`; what comes of it is the core's business.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from mooring.framework.decisions.decision import Decision, DecisionCycle
from mooring.framework.decisions.decision_cycle import decide
from mooring.framework.decisions.observer import NOBODY, Observer
from mooring.framework.filtering import Candidate
from mooring.framework.pod_importance import equally_good
from mooring.framework.runtime import Runtime
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.scheduler.queued_pod import QueuedPod

#: Chooses one of so many equals.
Choose = Callable[[int], int]


class Decider(NamedTuple):
    """Decides about pods of several profiles on one cluster.

    Attributes:
        runtimes: the plugins by scheduler name, all on this cluster.
        choose: picks one of so many equals.
        extended: whether extenders take part for a pod; None if there are none.
        observers: who watches the decisions of a profile, by scheduler name.
    """

    runtimes: Mapping[str, Runtime]
    choose: Choose
    extended: Callable[[Pod], bool] | None = None
    observers: Mapping[str, Observer] = {}

    def decide(self, queued: QueuedPod, pod: Pod) -> DecisionCycle:
        """One decision, by the plugins of the pod's profile.

        Args:
            queued: the pod's entry of the queue.
            pod: the pod, with the node that it is nominated to by now.
        """
        extended = self.extended is not None and self.extended(pod)
        observer = self.observers.get(queued.profile, NOBODY)
        runtime = self.runtimes[queued.profile]
        return decide(runtime, pod, observer, extended=extended, key=queued.key)

    def observer(self, pod: Pod) -> Observer:
        """Who watches decisions about a pod, and what follows them."""
        return self.observers.get(pod.scheduler_name, NOBODY)

    def node(self, decision: Decision) -> Node | None:
        """The node that a pod gets; None if there is none."""
        best = decision.best
        count = len(best)
        if not count:
            return None
        row = int(best[self.choose(count) if count > 1 else 0])
        return decision.cycle.cluster.columns.nodes[row]

    def candidate(self, decision: Decision) -> Candidate | None:
        """Where room is made for a pod that gets no node; None if nowhere."""
        candidates = decision.candidates
        if not candidates:
            return None
        best = equally_good(candidates.values())
        return best[self.choose(len(best)) if len(best) > 1 else 0]
