"""Looking at a cluster and waiting for what happens there, from a test.

`TestCluster` is built on it. It waits for changes and not for time: a test takes as long as the
scheduler does.
"""

import time
from abc import abstractmethod
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeVar

from mooring.errors import ApiError
from mooring.model.pod import Pod
from mooring.testing.api_client import ApiClient
from mooring.testing.child_process import WaitError
from mooring.testing.embedded_thread import EmbeddedThread
from mooring.wording import counted

T = TypeVar("T")

_LOOK_SECONDS = 1.0
_NOT_FOUND = 404


class Condition(NamedTuple):
    """A condition of a pod: a reason such as ``Unschedulable``, and a message."""

    status: str
    reason: str
    message: str


class Event(NamedTuple):
    """A Kubernetes event: its type, ``Normal`` or ``Warning``, its reason and its message."""

    type: str
    reason: str
    message: str


class WaitingClient(ApiClient):
    """What is on a cluster, and what one can wait for."""

    @property
    @abstractmethod
    def _thread(self) -> EmbeddedThread:
        """The running cluster."""

    def pod(self, name: str, *, namespace: str = "default") -> Pod:
        """A pod as it is now.

        Raises:
            ApiError: there is none.
        """
        return Pod.from_dict(self.get("Pod", name, namespace))

    def pods(self, namespace: str | None = None) -> list[Pod]:
        """All pods, or those of a namespace."""
        return [Pod.from_dict(one) for one in self.list_objects("Pod", namespace)]

    def placements(self, namespace: str = "default") -> dict[str, str]:
        """The node of each pod in a namespace; an empty string for pending pods."""
        return {pod.name: pod.node_name for pod in self.pods(namespace)}

    def events(self, name: str, *, namespace: str = "default") -> list[Event]:
        """The events about an object, oldest first; they are written with a short delay."""
        found = [
            one
            for one in self.list_objects("Event", namespace)
            if one["involvedObject"].get("name") == name
        ]
        found.sort(key=lambda one: int(one["metadata"]["resourceVersion"]))
        return [
            Event(one.get("type", ""), one.get("reason", ""), one.get("message", ""))
            for one in found
        ]

    def wait_for(
        self,
        look: Callable[[], T | Literal[False] | None],
        what: str = "what the test is about",
        *,
        timeout: float = 30.0,
    ) -> T:
        """Wait for a condition, which is checked whenever an object changes.

        Args:
            look: returns the result, or None or False to keep waiting.
            what: describes it in the error.
            timeout: in seconds.

        Raises:
            WaitError: timed out, or a plugin blocks the scheduler for longer than the cluster's
            ``hook_timeout``.
        """
        return self._wait(look, what, timeout, lambda: "")

    def _wait(
        self,
        look: Callable[[], T | Literal[False] | None],
        what: str,
        timeout: float,
        state: Callable[[], str],
    ) -> T:
        """Wait; `state` says how things stand if it is in vain."""
        running = self._thread
        hook, limit = running.stuck_hook(), running.hook_seconds
        deadline = time.monotonic() + timeout
        while True:
            seen = running.changes
            found = look()
            if found is not None and found is not False:
                return found
            left = deadline - time.monotonic()
            if running.failure is not None:
                raise running.failure
            held = hook.look() and hook.seconds > 0
            if held and hook.seconds >= limit:
                waited = counted(round(timeout - left, 1), "second")
                raise WaitError(
                    f"timed out after {waited} waiting for {what}: {hook}; a hook may take "
                    f"{counted(limit, 'second')} (hook_timeout)"
                )
            if left <= 0:
                why = "; ".join(one for one in (state(), str(hook) if held else "") if one)
                raise WaitError(
                    f"timed out after {timeout:g} seconds waiting for "
                    f"{what}{': ' if why else ''}{why}"
                )
            running.wait_change(seen, max(0.0, min(left, limit - hook.seconds, _LOOK_SECONDS)))

    def wait_scheduled(
        self, name: str, *, namespace: str = "default", timeout: float = 30.0
    ) -> str:
        """Wait until a pod is bound to a node; returns the node's name.

        Raises:
            WaitError: timed out; the message contains what the scheduler reported about the pod.
        """
        return self._wait_pod(
            lambda pod: pod.node_name or None, name, namespace, "be bound", timeout
        )

    def wait_placements(
        self, count: int, *, namespace: str = "default", timeout: float = 30.0
    ) -> dict[str, str]:
        """Wait until a namespace has this many pods and all are bound; returns their nodes by name.

        Raises:
            WaitError: timed out.
        """

        def look() -> dict[str, str] | None:
            found = self.placements(namespace)
            return found if len(found) == count and all(found.values()) else None

        what = f"{count} pods in namespace {namespace} to be bound"
        return self._wait(look, what, timeout, lambda: f"they are {self.placements(namespace)}")

    def wait_unschedulable(
        self, name: str, *, namespace: str = "default", timeout: float = 30.0
    ) -> Condition:
        """Wait until the scheduler reports a pod as unschedulable; returns the condition.

        Raises:
            WaitError: timed out.
        """

        def rejected(pod: Pod) -> Condition | None:
            found = scheduled_condition(pod)
            return found if found is not None and found.status == "False" else None

        return self._wait_pod(rejected, name, namespace, "be unschedulable", timeout)

    def wait_phase(
        self, name: str, phase: str, *, namespace: str = "default", timeout: float = 30.0
    ) -> Pod:
        """Wait until a pod is in a phase, such as ``Running``; returns the pod.

        Raises:
            WaitError: timed out.
        """
        return self._wait_pod(
            lambda pod: pod if pod.status.phase == phase else None,
            name, namespace, f"be {phase}", timeout,
        )  # fmt: skip

    def wait_deleted(self, name: str, *, namespace: str = "default", timeout: float = 30.0) -> None:
        """Wait until a pod is gone, such as the victim of a preemption.

        Raises:
            WaitError: timed out.
        """
        self.wait_for(
            lambda: self._find(name, namespace) is None,
            f"pod {namespace}/{name} to be gone",
            timeout=timeout,
        )

    def wait_event(
        self, name: str, reason: str, *, namespace: str = "default", timeout: float = 30.0
    ) -> Event:
        """Wait for an event about an object, such as ``Scheduled``.

        Raises:
            WaitError: timed out.
        """

        def find() -> Event | None:
            events = self.events(name, namespace=namespace)
            return next((one for one in events if one.reason == reason), None)

        return self.wait_for(find, f"an event {reason} of {namespace}/{name}", timeout=timeout)

    def _wait_pod(
        self,
        look: Callable[[Pod], T | None],
        name: str,
        namespace: str,
        state: str,
        timeout: float,
    ) -> T:
        def find() -> T | None:
            pod = self._find(name, namespace)
            return look(pod) if pod is not None else None

        what = f"pod {namespace}/{name} to {state}"
        return self._wait(find, what, timeout, lambda: _state(self._find(name, namespace)))

    def _find(self, name: str, namespace: str) -> Pod | None:
        try:
            return self.pod(name, namespace=namespace)
        except ApiError as error:
            if error.status != _NOT_FOUND:
                raise
            return None


def scheduled_condition(pod: Pod) -> Condition | None:
    """What the scheduler says about a pod, if it says anything."""
    for one in pod.raw.get("status", {}).get("conditions") or ():
        if one.get("type") == "PodScheduled":
            return Condition(one.get("status", ""), one.get("reason", ""), one.get("message", ""))
    return None


def _state(pod: Pod | None) -> str:
    if pod is None:
        return "there is no such pod"
    if pod.node_name:
        return f"it is on {pod.node_name} and {pod.status.phase or 'without a phase'}"
    found = scheduled_condition(pod)
    if found is None or not found.message:
        return (
            "no scheduler has reported anything about it (its schedulerName is "
            f"{pod.scheduler_name})"
        )
    return found.message
