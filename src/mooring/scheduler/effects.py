"""What the scheduler wants done, and what it is told about it afterwards, as values.

`Core` returns effects; a shell carries them out, in any order and at the same time, and answers
`Bind` and `PreemptVictims` with a report. Nothing is lost if an effect fails: the report says so.
"""

from collections.abc import Set
from typing import Final

import msgspec

from mooring.framework.binding import Binding
from mooring.framework.binding_hooks import BindingHooks
from mooring.framework.cycle import Cycle
from mooring.framework.plans.plan import PluginPlan
from mooring.model.meta import KubeObject
from mooring.model.pod import Pod

_NO_HOOKS: Final = BindingHooks({})


class Bind(msgspec.Struct, frozen=True, gc=False):
    """Carry out plans, run PreBind, create the binding, run PostBind.

    Answered by `Bound` or `BindFailed`, whatever happens. Until the binding is sent, it may be
    broken off because the pod is somebody's victim (see `PreemptVictims`).

    Attributes:
        pod: the pod, not yet bound; it is already assumed on the node.
        binding: pod, node and the annotations to add.
        cycle: the decision, for the hooks that follow.
        profile: the scheduler name whose plugins are run.
        attempt: how often the pod was tried, this time included.
        first_tried: when it was tried first, by the clock that decisions are made with.
        plans: what has to be written and waited for, and who says so.
        pre_binds: the plugins whose `pre_bind` has something to do for this pod.
        hooks: those of the plugins that chose the node; others may decide by now.
    """

    pod: Pod
    binding: Binding
    cycle: Cycle
    profile: str
    attempt: int = 1
    first_tried: float = 0.0
    plans: tuple[PluginPlan, ...] = ()
    pre_binds: Set[str] = frozenset()
    hooks: BindingHooks = _NO_HOOKS

    @property
    def takes_time(self) -> bool:
        """Whether something has to be done before the binding is sent."""
        return bool(self.plans or self.pre_binds)


class PatchStatus(msgspec.Struct, frozen=True, gc=False):
    """Set the pod's ``PodScheduled`` condition, its nominated node, or both.

    Attributes:
        pod: the pod as last seen.
        reason: such as ``Unschedulable``; empty leaves the condition alone.
        message: the condition's text.
        nominated_node: its nominated node; empty clears it, None leaves it.
    """

    pod: Pod
    reason: str = ""
    message: str = ""
    nominated_node: str | None = None


class RecordEvent(msgspec.Struct, frozen=True, gc=False):
    """Record a Kubernetes event about a pod.

    Attributes:
        pod: whom it is about.
        reason: ``Scheduled``, ``FailedScheduling`` or ``Preempted``.
        action: ``Binding``, ``Scheduling`` or ``Preempting``.
        note: the text.
        warning: whether it is of type ``Warning``.
        reporter: the scheduler name.
        related: the other pod it is about.
    """

    pod: Pod
    reason: str
    action: str
    note: str
    warning: bool = False
    reporter: str = "default-scheduler"
    related: Pod | None = None


class PreemptVictims(msgspec.Struct, frozen=True, gc=False):
    """Have victims leave a node so that a pod fits; answered by `VictimsPreempted`.

    A victim in PreBind, whose `Bind` takes time and whose binding is not sent yet, is not deleted:
    its binding cycle is broken off, which its `BindFailed` reports, and it goes back to the queue.

    Attributes:
        victims: the pods to delete, each with the condition ``DisruptionTarget`` before.
        preemptor: the pod they make room for.
        node: where.
        profile: the preemptor's scheduler name.
        plugin: who found them.
    """

    victims: tuple[Pod, ...]
    preemptor: Pod
    node: str
    profile: str
    plugin: str = ""


class CleanUp(msgspec.Struct, frozen=True, gc=False):
    """Write what plugins want changed because a pod fits nowhere, such as free a claim's devices.

    Nobody is told what comes of it: what was written is seen, and requeues the pod. Where it fails,
    the pod's next attempt wants it again.

    Attributes:
        pod: the pod.
        profile: the scheduler name whose plugins want it.
        plans: what has to be written, and who says so; nothing is waited for.
    """

    pod: Pod
    profile: str
    plans: tuple[PluginPlan, ...]


Effect = Bind | PatchStatus | RecordEvent | PreemptVictims | CleanUp


class Bound(msgspec.Struct, frozen=True, gc=False):
    """The API server bound a pod."""

    pod: Pod
    node: str


class BindFailed(msgspec.Struct, frozen=True, gc=False):
    """A pod could not be bound.

    Attributes:
        pod: the pod.
        node: where it was to go.
        message: why, for the event.
        rejected: a plugin said no, which makes the pod ``Unschedulable``; otherwise something
            failed.
    """

    pod: Pod
    node: str
    message: str
    rejected: bool = False


class VictimsPreempted(msgspec.Struct, frozen=True, gc=False):
    """Victims were deleted, or could not be.

    Attributes:
        preemptor: whom they make room for.
        error: why not all could be deleted; empty if all could.
    """

    preemptor: Pod
    error: str = ""


class ObjectWritten(msgspec.Struct, frozen=True, gc=False):
    """The API server has written an object for a plan; informers show it later.

    Decisions know of it at once: until the object is seen, what it uses would be free otherwise.

    Attributes:
        thing: the object as the API server answered.
    """

    thing: KubeObject


Report = Bound | BindFailed | VictimsPreempted | ObjectWritten
