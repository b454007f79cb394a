"""A configuration of each old version, with what Kubernetes has changed since."""

from typing import Any

GROUP = "kubescheduler.config.k8s.io"
RATIO = {"shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]}
#: What Kubernetes has changed since, in each version.
OLD_VERSIONS: dict[str, dict[str, Any]] = {
    "v1alpha1": {
        "schedulerName": "old-v1alpha1",
        "algorithmSource": {"provider": "ClusterAutoscalerProvider"},
        "hardPodAffinitySymmetricWeight": 20,
        "bindTimeoutSeconds": 30,
        "disablePreemption": True,
        "plugins": {
            "postFilter": {"disabled": [{"name": "TaintToleration"}]},
            "score": {"disabled": [{"name": "TaintToleration"}]},
        },
    },
    "v1alpha2": {
        "profiles": [
            {
                "schedulerName": "old-v1alpha2",
                "plugins": {
                    "score": {
                        "enabled": [{"name": "RequestedToCapacityRatio", "weight": 3}],
                        "disabled": [
                            {"name": "NodeResourcesLeastAllocated"},
                            {"name": "DefaultPodTopologySpread"},
                        ],
                    },
                    "filter": {"disabled": [{"name": "EBSLimits"}]},
                },
                "pluginConfig": [{"name": "RequestedToCapacityRatio", "args": RATIO}],
            }
        ],
    },
    "v1beta1": {
        "profiles": [
            {
                "schedulerName": "old-v1beta1",
                "plugins": {
                    "filter": {"enabled": [{"name": "NodeLabel"}, {"name": "CinderLimits"}]},
                    "score": {
                        "enabled": [
                            {"name": "NodeResourcesMostAllocated", "weight": 2},
                            {"name": "NodePreferAvoidPods", "weight": 10000},
                        ],
                        "disabled": [{"name": "NodeResourcesLeastAllocated"}],
                    },
                },
                "pluginConfig": [{"name": "NodeLabel", "args": {"presentLabels": ["disk"]}}],
            }
        ],
    },
    "v1beta2": {
        "profiles": [
            {
                "schedulerName": "old-v1beta2",
                "pluginConfig": [
                    {
                        "name": "InterPodAffinity",
                        "args": {
                            "apiVersion": f"{GROUP}/v1beta2",
                            "kind": "InterPodAffinityArgs",
                            "hardPodAffinityWeight": 5,
                        },
                    }
                ],
            }
        ],
    },
    "v1beta3": {
        "profiles": [
            {
                "schedulerName": "old-v1beta3",
                "plugins": {
                    "multiPoint": {
                        "enabled": [
                            {"name": "SelectorSpread"},
                            {"name": "NodeAffinity", "weight": 7},
                        ],
                        "disabled": [{"name": "GCEPDLimits"}, {"name": "ImageLocality"}],
                    }
                },
            }
        ],
    },
}
