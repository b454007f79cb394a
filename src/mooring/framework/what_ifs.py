"""What-ifs of plugins that are not mooring's own: each ends with the hook that begins it.

A plugin changes the state in thought through its handle and has to take back what it does. One that
raises, is interrupted or forgets it does not. So foreign plugins have a `PluginHandle`, which notes
for each node that it changes which pods were there, and when the hook ends, these are there again:

    runtime ── guarded ──> HookWhatIfs begins ──> hook ──> handle.remove_pod ──> state
                           HookWhatIfs ends: every node as it was, `WhatIf` plugins told

Mooring's own plugins have the runtime itself as their handle and put things right themselves.
"""

import functools
from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from typing import Final, TypeVar

import numpy as np

from mooring.errors import MooringError
from mooring.framework import foreign
from mooring.framework.cycle import Cycle
from mooring.framework.filtering import Rejection
from mooring.framework.handle import AskFilter, Handle, Waiting
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster

T = TypeVar("T")

_NOT_NOW: Final = (
    "pods can be added and removed hypothetically only in a hook that gets the cycle, and with "
    "that "
    "cycle: pre_filter, post_filter, pre_score, reserve, unreserve or permit"
)
_WHOLE: Final = (int, np.int64, np.int32)
#: A change in thought needs so many frames of the stack at most, those of plugins not counted.
_FRAMES: Final = 40


class HookWhatIfs:
    """What one hook changes in thought.

    Args:
        runtime: who asks the plugin.
        cycle: the decision.
    """

    __slots__ = ("_before", "_busy", "cycle", "runtime")

    def __init__(self, runtime: Handle, cycle: Cycle) -> None:
        self.runtime = runtime
        self.cycle = cycle
        self._before: dict[int, tuple[Pod, ...]] = {}
        self._busy = False

    def change(self, pod: Pod, row: int, *, add: bool) -> None:
        """Put a pod on a node, or take it off.

        Raises:
            MooringError: it is there already, or is not there, or this is no time for it.
            PluginError: another plugin failed when it was told.
        """
        if self._busy:
            raise MooringError(_NOT_NOW)
        pods = self.runtime.cluster.pods_on(row)
        if any(one.key == pod.key for one in pods) == add:
            there = "is there already" if add else "is not there"
            name = self.runtime.cluster.columns.nodes[row].name
            raise MooringError(
                f"pod {pod.key} on node {name} cannot be changed hypothetically: it {there}"
            )
        self._before.setdefault(row, pods)
        self._busy = True
        try:
            step = self.runtime.add_pod if add else self.runtime.remove_pod
            step(self.cycle, pod, row)
        finally:
            self._busy = False

    def undo(self) -> None:
        """Put each node right, the last one first, in the order in which the pods were there.

        Raises:
            PluginError: a plugin failed when it was told; the state is as it was all the same.
        """
        failed: Exception | None = None
        for row, before in reversed(self._before.items()):
            pods = self.runtime.cluster.pods_on(row)
            same = 0
            while same < min(len(pods), len(before)) and pods[same] is before[same]:
                same += 1
            steps = [(self.runtime.remove_pod, pod) for pod in reversed(pods[same:])]
            steps += [(self.runtime.add_pod, pod) for pod in before[same:]]
            for step, pod in steps:
                try:
                    step(self.cycle, pod, row)
                except Exception as error:  # noqa: BLE001 - the state has changed before
                    failed = failed or error
        if failed is not None:
            raise failed


def guarded(runtime: Handle, function: Callable[..., T]) -> Callable[..., T]:
    """The way to call a hook that gets the cycle first: `foreign.entry`, and its what-ifs end."""
    return functools.partial(_ask, runtime, function) if foreign.is_foreign(function) else function


def _ask(runtime: Handle, function: Callable[..., T], cycle: Cycle, *args: object) -> T:
    hook_what_ifs = HookWhatIfs(runtime, cycle)
    open_what_ifs: list[object] = runtime.cluster.open_what_ifs
    open_what_ifs.append(hook_what_ifs)
    try:
        answer = foreign.call(function, cycle, *args)
    except BaseException:
        open_what_ifs.remove(hook_what_ifs)
        with suppress(Exception):  # the hook's own failure is told
            hook_what_ifs.undo()
        raise
    open_what_ifs.remove(hook_what_ifs)
    hook_what_ifs.undo()
    return answer


class PluginHandle:
    """The scheduler, as a plugin sees it that is not mooring's own (see `Handle`).

    Args:
        runtime: the profile that runs the plugin.

    Attributes:
        plain: whether it turned out to be a plugin of mooring's own, which a foreign function made.
    """

    def __init__(self, runtime: Handle) -> None:
        self._runtime = runtime
        self.plain = False

    @property
    def cluster(self) -> Cluster:
        """The cluster's state."""
        return self._runtime.cluster

    @property
    def now_ns(self) -> Callable[[], int]:
        """The clock."""
        return self._runtime.now_ns

    @property
    def choose(self) -> Callable[[int], int]:
        """Picks one of so many equals."""
        return self._runtime.choose

    @property
    def waiting(self) -> Waiting:
        """The pods that wait for permission."""
        return self._runtime.waiting

    @property
    def preempting(self) -> Set[str]:
        """The pods for which victims are being preempted now."""
        return self._runtime.preempting

    @property
    def filters(self) -> Sequence[AskFilter]:
        """The profile's filters in order."""
        return self._runtime.filters

    def rejection(self, cycle: Cycle, row: int) -> Rejection | None:
        """Run all filters for one node as it is now, with nominated pods; None if the pod fits."""
        if type(cycle) is not Cycle:
            raise MooringError(_NOT_NOW)
        need_stack(_FRAMES)
        return self._runtime.rejection(cycle, _row(row, self.cluster))

    def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Put a pod on a node in thought."""
        self._change(cycle, pod, row, add=True)

    def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Take a pod off its node in thought."""
        self._change(cycle, pod, row, add=False)

    def _change(self, cycle: Cycle, pod: Pod, row: int, *, add: bool) -> None:
        if self.plain:
            step = self._runtime.add_pod if add else self._runtime.remove_pod
            step(cycle, pod, row)
            return
        # The decision may be one of another profile, to which the plugin belongs, too.
        open_what_ifs: list[HookWhatIfs] = self.cluster.open_what_ifs
        if not open_what_ifs or open_what_ifs[-1].cycle is not cycle:
            raise MooringError(_NOT_NOW)
        if type(pod) is not Pod:
            raise MooringError("only a Pod can be added to a node")
        need_stack(_FRAMES)
        open_what_ifs[-1].change(pod, _row(row, self.cluster), add=add)


def _row(row: int, cluster: Cluster) -> int:
    # Its class counts, and not what it says its class is: it may be anything.
    kind: object = type(row)
    number = int(row) if any(kind is one for one in _WHOLE) else -1
    if not 0 <= number < len(cluster.columns):
        raise MooringError(f"there is no node in row {foreign.text_of(row, repr)}")
    return number


def need_stack(frames: int) -> None:
    """Fail at the end of the stack before anything has changed, and not in the middle."""
    if frames:
        need_stack(frames - 1)
