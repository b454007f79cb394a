"""Names that Kubernetes used for what its scheduler checks and prefers, and what they are now.

The only module of the migration that names plugins: those of v1 by constants, and tables of
predicates, priorities and plugins that Kubernetes removed. Plain data.
"""

# Looked up in Kubernetes v1.15 to v1.22: pkg/scheduler/framework/plugins/legacy_registry.go,
# algorithmprovider/registry.go, apis/config/*/default_plugins.go

from typing import Final

NODE_UNSCHEDULABLE: Final = "NodeUnschedulable"
NODE_NAME: Final = "NodeName"
TAINT_TOLERATION: Final = "TaintToleration"
NODE_AFFINITY: Final = "NodeAffinity"
NODE_PORTS: Final = "NodePorts"
FIT: Final = "NodeResourcesFit"
BALANCED: Final = "NodeResourcesBalancedAllocation"
VOLUME_RESTRICTIONS: Final = "VolumeRestrictions"
NODE_VOLUME_LIMITS: Final = "NodeVolumeLimits"
VOLUME_BINDING: Final = "VolumeBinding"
VOLUME_ZONE: Final = "VolumeZone"
SPREAD: Final = "PodTopologySpread"
INTER_POD_AFFINITY: Final = "InterPodAffinity"
IMAGE_LOCALITY: Final = "ImageLocality"
PREEMPTION: Final = "DefaultPreemption"
#: Plugins of kube-scheduler that no profile has by default.
OPTIONAL: Final = ("GangScheduling",)

#: Predicates by name, and the plugins that check the same at Filter.
PREDICATES: Final[dict[str, tuple[str, ...]]] = {
    "CheckNodeUnschedulable": (NODE_UNSCHEDULABLE,),
    "GeneralPredicates": (FIT, NODE_NAME, NODE_PORTS, NODE_AFFINITY),
    "HostName": (NODE_NAME,),
    "PodFitsHostPorts": (NODE_PORTS,),
    "PodFitsPorts": (NODE_PORTS,),
    "MatchNodeSelector": (NODE_AFFINITY,),
    "PodFitsResources": (FIT,),
    "NoDiskConflict": (VOLUME_RESTRICTIONS,),
    "PodToleratesNodeTaints": (TAINT_TOLERATION,),
    "MaxEBSVolumeCount": (NODE_VOLUME_LIMITS,),
    "MaxGCEPDVolumeCount": (NODE_VOLUME_LIMITS,),
    "MaxCSIVolumeCountPred": (NODE_VOLUME_LIMITS,),
    "MaxAzureDiskVolumeCount": (NODE_VOLUME_LIMITS,),
    "MaxCinderVolumeCount": (NODE_VOLUME_LIMITS,),
    "CheckVolumeBinding": (VOLUME_BINDING,),
    "NoVolumeNodeConflict": (VOLUME_BINDING,),
    "NoVolumeZoneConflict": (VOLUME_ZONE,),
    "EvenPodsSpread": (SPREAD,),
    "MatchInterPodAffinity": (INTER_POD_AFFINITY,),
    # Since Kubernetes v1.12 the node controller turns conditions of nodes into taints.
    "CheckNodeCondition": (TAINT_TOLERATION,),
    "CheckNodeMemoryPressure": (TAINT_TOLERATION,),
    "CheckNodeDiskPressure": (TAINT_TOLERATION,),
    "CheckNodePIDPressure": (TAINT_TOLERATION,),
    "PodToleratesNodeNoExecuteTaints": (TAINT_TOLERATION,),
}
#: What a Policy cannot switch off.
MANDATORY: Final = (NODE_UNSCHEDULABLE, TAINT_TOLERATION)
#: What a Policy decides about; plugins that came later stay as they are.
FILTERS: Final = tuple(dict.fromkeys(one for names in PREDICATES.values() for one in names))

LEAST_ALLOCATED: Final = "LeastAllocated"
MOST_ALLOCATED: Final = "MostAllocated"
CAPACITY_RATIO: Final = "RequestedToCapacityRatio"
LEAST_REQUESTED_PRIORITY: Final = "LeastRequestedPriority"
#: Priorities that are ways of scoring resources, and the scoringStrategy.
STRATEGY_PRIORITIES: Final = {
    LEAST_REQUESTED_PRIORITY: LEAST_ALLOCATED,
    "MostRequestedPriority": MOST_ALLOCATED,
    "RequestedToCapacityRatioPriority": CAPACITY_RATIO,
    CAPACITY_RATIO: CAPACITY_RATIO,
}
#: Both are PodTopologySpread now; the first of them decides the weight, as in Kubernetes.
EVEN_SPREAD_PRIORITY: Final = "EvenPodsSpreadPriority"
SELECTOR_SPREAD_PRIORITIES: Final = ("SelectorSpreadPriority", "ServiceSpreadingPriority")
#: The other priorities that are plugins.
PRIORITIES: Final = {
    "BalancedResourceAllocation": BALANCED,
    "ImageLocalityPriority": IMAGE_LOCALITY,
    "InterPodAffinityPriority": INTER_POD_AFFINITY,
    "NodeAffinityPriority": NODE_AFFINITY,
    "TaintTolerationPriority": TAINT_TOLERATION,
}
EQUAL_PRIORITY: Final = "EqualPriority"
_NO_AVOID: Final = (
    "removed, because Kubernetes no longer reads the annotation "
    "scheduler.alpha.kubernetes.io/preferAvoidPods; if nodes have it, give them a taint with the "
    "effect PreferNoSchedule instead"
)
_NO_LIMITS: Final = (
    "removed, because nothing in Kubernetes scores nodes by the limits of pods; if you need it, "
    "write a score function in a mooring policy"
)
#: Priorities that Kubernetes removed, and what to do.
REMOVED_PRIORITIES: Final = {
    "NodePreferAvoidPodsPriority": _NO_AVOID,
    "ResourceLimitsPriority": _NO_LIMITS,
}
#: The priorities of a Policy that lists none.
DEFAULT_PRIORITIES: Final = {
    "SelectorSpreadPriority": 1,
    "InterPodAffinityPriority": 1,
    LEAST_REQUESTED_PRIORITY: 1,
    "BalancedResourceAllocation": 1,
    "NodeAffinityPriority": 1,
    "TaintTolerationPriority": 1,
    "ImageLocalityPriority": 1,
    EVEN_SPREAD_PRIORITY: 2,
}
#: What a Policy decides about at Score.
SCORES: Final = (*PRIORITIES.values(), FIT, SPREAD)

#: Weights that v1beta2 and older versions had by default and that v1beta3 and v1 changed.
OLD_DEFAULT_WEIGHTS: Final = {TAINT_TOLERATION: 1, NODE_AFFINITY: 1, INTER_POD_AFFINITY: 1}

#: Plugins that Kubernetes removed, by what became of them.
REMOVED_LIMITS: Final = ("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits")
REMOVED_SPREADS: Final = ("SelectorSpread", "DefaultPodTopologySpread")
NODE_LABEL: Final = "NodeLabel"
SERVICE_AFFINITY: Final = "ServiceAffinity"
LEAST_ALLOCATED_PLUGIN: Final = "NodeResourcesLeastAllocated"
#: Plugins that are ways of scoring resources, and the scoringStrategy.
STRATEGY_PLUGINS: Final = {
    LEAST_ALLOCATED_PLUGIN: LEAST_ALLOCATED,
    "NodeResourcesMostAllocated": MOST_ALLOCATED,
    CAPACITY_RATIO: CAPACITY_RATIO,
}
REMOVED_PLUGINS: Final = {
    "NodePreferAvoidPods": _NO_AVOID,
    "NodeResourceLimits": _NO_LIMITS,
    SERVICE_AFFINITY: (
        "removed; let the pods of a service say it themselves, with podAffinity and the label as "
        "topologyKey (together) or topologySpreadConstraints (apart)"
    ),
}

DEFAULT_PROVIDER: Final = "DefaultProvider"
AUTOSCALER_PROVIDER: Final = "ClusterAutoscalerProvider"
