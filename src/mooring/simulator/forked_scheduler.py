"""The scheduler on a fork: it places pods until nothing changes, and every binding takes effect.

`ForkedScheduler` runs the one core (`scheduler.core`) and carries out its effects at once, where a
cluster would take its time: a binding is confirmed, a plan is taken as done (the objects it writes
are assumed already), victims are gone and come back pending if a controller creates them again.

    evict, create ──> core ──Bind──────────> on its node
         ^             │ └──PreemptVictims──> gone ──┐
         └─────────────┼─────────────────────────────┘ if it has a controller
                       └── nobody is left to be tried ──> settled

Time is a number that is moved on when pods wait for it (backoff, Permit); no clock is read.
What-if, capacity and rebalancing call it; it never touches the cluster that was forked.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from mooring.config.profiles import Profile
from mooring.config.registry import Registry
from mooring.errors import InputError
from mooring.model.change import Gone, Put
from mooring.model.changed_copies import as_new
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.scheduler.core import Core, SchedulingCycle
from mooring.scheduler.core_building import build_core
from mooring.scheduler.decider import Choose
from mooring.scheduler.effects import (
    Bind,
    Bound,
    Effect,
    PatchStatus,
    PreemptVictims,
    VictimsPreempted,
)
from mooring.scheduler.failed_attempts import SCHEDULER_ERROR
from mooring.simulator.forked_claims import (
    claims_from_templates,
    claims_made_for,
    claims_of_bound,
    claims_of_gone,
)
from mooring.simulator.pod_owners import comes_back
from mooring.state.cluster import Cluster

#: Who is still pending after so many attempts for each pod stays so: pods may preempt each other,
#: come back and wait for one another for ever.
_ATTEMPTS: Final = 50
#: Pods that nothing helped are not looked at again after this time, as a cluster would.
_PATIENCE: Final = 240.0
#: So begins what is said of a pod that somebody preempted while it waited for permission.
_PREEMPTED: Final = "waiting on permit"


def first(equals: int) -> int:  # noqa: ARG001 - the signature of `Choose`
    """Choose the first of so many equals."""
    return 0


class Deciders:
    """What decides on forks: profiles, by scheduler name, and what a core needs beside them.

    Args:
        profiles: the plugins by scheduler name.
        registry: makes the plugins.
        before: called before each decision; for a time limit.
        choose: picks one of so many equals.
    """

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        registry: Registry,
        before: Callable[[], None] = lambda: None,
        choose: Choose = first,
    ) -> None:
        self.profiles = dict(profiles)
        self.registry = registry
        self.before = before
        self.choose = choose
        #: Scheduler names of pods that have no profile; the first profile decides about them.
        self.assumed: dict[str, None] = {}

    def name_for(self, pod: Pod) -> str:
        """The scheduler name whose profile decides about a pod; see `assumed`."""
        name = pod.scheduler_name
        if name in self.profiles:
            return name
        self.assumed[name] = None
        return next(iter(self.profiles))

    def with_plugins(self, profiles: Mapping[str, Profile], registry: Registry) -> "Deciders":
        """The same with other plugins."""
        made = Deciders(profiles, registry, self.before, self.choose)
        made.assumed = self.assumed
        return made


class ForkedScheduler:
    """Places pods on a fork.

    Args:
        cluster: the fork; its pending pods are tried as soon as `settle` is called.
        deciders: what decides.

    Attributes:
        preempted: who made room for whom: the victim's key and the preemptor's.
        lost: the victims that do not come back, in order.
        messages: why a pod found no node in its last attempt, in kube-scheduler's words, by key.
    """

    def __init__(self, cluster: Cluster, deciders: Deciders) -> None:
        self.cluster = cluster
        self.deciders = deciders
        self.preempted: dict[str, str] = {}
        self.lost: list[Pod] = []
        self.messages: dict[str, str] = {}
        self._now = 0.0
        self._returned = 0
        self._core = self._build()
        for pod in cluster.all_pods():
            if not pod.uid:  # files need not have one, and preemption goes by it
                cluster.put_pod(_with_uid(pod))
        self._try_pending()

    def _try_pending(self) -> None:
        for pod in self.pending():
            self.cluster.remove_pod(pod.key)
            self.create(pod)

    def _build(self) -> Core:
        one = self.deciders
        return build_core(one.profiles, one.registry, self.cluster, lambda: 0, one.choose)

    def use(self, profiles: Mapping[str, Profile], registry: Registry) -> None:
        """Let other plugins decide from now on; the pods that are pending are tried again."""
        self.deciders = self.deciders.with_plugins(profiles, registry)
        self.cluster.forget_remembered()
        self._core = self._build()
        self._try_pending()

    # -- what is changed from outside

    def put_node(self, node: Node) -> None:
        """Add or change a node."""
        self._core.handle([Put(node)], self._now)

    def put(self, thing: Any) -> None:
        """Add or change an object that is neither a pod nor a node."""
        self._core.handle([Put(thing)], self._now)

    def remove_node(self, name: str) -> None:
        """Take a node away, from which all pods are gone."""
        self._core.handle([Gone(self.cluster.nodes[name])], self._now)

    def create(self, pod: Pod) -> None:
        """Create a pod; one without a node is tried."""
        if not pod.node_name and pod.scheduler_name not in self._core.runtimes:
            spec = replace(pod.spec, scheduler_name=self.deciders.name_for(pod))
            pod = replace(pod, spec=spec)
        if not pod.node_name:
            pod, claims = claims_from_templates(pod, self.cluster)
            for claim in claims:
                self.put(claim)
        self._core.handle([Put(pod)], self._now)

    def delete(self, pod: Pod) -> None:
        """Delete a pod for good."""
        self._core.handle([Gone(pod)], self._now)
        for claim in claims_of_gone(pod, self.cluster):
            self.put(claim)
        made = claims_made_for(pod, self.cluster)
        self._core.handle([Gone(claim) for claim in made], self._now)

    def change(self, pod: Pod) -> None:
        """Replace a pod by a changed one of the same name and unique id."""
        self._core.handle([Put(pod)], self._now)

    def evict(self, pods: Iterable[Pod]) -> list[Pod]:
        """Delete pods, and create those again whose controllers would; the others are returned.

        For a pod that was being deleted already, its controller has created another one.
        """
        going = list(pods)
        for pod in going:
            self.delete(pod)
        lost = [pod for pod in going if not pod.deleting and not self._create_again(pod)]
        self.lost += lost
        return lost

    def _create_again(self, pod: Pod) -> bool:
        if not comes_back(pod):
            return False
        self._returned += 1
        new = as_new(pod)
        metadata = replace(
            new.metadata,
            uid=f"{pod.uid or pod.key}--again-{self._returned}",
            deletion_timestamp=None,
        )
        self.create(replace(new, metadata=metadata))
        return True

    # -- the scheduler at work

    def settle(self) -> None:
        """Let the scheduler work until no pod is left to be tried.

        Raises:
            InputError: a plugin failed, or pods preempt each other without an end.
        """
        start, made = self._now, 0
        most = _ATTEMPTS * (len(self._core.queue) + 100)
        while made < most:
            cycle = self._core.schedule_one(self._now)
            if cycle is not None:
                made += 1
                self.deciders.before()
                self._carry_out(_run(cycle))
                continue
            effects = self._core.tick(self._now)
            self._carry_out(effects)
            counts = self._core.queue.counts()
            if counts["active"]:
                continue
            later = self._core.next_time()
            waits = counts["backoff"] or len(list(self._core.waiting)) or effects
            if later is None or not waits or later > start + _PATIENCE:
                return
            self._now = max(self._now, later)
        raise InputError(
            f"the pods did not settle within {made} decisions; they preempt one another, or a "
            "plugin rejects what it accepted"
        )

    def _carry_out(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Bind):
                self._bind(effect)
            elif isinstance(effect, PreemptVictims):
                self._preempt(effect)
            elif isinstance(effect, PatchStatus) and effect.message:
                if effect.reason == SCHEDULER_ERROR and not effect.message.startswith(_PREEMPTED):
                    raise InputError(effect.message)
                self.messages[effect.pod.key] = effect.message

    def _bind(self, effect: Bind) -> None:
        node = effect.binding.node_name
        self._core.report(Bound(effect.pod, node), self._now)
        for claim in claims_of_bound(effect.pod, self.cluster):
            self.put(claim)
        placed = effect.pod.placed(node, effect.binding.annotations)
        self._core.handle([Put(placed)], self._now)
        self.messages.pop(effect.pod.key, None)

    def _preempt(self, effect: PreemptVictims) -> None:
        for victim in effect.victims:
            self.preempted[victim.key] = effect.preemptor.key
        self.evict(effect.victims)
        report = VictimsPreempted(effect.preemptor)
        self._carry_out(self._core.report(report, self._now))

    # -- what came of it

    def pending(self) -> list[Pod]:
        """The pods without a node."""
        return [pod for pod in self.cluster.all_pods() if not pod.node_name]


def _with_uid(pod: Pod) -> Pod:
    return replace(pod, metadata=replace(pod.metadata, uid=f"uid--{pod.key}"))


def _run(cycle: SchedulingCycle) -> list[Effect]:
    """Run a decision to its end; there are no extenders to be asked."""
    try:
        next(cycle)
    except StopIteration as ended:
        effects: list[Effect] = ended.value
        return effects
    raise AssertionError("a core without extenders asks nobody")
