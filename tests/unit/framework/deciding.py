"""One decision without extenders, for tests."""

from collections.abc import Mapping
from typing import Any

from mooring.config.runtimes import build_profiles, build_runtime
from mooring.framework.decisions.decision import Decision
from mooring.framework.decisions.decision_cycle import decide, without_extenders
from mooring.framework.decisions.observer import NOBODY, Observer
from mooring.framework.runtime import Runtime
from mooring.model.pod import Pod
from mooring.plugins.in_tree import default_registry
from mooring.state.cluster import Cluster


def runtime_with(cluster: Cluster, profile: Mapping[str, Any]) -> Runtime:
    """The plugins of a profile of a configuration file; the default ones if it says nothing."""
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }
    registry = default_registry()
    (made,) = build_profiles(config, registry).values()
    return build_runtime(made, registry, cluster, lambda: 0)


def decide_alone(runtime: Runtime, pod: Pod, observer: Observer = NOBODY) -> Decision:
    """Find the best nodes for a pod."""
    return without_extenders(decide(runtime, pod, observer))
