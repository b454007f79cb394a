"""Pods that were given a node and wait for a `Permit` plugin before they are bound.

Shared by `Core`, `BindingCycles` and the handles of plugins. A plugin lets a pod go, or rejects it,
through its handle; when the time is up the pod is rejected.
"""

import math
from collections import deque
from collections.abc import Iterator, Mapping

from mooring.errors import MooringError
from mooring.framework import foreign
from mooring.framework.hook_answers import shortened
from mooring.framework.verdict import ERROR, SUCCESS, UNSCHEDULABLE
from mooring.model.duration import Duration
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.scheduler.placement import Placement


class WaitingPod:
    """A pod that waits for plugins.

    Attributes:
        placement: the pod, its node and what follows.
        pod: the pod.
        queued: its entry of the queue.
        node: where it is to go.
        since: when it began to wait, by the clock that decisions are made with.
        deadlines: until when it waits for each plugin, by the same clock.
        reason: why it waits no more and is not bound; empty if it is not so.
        rejected_by: the plugin that says so.
        preempted: whether it has to make room for another pod.
    """

    def __init__(self, placement: Placement, waits: Mapping[str, float], now: float) -> None:
        self.placement = placement
        self.queued = placement.queued
        self.pod: Pod = self.queued.pod
        self.node: Node = placement.node
        self.since = now
        self.deadlines = {plugin: now + seconds for plugin, seconds in waits.items()}
        self._waits = waits
        self.rejected_by = ""
        self.reason = ""
        self.preempted = False

    def allow(self, plugin: str) -> None:
        """A plugin lets the pod go; the pod is bound when all do.

        Raises:
            MooringError: that is no name.
        """
        if not issubclass(type(plugin), str):
            raise MooringError("allow takes the plugin's name, a string")
        self.deadlines.pop(foreign.plain(plugin), None)

    def reject(self, plugin: str, reason: str) -> None:
        """A plugin rejects the pod; it is tried again later.

        Raises:
            MooringError: that is no name or no reason.
        """
        if not (issubclass(type(plugin), str) and issubclass(type(reason), str)):
            raise MooringError("reject takes the plugin's name and a reason, both strings")
        if not self.reason:
            self.rejected_by = foreign.plain(plugin)
            self.reason = shortened(reason) or f"rejected by {self.rejected_by}"

    def preempt(self, plugin: str) -> None:
        """The pod has to make room for another one; `plugin` found that out."""
        if not self.reason:
            self.preempted = True
            self.rejected_by, self.reason = plugin, "preempted"

    @property
    def code(self) -> str:
        """What its wait came to: an error if it was preempted, as in kube-scheduler."""
        # parity v1.36.4: framework/runtime/waiting_pods_map.go Preempt
        if self.preempted:
            return ERROR
        return UNSCHEDULABLE if self.reason else SUCCESS

    def expire(self, plugin: str) -> None:
        """The time that a plugin gave is up."""
        # parity v1.36.4: framework/runtime/waiting_pods_map.go
        seconds = Duration(round(self._waits[plugin] * 10**9))
        self.reject(plugin, f"rejected due to timeout after waiting {seconds} at plugin {plugin}")


class WaitingPods:
    """All pods that wait, by key."""

    def __init__(self) -> None:
        self._pods: dict[str, WaitingPod] = {}
        self._over: deque[WaitingPod] = deque()

    def add(self, waiting: WaitingPod) -> None:
        """A pod begins to wait."""
        self._pods[waiting.pod.key] = waiting

    def get(self, key: str) -> WaitingPod | None:
        """A waiting pod by ``namespace/name``."""
        return self._pods.get(key)

    def reject(self, key: str, reason: str) -> None:
        """A pod waits no more, if it does, whatever plugins say; another may have its name soon."""
        waiting = self._pods.pop(key, None)
        if waiting is not None:
            waiting.reject("", reason)
            self._over.append(waiting)

    def settled(self, now: float) -> Iterator[WaitingPod]:
        """The pods that need not wait any longer: allowed, rejected, or too late.

        Each is taken out when it is its turn.
        """
        while self._over:
            yield self._over.popleft()
        for waiting in list(self._pods.values()):
            late = [plugin for plugin, until in waiting.deadlines.items() if until <= now]
            if late:
                waiting.expire(late[0])
            if waiting.reason or not waiting.deadlines:
                yield self._pods.pop(waiting.pod.key)

    def next_time(self) -> float | None:
        """When the next pod's time is up; long ago if one need not wait any longer."""
        if self._over:
            return -math.inf
        return min(
            (
                -math.inf if one.reason else min(one.deadlines.values(), default=-math.inf)
                for one in self._pods.values()
            ),
            default=None,
        )

    def __iter__(self) -> Iterator[WaitingPod]:
        return iter(list(self._pods.values()))

    def __len__(self) -> int:
        return len(self._pods)
