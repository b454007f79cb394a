"""The events of pods in kube-scheduler's words: Scheduled, FailedScheduling, Preempted.

Called by whoever knows that something happened to a pod. An event is an effect: the shell sends it.
"""

from typing import Final

from mooring.framework.plans.plan import WaitingEvent
from mooring.model.pod import Pod
from mooring.scheduler.effects import Effect, PatchStatus, PreemptVictims, RecordEvent

#: A note of a Kubernetes event has at most so many bytes.
_NOTE: Final = 1024
#: Plugins write as much as they like; a condition has at most so many bytes.
_MESSAGE: Final = 32 * 1024


def scheduled(pod: Pod, node: str) -> RecordEvent:
    """The event of a pod that was bound."""
    note = f"Successfully assigned {pod.key} to {node}"
    return RecordEvent(pod, "Scheduled", "Binding", note, reporter=pod.scheduler_name)


def waiting_for(pod: Pod, event: WaitingEvent) -> RecordEvent:
    """The event of a pod that has a node and waits for what a plan says."""
    note = _cut(event.note, _NOTE)
    return RecordEvent(pod, event.reason, "Scheduling", note, reporter=pod.scheduler_name)


def failed_scheduling(
    pod: Pod, reason: str, message: str, nominated_node: str | None
) -> list[Effect]:
    """The event and the status of a pod that was not scheduled; the arguments of `PatchStatus`."""
    note = message = _cut(message, _MESSAGE)
    if len(message) > _NOTE or not message.isascii():
        note = _cut(message, _NOTE)
    event = RecordEvent(
        pod, "FailedScheduling", "Scheduling", note, warning=True, reporter=pod.scheduler_name
    )
    return [event, PatchStatus(pod, reason, message, nominated_node)]


def _cut(text: str, most: int) -> str:
    """A text of at most so many bytes."""
    if len(text) <= most and text.isascii():
        return text
    # Half a surrogate pair, which a plugin may write, is no text for the API server.
    data = text.encode(errors="replace")
    if len(data) > most:
        return data[: most - 4].decode(errors="ignore") + " ..."
    return text if len(data) == len(text) else data.decode()


def preempted(effect: PreemptVictims, victim: Pod, *, in_memory: bool = False) -> RecordEvent:
    """The event of a victim.

    Args:
        effect: for whom it has to go.
        victim: who.
        in_memory: it is not deleted, it only gives its place back.
    """
    # parity v1.36.4: framework/preemption/executor.go
    note = f"Preempted by pod {effect.preemptor.uid} on node {effect.node}"
    if in_memory:
        note += " (in kube-scheduler memory)."
    return RecordEvent(
        victim, "Preempted", "Preempting", note, reporter=effect.profile, related=effect.preemptor
    )
