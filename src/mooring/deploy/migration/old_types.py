"""The fields of ``KubeSchedulerConfiguration`` before v1, and which version had which.

Used to find mistakes in an old file; `old_configuration` translates what the file says. Plain data.
"""

# Looked up in Kubernetes v1.10 to v1.28: kube-scheduler/config/*/types.go,
# component-base/config/v1alpha1/types.go, pkg/apis/componentconfig/v1alpha1/types.go (v1.10)

from typing import Annotated, Any, Final

from msgspec import Meta

from mooring.config.strict_decoding import FieldProblem, Int64, Percentage
from mooring.config.types import (
    ClientConnectionConfiguration,
    ConfigStruct,
    Extender,
    LeaderElectionConfiguration,
    PluginConfig,
    Plugins,
    PluginSet,
)

GROUP: Final = "kubescheduler.config.k8s.io"
COMPONENT_CONFIG: Final = "componentconfig/v1alpha1"
V1ALPHA1: Final = f"{GROUP}/v1alpha1"
V1ALPHA2: Final = f"{GROUP}/v1alpha2"
V1BETA1: Final = f"{GROUP}/v1beta1"
V1BETA2: Final = f"{GROUP}/v1beta2"
V1BETA3: Final = f"{GROUP}/v1beta3"

_COMMON: Final = frozenset(
    {
        "apiVersion",
        "kind",
        "leaderElection",
        "clientConnection",
        "healthzBindAddress",
        "metricsBindAddress",
        "enableProfiling",
        "enableContentionProfiling",
        "percentageOfNodesToScore",
        "podInitialBackoffSeconds",
        "podMaxBackoffSeconds",
    }
)
_OF_ONE_PROFILE: Final = _COMMON | {
    "schedulerName",
    "algorithmSource",
    "hardPodAffinitySymmetricWeight",
    "disablePreemption",
    "bindTimeoutSeconds",
    "failureDomains",
    "plugins",
    "pluginConfig",
}
_OF_PROFILES: Final = _COMMON | {"profiles", "extenders"}
#: The fields of each version.
FIELDS: Final[dict[str, frozenset[str]]] = {
    COMPONENT_CONFIG: _OF_ONE_PROFILE,
    V1ALPHA1: _OF_ONE_PROFILE,
    V1ALPHA2: _OF_PROFILES | {"disablePreemption", "bindTimeoutSeconds"},
    V1BETA1: _OF_PROFILES | {"parallelism"},
    V1BETA2: _OF_PROFILES | {"parallelism"},
    V1BETA3: _OF_PROFILES | {"parallelism"},
}
#: Versions whose default weights v1 has changed.
OTHER_WEIGHTS: Final = (COMPONENT_CONFIG, V1ALPHA1, V1ALPHA2, V1BETA1, V1BETA2)
#: Versions in which resources were scored by plugins of their own.
SCORING_PLUGINS: Final = (COMPONENT_CONFIG, V1ALPHA1, V1ALPHA2, V1BETA1)


class OldLeaderElection(LeaderElectionConfiguration, frozen=True):
    """Leader election with the names it had in v1alpha1, too."""

    lock_object_name: str = ""
    lock_object_namespace: str = ""


class OldPolicyFile(ConfigStruct, frozen=True):
    """A Policy in a file."""

    path: str = ""


class OldPolicyConfigMap(ConfigStruct, frozen=True):
    """A Policy in a ConfigMap."""

    namespace: str = ""
    name: str = ""


class PolicySource(ConfigStruct, frozen=True):
    """Where a Policy is."""

    file: OldPolicyFile | None = None
    config_map: OldPolicyConfigMap | None = None


class AlgorithmSource(ConfigStruct, frozen=True):
    """What decides: a Policy, or a provider."""

    policy: PolicySource | None = None
    provider: str | None = None


class OldPlugins(Plugins, frozen=True):
    """The extension points of all versions; v1 has them all but one."""

    unreserve: PluginSet = PluginSet()


class OldProfile(ConfigStruct, frozen=True):
    """A profile."""

    scheduler_name: str | None = None
    plugins: OldPlugins = OldPlugins()
    plugin_config: tuple[PluginConfig, ...] = ()


class OldConfiguration(ConfigStruct, frozen=True):
    """Every field that some version had."""

    api_version: str = ""
    kind: str = ""
    scheduler_name: str = ""
    algorithm_source: AlgorithmSource = AlgorithmSource()
    hard_pod_affinity_symmetric_weight: Annotated[int, Meta(ge=0, le=100)] | None = None
    leader_election: OldLeaderElection = OldLeaderElection()
    client_connection: ClientConnectionConfiguration = ClientConnectionConfiguration()
    healthz_bind_address: str = ""
    metrics_bind_address: str = ""
    enable_profiling: bool | None = None
    enable_contention_profiling: bool | None = None
    disable_preemption: bool = False
    percentage_of_nodes_to_score: Percentage | None = None
    bind_timeout_seconds: Annotated[int, Meta(ge=0)] | None = None
    failure_domains: str = ""
    plugins: OldPlugins = OldPlugins()
    plugin_config: tuple[PluginConfig, ...] = ()
    parallelism: Int64 | None = None
    pod_initial_backoff_seconds: Int64 | None = None
    pod_max_backoff_seconds: Int64 | None = None
    profiles: tuple[OldProfile, ...] = ()
    extenders: tuple[Extender, ...] = ()


def misplaced(data: dict[str, Any], version: str) -> list[FieldProblem]:
    """Fields that other versions have and this one does not."""
    problems = []
    for name in data:
        others = [one.rpartition("/")[2] for one, fields in FIELDS.items() if name in fields]
        if others and name not in FIELDS[version]:
            has = ", ".join(dict.fromkeys(others))
            text = (
                f"{version} has no such field, it is one of {has}; correct apiVersion or remove it"
            )
            problems.append(FieldProblem(name, text))
    return problems
