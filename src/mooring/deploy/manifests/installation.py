"""What is deployed: one typed description, from which all objects are made.

The command line fills `Installation` in; `check_installation` says what does not go together, in a
sentence, before anything is written. Objects are made in `manifest_set`; nothing here makes one.
"""

import re
from typing import Any, Final

import msgspec

from mooring.config.types import DEFAULT_SCHEDULER
from mooring.deploy.manifests.choices import ManifestFormat, Mode, ServiceType, TlsSource
from mooring.deploy.manifests.kubernetes_version import KubernetesVersion
from mooring.errors import InputError
from mooring.framework.policy import Policy
from mooring.version import __version__

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
#: Names get endings such as -kube-scheduler.
_MOST_NAME: Final = 40
_NODE_PORTS: Final = range(30000, 32768)


class DeployedPolicy(msgspec.Struct, frozen=True):
    """The policy, and how its pod gets it.

    Attributes:
        policy: as it was loaded.
        text: what is in its file; empty for a module that the image has.
        module: ``package.module:policy``, if the image has it; else empty.
    """

    policy: Policy
    text: str = ""
    module: str = ""

    @property
    def place(self) -> str:
        """What the command in the pod is given."""
        return self.module or "/policy/policy.py"


class Installation(msgspec.Struct, frozen=True, kw_only=True):
    """What is deployed.

    Attributes:
        mode: how the policy takes part.
        format: what is written; some things make sense only in some formats.
        policy: the policy.
        name: of all objects, and the folder's.
        namespace: where they are.
        scheduler_name: the ``schedulerName`` of the pods it is for; empty takes what fits the mode.
        configuration: a KubeSchedulerConfiguration to begin with, as it was written.
        kubernetes: the cluster's version.
        image: of mooring, with the policy's libraries.
        kube_scheduler_image: in the modes that have a kube-scheduler; empty takes the version's.
        pull_secrets: names of Secrets to pull images with.
        replicas: how many pods.
        node_cache: the extender watches nodes and pods; None if the mode has no extender.
        tls: where the extender's certificates come from.
        service: how the extender is reached.
        node_port: the port on every node; 0 lets Kubernetes choose.
        url: where kube-scheduler finds the extender, if not at the Service; without a path.
        prefix: in front of the extender's verbs, as in ``moor serve --prefix``.
        timeout: the extender's ``httpTimeout`` in seconds.
        ignorable: pods are scheduled without the extender while it is away; None takes what fits.
        managed_resources: only pods that request one of them are sent to the extender.
        priority_class: an existing PriorityClass of its pods; empty makes one.
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
    service: ServiceType = ServiceType.CLUSTER_IP
    node_port: int = 0
    url: str = ""
    prefix: str = ""
    timeout: float = 5.0
    ignorable: bool | None = None
    managed_resources: tuple[str, ...] = ()
    priority_class: str = ""
    reload: bool = False
    network_policy: bool = True
    service_monitor: bool = False
    test_pod: bool = True

    @property
    def has_extender(self) -> bool:
        """Whether kube-scheduler asks the policy."""
        return self.mode is not Mode.SCHEDULER

    @property
    def has_kube_scheduler(self) -> bool:
        """Whether a kube-scheduler is a part of it."""
        return self.mode in (Mode.SIDECAR, Mode.STATIC_POD)

    @property
    def leader_election(self) -> bool:
        """Whether its schedulers agree by a Lease on who works; always, if it has some."""
        return self.mode is not Mode.EXTENDER

    @property
    def in_place(self) -> bool:
        """Whether it schedules the pods of the cluster's own scheduler."""
        return self.scheduler_name == DEFAULT_SCHEDULER

    @property
    def files_folder(self) -> str:
        """Where the control plane's nodes have its files."""
        return f"/etc/kubernetes/{self.name}"


def default_scheduler_name(mode: Mode, name: str) -> str:
    """The ``schedulerName`` for a mode: the cluster's own where that one is extended."""
    return DEFAULT_SCHEDULER if mode in (Mode.EXTENDER, Mode.STATIC_POD) else name


def check_name(text: str, option: str, most: int = 63) -> None:
    """Make sure that a text can be the name of objects.

    Raises:
        InputError: it cannot.
    """
    if not _LABEL.fullmatch(text) or len(text) > most:
        raise InputError(
            f"{option} {text!r} cannot be the name of objects; use up to {most} lower-case "
            f"letters, digits and '-', with a letter or digit first and last"
        )


def check_installation(one: Installation) -> None:
    """Make sure that everything in a description goes together.

    Raises:
        InputError: something does not; the sentence says what to do.
    """
    check_name(one.name, "--name", _MOST_NAME)
    check_name(one.namespace, "--namespace")
    if one.replicas < 1:
        raise InputError(f"--replicas {one.replicas} runs nothing; give at least 1")
    if one.reload and one.policy.module:
        raise InputError(
            f"--reload loads a policy's file again, and {one.policy.module} is a module of the "
            f"image; build a new image instead"
        )
    if one.mode is Mode.STATIC_POD:
        _check_static_pod(one)
    if one.mode is not Mode.EXTENDER:
        _check_without_service(one)
    elif one.tls is TlsSource.SELF_SIGNED and one.format is ManifestFormat.HELM:
        raise InputError(
            "a chart must not contain a private key, so --tls self-signed does not go with "
            "--format helm; use --tls cert-manager, or --tls secret and make the Secrets yourself"
        )
    if one.node_port and one.service is not ServiceType.NODE_PORT:
        raise InputError(f"--node-port {one.node_port} needs --service NodePort")
    if one.node_port and one.node_port not in _NODE_PORTS:
        raise InputError(
            f"--node-port {one.node_port} is no node port; give a number from "
            f"{_NODE_PORTS.start} to {_NODE_PORTS.stop - 1}"
        )
    if one.mode is Mode.SCHEDULER:
        _check_scheduler(one)


def _check_static_pod(one: Installation) -> None:
    if one.format is not ManifestFormat.YAML:
        raise InputError(
            f"a static pod is a file that the kubelet of a control-plane node reads, and nothing "
            f"that --format {one.format} could apply; use --format yaml"
        )
    if one.policy.module:
        raise InputError(
            f"--mode static-pod copies the policy's file to the node, and {one.policy.module} is "
            f"a module; give the file"
        )
    if one.service_monitor:
        raise InputError(
            "--service-monitor needs a Service, and a static pod on the host's network has none; "
            "have Prometheus scrape the node's port"
        )


def _check_without_service(one: Installation) -> None:
    """Only an extender of its own is reached through a Service."""
    why = {
        Mode.SIDECAR: "kube-scheduler is in the same pod and asks over loopback",
        Mode.STATIC_POD: "kube-scheduler is in the same pod and asks over loopback",
        Mode.SCHEDULER: "moor run runs the policy itself, and nobody calls it",
    }[one.mode]
    if one.tls is not TlsSource.NONE:
        raise InputError(f"--tls {one.tls} is for --mode extender; with --mode {one.mode}, {why}")
    if one.service is not ServiceType.CLUSTER_IP:
        raise InputError(
            f"--service {one.service} is for --mode extender; with --mode {one.mode}, {why}"
        )
    if one.url:
        raise InputError(f"--url is for --mode extender; with --mode {one.mode}, {why}")


def _check_scheduler(one: Installation) -> None:
    for given, option in (
        (one.prefix, "--prefix"),
        (one.ignorable is not None, "--ignorable"),
        (one.managed_resources, "--managed-resource"),
        (one.kube_scheduler_image, "--kube-scheduler-image"),
        (not one.node_cache, "--no-node-cache"),
    ):
        if given:
            raise InputError(
                f"{option} is for extenders, and --mode scheduler has none; leave it out"
            )
