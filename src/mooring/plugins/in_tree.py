"""Every plugin that comes with mooring, and which of them are in a profile by default.

Called by whoever makes runtimes; importing it imports all plugins. The only module that lists them.
"""

from typing import Final

from mooring.config.registry import Registry, installed_plugins
from mooring.config.types import PluginRef
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

#: kube-scheduler's default set in its order, with the weights of the plugins' scores.
_DEFAULT: Final[tuple[tuple[type[Hook], int], ...]] = (
    # parity v1.36.4: apis/config/v1/default_plugins.go getDefaultPlugins
    (SchedulingGates, 0),
    (PrioritySort, 0),
    (NodeUnschedulable, 0),
    (NodeName, 0),
    (TaintToleration, 3),
    (NodeAffinity, 2),
    (NodePorts, 0),
    (NodeResourcesFit, 1),
    (VolumeRestrictions, 0),
    (NodeVolumeLimits, 0),
    (VolumeBinding, 0),
    (VolumeZone, 0),
    (PodTopologySpread, 2),
    (InterPodAffinity, 2),
    (DynamicResources, 2),
    (DefaultPreemption, 0),
    (NodeResourcesBalancedAllocation, 1),
    (ImageLocality, 1),
    (DefaultBinder, 0),
    (NodeDeclaredFeatures, 0),
)
#: The plugins that every profile has unless it disables them.
DEFAULT_PLUGINS: Final = tuple(PluginRef(plugin.name, weight) for plugin, weight in _DEFAULT)
#: All plugins of mooring: the default set in its order, then those that have to be enabled.
IN_TREE: Final[tuple[type[Hook], ...]] = (
    *(plugin for plugin, _ in _DEFAULT),
    GangScheduling,
    NodeResourcesAllocatable,
    SchedulerTimestamp,
)


def default_registry() -> Registry:
    """Mooring's own plugins, the default set of them, and the plugins of installed packages."""
    registry = Registry(installed_plugins, DEFAULT_PLUGINS)
    for plugin in IN_TREE:
        registry.add(plugin)
    return registry
