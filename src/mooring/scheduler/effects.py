"""What the scheduler wants done, and what it is told about it afterwards, as values.

`Core` returns effects; a shell carries them out, in any order and at the same time, and answers
`Bind` and `PreemptVictims` with a report. Nothing is lost if an effect fails: the report says so.
"""

from typing import Final

import msgspec

from mooring.framework.binding import Binding
from mooring.framework.cycle import Cycle
from mooring.model.pod import Pod

#: A note of a Kubernetes event has at most so many bytes.
_NOTE: Final = 1024
#: Plugins write as much as they like; a condition has at most so many bytes.
_MESSAGE: Final = 32 * 1024


class Bind(msgspec.Struct, frozen=True, gc=False):
    """Run PreBind, create the binding, run PostBind; answered by `Bound` or `BindFailed`.

    Attributes:
        pod: the pod, not yet bound; it is already assumed on the node.
        binding: pod, node and the annotations to add.
        cycle: the decision, for the hooks that follow.
        profile: the scheduler name whose plugins are run.
        attempt: how often the pod was tried, this time included.
        first_tried: when it was tried first, by the clock that decisions are made with.
    """

    pod: Pod
    binding: Binding
    cycle: Cycle
    profile: str
    attempt: int = 1
    first_tried: float = 0.0


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
    """Delete victims so that a pod fits; answered by `VictimsPreempted`.

    Attributes:
        victims: the pods to delete, each with the condition ``DisruptionTarget`` before.
        preemptor: the pod they make room for.
        node: where.
        profile: the preemptor's scheduler name.
    """

    victims: tuple[Pod, ...]
    preemptor: Pod
    node: str
    profile: str


Effect = Bind | PatchStatus | RecordEvent | PreemptVictims


def failed_scheduling(
    pod: Pod, reason: str, message: str, nominated_node: str | None
) -> list[Effect]:
    """The event and the status of a pod that was not scheduled; the arguments of `PatchStatus`."""
    note = _cut(message, _NOTE)
    event = RecordEvent(
        pod, "FailedScheduling", "Scheduling", note, warning=True, reporter=pod.scheduler_name
    )
    return [event, PatchStatus(pod, reason, _cut(message, _MESSAGE), nominated_node)]


def _cut(text: str, most: int) -> str:
    """A text of at most so many bytes."""
    # Half a surrogate pair, which a plugin may write, is no text for the API server.
    data = text.encode(errors="replace")
    if len(data) > most:
        return data[: most - 4].decode(errors="ignore") + " ..."
    return text if len(data) == len(text) else data.decode()


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
        plugin: whose hook rejected or failed; empty if the API server did.
        rejected: a plugin said no; otherwise something failed.
    """

    pod: Pod
    node: str
    message: str
    plugin: str = ""
    rejected: bool = False


class VictimsPreempted(msgspec.Struct, frozen=True, gc=False):
    """Victims were deleted, or could not be.

    Attributes:
        preemptor: whom they make room for.
        error: why not all could be deleted; empty if all could.
    """

    preemptor: Pod
    error: str = ""


Report = Bound | BindFailed | VictimsPreempted
