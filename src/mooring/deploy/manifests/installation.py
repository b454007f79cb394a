"""What is deployed: one typed description, from which all objects are made.

The command line fills `Installation` in, `installation_checks` says what does not go together, and
`manifest_set` makes the objects; nothing here makes one.
"""

from typing import Any

import msgspec

from mooring.config.types import DEFAULT_SCHEDULER
from mooring.deploy.kubernetes_version import KubernetesVersion
from mooring.deploy.manifests.choices import ManifestFormat, Mode, ServiceType, TlsSource
from mooring.deploy.manifests.extender_paths import ExtenderPaths
from mooring.framework.policy import Policy
from mooring.version import __version__


class DeployedPolicy(msgspec.Struct, frozen=True):
    """The policy, and how its pod gets it.

    Attributes:
        policy: as it was loaded.
        text: what is in its file; empty for a module that the image has.
        module: ``package.module:policy``, if the image has it; else empty.
        variable: its name in the file, if the user gave one; else empty.
    """

    policy: Policy
    text: str = ""
    module: str = ""
    variable: str = ""

    @property
    def place(self) -> str:
        """What the command in the pod is given."""
        return self.module or f"/policy/policy.py{self.variable and f':{self.variable}'}"


class Installation(msgspec.Struct, frozen=True, kw_only=True):
    """What is deployed.

    Attributes:
        mode: how the policy takes part.
        format: what is written; some things make sense only in some formats.
        policy: the policy.
        name: of all objects, and the folder's.
        namespace: where they are.
        scheduler_name: the ``schedulerName`` of the pods it is for, if there is one profile.
        configuration: a KubeSchedulerConfiguration to begin with, as it was written.
        kubernetes: the cluster's version.
        image: of mooring, with the policy's libraries.
        kube_scheduler_image: in the modes that have a kube-scheduler; empty takes the version's.
        pull_secrets: names of Secrets to pull images with.
        replicas: how many pods.
        node_cache: the extender watches nodes and pods; None if the mode has no extender.
        tls: where the extender's certificates come from.
        certificates: self-signed ones as files, under ``tls`` the extender's and under ``client``
            kube-scheduler's; `with_certificates` fills it in.
        service: how the extender is reached.
        node_port: the port on every node; 0 lets Kubernetes choose.
        url: where kube-scheduler finds the extender, if not at the Service; without a path.
        paths: where the extender serves its verbs.
        timeout: the extender's ``httpTimeout`` in seconds.
        ignorable: pods are scheduled without the extender while it is away; None takes what fits.
        managed_resources: only pods that request one of them are sent to the extender.
        priority_class: an existing PriorityClass of its pods; empty takes what fits.
        reload: a changed policy is loaded by running pods instead of new ones.
        network_policy: let only the ports in that are needed.
        service_monitor: have Prometheus' operator scrape the metrics.
        test_pod: a pod to try it with.
    """

    mode: Mode
    format: ManifestFormat = ManifestFormat.YAML
    policy: DeployedPolicy
    name: str
    namespace: str
    scheduler_name: str = ""
    configuration: dict[str, Any] = {}
    kubernetes: KubernetesVersion = KubernetesVersion()
    image: str = f"mooring:{__version__}"
    kube_scheduler_image: str = ""
    pull_secrets: tuple[str, ...] = ()
    replicas: int = 2
    node_cache: bool = True
    tls: TlsSource = TlsSource.NONE
    certificates: dict[str, dict[str, str]] = {}
    service: ServiceType = ServiceType.CLUSTER_IP
    node_port: int = 0
    url: str = ""
    paths: ExtenderPaths = ExtenderPaths()
    timeout: float = 5.0
    ignorable: bool | None = None
    managed_resources: tuple[str, ...] = ()
    priority_class: str = ""
    reload: bool = False
    network_policy: bool = True
    service_monitor: bool = False
    test_pod: bool = False

    @property
    def has_extender(self) -> bool:
        """Whether kube-scheduler asks the policy."""
        return self.mode is not Mode.SCHEDULER

    @property
    def has_kube_scheduler(self) -> bool:
        """Whether a kube-scheduler is a part of it."""
        return self.mode in (Mode.SIDECAR, Mode.STATIC_POD)

    @property
    def scheduler_names(self) -> tuple[str, ...]:
        """The ``schedulerName`` of each profile."""
        profiles = self.configuration.get("profiles") or ()
        if len(profiles) < 2:
            return (self.scheduler_name or DEFAULT_SCHEDULER,)
        return tuple(one["schedulerName"] for one in profiles)

    @property
    def in_place(self) -> bool:
        """Whether it schedules the pods of the cluster's own scheduler."""
        return DEFAULT_SCHEDULER in self.scheduler_names

    @property
    def replaces_kube_scheduler(self) -> bool:
        """Whether pods of a Deployment are the only ones that place pods, their own among them."""
        return self.in_place and self.mode in (Mode.SCHEDULER, Mode.SIDECAR)

    @property
    def existing_priority_class(self) -> str:
        """The PriorityClass of its pods; empty if one is made for them."""
        if self.replaces_kube_scheduler:
            return self.priority_class or "system-cluster-critical"
        return self.priority_class

    @property
    def files_folder(self) -> str:
        """Where the control plane's nodes have its files."""
        return f"/etc/kubernetes/{self.name}"


def default_scheduler_name(mode: Mode, name: str) -> str:
    """The ``schedulerName`` for a mode: the cluster's own where that one is extended."""
    return DEFAULT_SCHEDULER if mode in (Mode.EXTENDER, Mode.STATIC_POD) else name
