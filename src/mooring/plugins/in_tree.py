"""Every plugin that comes with mooring, in the order of kube-scheduler's default set.

Called by whoever makes runtimes; importing it imports all plugins.
"""

from typing import Final

from mooring.config.registry import Registry, installed_plugins
from mooring.framework.hook import Hook
from mooring.plugins.affinity.inter_pod_affinity import InterPodAffinity
from mooring.plugins.binding.default_binder import DefaultBinder
from mooring.plugins.binding.scheduler_timestamp import SchedulerTimestamp
from mooring.plugins.devices.dynamic_resources import DynamicResources
from mooring.plugins.nodes.image_locality import ImageLocality
from mooring.plugins.nodes.node_affinity import NodeAffinity
from mooring.plugins.nodes.node_declared_features import NodeDeclaredFeatures
from mooring.plugins.nodes.node_name import NodeName
from mooring.plugins.nodes.node_ports import NodePorts
from mooring.plugins.nodes.node_unschedulable import NodeUnschedulable
from mooring.plugins.nodes.taint_toleration import TaintToleration
from mooring.plugins.preemption.default_preemption import DefaultPreemption
from mooring.plugins.queueing.gang_scheduling import GangScheduling
from mooring.plugins.queueing.priority_sort import PrioritySort
from mooring.plugins.queueing.scheduling_gates import SchedulingGates
from mooring.plugins.resources.node_resources_allocatable import NodeResourcesAllocatable
from mooring.plugins.resources.node_resources_balanced_allocation import (
    NodeResourcesBalancedAllocation,
)
from mooring.plugins.resources.node_resources_fit import NodeResourcesFit
from mooring.plugins.spread.pod_topology_spread import PodTopologySpread
from mooring.plugins.volumes.node_volume_limits import NodeVolumeLimits
from mooring.plugins.volumes.volume_binding import VolumeBinding
from mooring.plugins.volumes.volume_restrictions import VolumeRestrictions
from mooring.plugins.volumes.volume_zone import VolumeZone

#: All plugins of mooring: the default set in its order, then those that have to be enabled.
IN_TREE: Final[tuple[type[Hook], ...]] = (
    SchedulingGates,
    PrioritySort,
    NodeUnschedulable,
    NodeName,
    TaintToleration,
    NodeAffinity,
    NodePorts,
    NodeResourcesFit,
    VolumeRestrictions,
    NodeVolumeLimits,
    VolumeBinding,
    VolumeZone,
    PodTopologySpread,
    InterPodAffinity,
    DynamicResources,
    DefaultPreemption,
    NodeResourcesBalancedAllocation,
    ImageLocality,
    DefaultBinder,
    NodeDeclaredFeatures,
    GangScheduling,
    NodeResourcesAllocatable,
    SchedulerTimestamp,
)


def default_registry() -> Registry:
    """Mooring's own plugins and those of installed packages."""
    registry = Registry(installed_plugins)
    for plugin in IN_TREE:
        registry.add(plugin)
    return registry
