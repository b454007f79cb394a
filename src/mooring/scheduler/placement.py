"""A pod that was given a node, on its way to be bound there.

Made by `BindingCycles` when the plugins agree; a value that says what is left to do.
"""

from collections.abc import Set

import msgspec

from mooring.framework.binding import Binding
from mooring.framework.binding_hooks import BindingHooks
from mooring.framework.cycle import Cycle
from mooring.framework.plans.plan import PluginPlan
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.scheduler.effects import Bind
from mooring.scheduler.queued_pod import QueuedPod


class Placement(msgspec.Struct, frozen=True, gc=False):
    """A pod and its node.

    Attributes:
        queued: the pod's entry of the queue.
        cycle: the decision.
        node: where it is to go.
        hooks: those of the plugins that chose the node: they know of it, and are told what follows.
        plans: what has to be written and waited for before.
        pre_binds: the plugins whose `pre_bind` has something to do before.
        nominated: whether the node is written to the pod's status before that.
    """

    queued: QueuedPod
    cycle: Cycle
    node: Node
    hooks: BindingHooks
    plans: tuple[PluginPlan, ...] = ()
    pre_binds: Set[str] = frozenset()
    nominated: bool = False

    @property
    def pod(self) -> Pod:
        """The pod as last seen."""
        return self.queued.pod

    def bind(self) -> Bind:
        """The effect that binds the pod."""
        queued, node = self.queued, self.node
        pod = queued.pod
        metadata = pod.metadata
        binding = Binding(
            namespace=metadata.namespace or "default",
            name=metadata.name,
            uid=metadata.uid or "",
            node_name=node.name,
            pod=pod,
            node=node,
        )
        first = queued.first_tried if queued.first_tried is not None else queued.since
        return Bind(
            pod, binding, self.cycle, queued.profile, queued.attempts, first,
            self.plans, self.pre_binds, self.hooks,
        )  # fmt: skip


class BindingCycle(msgspec.Struct, frozen=True, gc=False):
    """A pod that is being bound, and since when."""

    placement: Placement
    since: float

    @property
    def queued(self) -> QueuedPod:
        """The pod's entry of the queue."""
        return self.placement.queued

    @property
    def plan_seconds(self) -> float:
        """How long its plans may wait."""
        return max((one.plan.seconds for one in self.placement.plans), default=0.0)
