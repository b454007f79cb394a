"""The fields of ``KubeSchedulerConfiguration`` v1 with kube-scheduler's defaults.

Plain data: reading is in `configuration`, checking in `validation`. An extension point's
set holds only what the user changes; `profiles` merges it with the default set of plugins.
"""

# parity v1.36.4: kube-scheduler/config/v1/types.go, apis/config/v1/defaults.go

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from mooring.config.strict_decoding import Int32, Int64, Percentage
from mooring.model.duration import Duration

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"
DEFAULT_SCHEDULER: Final = "default-scheduler"


class ConfigStruct(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Base of every struct in a configuration: camel case, and no field that nobody knows."""


#: Namespace and name of kube-scheduler's own Lease.
KUBE_SCHEDULER_LEASE: Final = ("kube-system", "kube-scheduler")


class LeaderElectionConfiguration(ConfigStruct, frozen=True):
    """How replicas of the scheduler agree on the one that works."""

    leader_elect: bool = True
    lease_duration: Duration = Duration.of_seconds(15)
    renew_deadline: Duration = Duration.of_seconds(10)
    retry_period: Duration = Duration.of_seconds(2)
    resource_lock: str = "leases"
    resource_name: str = KUBE_SCHEDULER_LEASE[1]
    resource_namespace: str = KUBE_SCHEDULER_LEASE[0]


class ClientConnectionConfiguration(ConfigStruct, frozen=True):
    """How the API server is talked to."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/vnd.kubernetes.protobuf"
    qps: float = 50
    burst: Int32 = 100


class PluginRef(ConfigStruct, frozen=True):
    """A plugin in a list; the weight counts for scores only, and 0 means the default."""

    name: str
    weight: Int32 = 0


class PluginSet(ConfigStruct, frozen=True):
    """What changes at one extension point, or at all (``multiPoint``)."""

    enabled: tuple[PluginRef, ...] = ()
    disabled: tuple[PluginRef, ...] = ()


class Plugins(ConfigStruct, frozen=True):
    """What a profile changes in the default set of plugins."""

    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()

    def sets(self) -> Iterator[tuple[str, PluginSet]]:
        """Every set with the name of its point, such as ``preFilter``."""
        for field, name in zip(self.__struct_fields__, self.__struct_encode_fields__, strict=True):
            yield name, getattr(self, field)


class PluginConfig(ConfigStruct, frozen=True):
    """A plugin's arguments, as they were written."""

    name: str
    args: dict[str, Any] = {}


class KubeSchedulerProfile(ConfigStruct, frozen=True):
    """One profile: for pods that name its scheduler.

    Attributes:
        percentage_of_nodes_to_score: None takes the configuration's.
    """

    scheduler_name: str = ""
    percentage_of_nodes_to_score: Percentage | None = None
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginConfig, ...] = ()


class ExtenderManagedResource(ConfigStruct, frozen=True):
    """A resource that an extender looks after."""

    name: str
    ignored_by_scheduler: bool = False


class ExtenderTLSConfig(ConfigStruct, frozen=True):
    """How a connection to an extender is secured."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = b""


class Extender(ConfigStruct, frozen=True):
    """A webhook that takes part in decisions; a verb that is empty is not called."""

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: Int64 = 0
    bind_verb: str = ""
    enable_https: bool = msgspec.field(default=False, name="enableHTTPS")
    tls_config: ExtenderTLSConfig | None = None
    http_timeout: Duration = Duration.of_seconds(5)
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False


class KubeSchedulerConfiguration(ConfigStruct, frozen=True):
    """The scheduler's configuration, complete with defaults.

    Attributes:
        enable_contention_profiling: follows `enable_profiling` if it is not given.
        percentage_of_nodes_to_score: how many nodes are enough; 0 lets the scheduler choose.
        profiles: as written; `profiles_from` merges them with the default set of plugins.
    """

    api_version: str = API_VERSION
    kind: str = KIND
    parallelism: Int32 = 16
    leader_election: LeaderElectionConfiguration = LeaderElectionConfiguration()
    client_connection: ClientConnectionConfiguration = ClientConnectionConfiguration()
    enable_profiling: bool = True
    enable_contention_profiling: bool | None = None
    percentage_of_nodes_to_score: Percentage = 0
    pod_initial_backoff_seconds: Int64 = 1
    pod_max_backoff_seconds: Int64 = 10
    profiles: tuple[KubeSchedulerProfile, ...] = ()
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False
