"""Preemption of pods that have the devices which a more important pod needs; it is opt-in.

Owns `DevicePreemption`, which DynamicResources has if its argument ``preemption`` is on. It keeps
the trial of each decision, in which DefaultPreemption looks for victims, and holds preemption back
while the devices of pods that are gone already would do.
"""

from collections.abc import Callable
from typing import Final

from mooring.framework.cycle import Cycle
from mooring.framework.filtering import Filtering
from mooring.framework.handle import Handle
from mooring.framework.hook import PreFilterAnswer
from mooring.framework.verdict import Verdict, reject
from mooring.model.pod import Pod
from mooring.plugins.devices.claim_tracker import tracker_of
from mooring.plugins.devices.opt_in.device_trial import DeviceTrial
from mooring.plugins.devices.pod_devices import PodDevices

#: No other plugin makes room meanwhile.
_WAITING: Final = reject(
    "waiting for the devices of deleted pods to be released", unresolvable=True
)


class DevicePreemption:
    """What DynamicResources knows of pods that come and go in thought.

    Args:
        name: the plugin's name, under which decisions keep what it found.
        pre_filter: looks at the claims of a pod.
        handle: asks all filters.
    """

    def __init__(
        self, name: str, pre_filter: Callable[[Cycle], PreFilterAnswer], handle: Handle
    ) -> None:
        self._name = name
        self._key = f"{name}.trial"
        self._pre_filter = pre_filter
        self._handle = handle

    def devices(self, cycle: Cycle, real: PodDevices) -> PodDevices:
        """The devices of the decision's pod as they are now in thought."""
        trial: DeviceTrial | None = cycle.data.get(self._key)
        return trial.devices if trial is not None else real

    def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """A pod has come to a node in thought."""
        trial = self._trial(cycle)
        if trial is not None:
            trial.add_pod(pod, cycle.cluster.columns.nodes[row])

    def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """A pod has left a node in thought."""
        trial = self._trial(cycle)
        if trial is not None:
            trial.remove_pod(pod, cycle.cluster, row)

    def held_back(self, cycle: Cycle, filtering: Filtering) -> Verdict | None:
        """A rejection if the pod fits once the claims of pods that are gone are deallocated."""
        trial = self._trial(cycle)
        if trial is None or not trial.release_idle(cycle.cluster):
            return None
        rejection = self._handle.rejection
        waits = any(rejection(cycle, row) is None for row in filtering.resolvable)
        return _WAITING if waits else None

    def _trial(self, cycle: Cycle) -> DeviceTrial | None:
        found: DeviceTrial | None = cycle.data.get(self._key)
        real: PodDevices | None = cycle.data.get(self._name)
        if found is None and real is not None:
            tracker = tracker_of(cycle.cluster)
            found = cycle.data[self._key] = DeviceTrial(real, tracker, self._prepared)
        return found

    def _prepared(self, pod: Pod) -> PodDevices | None:
        """The claims of another pod."""
        cycle = Cycle(pod, self._handle.cluster)
        self._pre_filter(cycle)
        found: PodDevices | None = cycle.data.get(self._name)
        return found
