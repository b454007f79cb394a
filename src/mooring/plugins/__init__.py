"""The scheduler's plugins: kube-scheduler's default ones under their own names, and a few more.

One module for each plugin. The table below is all that the registry needs; a module is imported
when `IN_TREE` is first read, so that one plugin can be imported alone.
"""

import importlib
from typing import TYPE_CHECKING, Final

from mooring.framework.hook import Hook

if TYPE_CHECKING:
    #: All plugins of mooring: the default set in its order, then those that have to be enabled.
    IN_TREE: tuple[type[Hook], ...]

#: Module and class of every plugin, in the order of kube-scheduler's default set.
_PLACES: Final = (
    ("scheduling_gates", "SchedulingGates"),
    ("priority_sort", "PrioritySort"),
    ("node_unschedulable", "NodeUnschedulable"),
    ("node_name", "NodeName"),
    ("taint_toleration", "TaintToleration"),
    ("node_affinity", "NodeAffinity"),
    ("node_ports", "NodePorts"),
    ("node_resources_fit", "NodeResourcesFit"),
    ("volume_restrictions", "VolumeRestrictions"),
    ("node_volume_limits", "NodeVolumeLimits"),
    ("volume_binding", "VolumeBinding"),
    ("volume_zone", "VolumeZone"),
    ("pod_topology_spread", "PodTopologySpread"),
    ("inter_pod_affinity", "InterPodAffinity"),
    ("dynamic_resources", "DynamicResources"),
    ("default_preemption", "DefaultPreemption"),
    ("balanced_allocation", "NodeResourcesBalancedAllocation"),
    ("image_locality", "ImageLocality"),
    ("default_binder", "DefaultBinder"),
    ("node_declared_features", "NodeDeclaredFeatures"),
    # Not in the default set:
    ("gang_scheduling", "GangScheduling"),
    ("node_resources_allocatable", "NodeResourcesAllocatable"),
    ("scheduler_timestamp", "SchedulerTimestamp"),
)


def __getattr__(name: str) -> tuple[type[Hook], ...]:
    if name != "IN_TREE":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = tuple(
        getattr(importlib.import_module(f"{__name__}.{module}"), plugin)
        for module, plugin in _PLACES
    )
    globals()["IN_TREE"] = found
    return found
