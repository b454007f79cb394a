"""What of an installation does not go together: said in a sentence before anything is written.

``moor manifests`` and ``moor init`` call it with what they were given.
"""

import json
import re
from typing import Final

from mooring.config.types import DEFAULT_SCHEDULER
from mooring.deploy.kubernetes_version import NODE_PORTS
from mooring.deploy.manifests.choices import ManifestFormat, Mode, ServiceType, TlsSource
from mooring.deploy.manifests.extender_paths import ExtenderPaths
from mooring.deploy.manifests.installation import Installation
from mooring.deploy.manifests.object_names import MOST_NAME
from mooring.deploy.manifests.value_checks import check_object_names, check_words
from mooring.errors import InputError

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
#: kubectl apply keeps an object in an annotation, and the API server takes so much of them.
_MOST_APPLIED: Final = 256 * 1024
_AROUND_A_POLICY: Final = 4 * 1024
#: Folders of /etc/kubernetes that are kubeadm's or another's.
_FOLDERS_OF_OTHERS: Final = ("addons", "manifests", "pki", "tmp")


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
    check_name(one.name, "--name", MOST_NAME)
    check_name(one.namespace, "--namespace")
    if one.mode in (Mode.EXTENDER, Mode.STATIC_POD) and one.name in _FOLDERS_OF_OTHERS:
        raise InputError(
            f"--name {one.name} would put its files into {one.files_folder}, where the control "
            f"plane has its own; choose another name"
        )
    _check_values(one)
    _check_policy(one)
    _check_profiles(one)
    if one.replicas < 1:
        raise InputError(f"--replicas {one.replicas} runs nothing; give at least 1")
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
    if one.node_port and one.node_port not in NODE_PORTS:
        raise InputError(
            f"--node-port {one.node_port} is not a node port; give a number from "
            f"{NODE_PORTS.start} to {NODE_PORTS.stop - 1}"
        )
    has_service = one.mode is Mode.EXTENDER or one.service_monitor
    if has_service and not one.kubernetes.services_like_others and one.name[0].isdigit():
        raise InputError(
            f"--name {one.name} cannot be the name of a Service in Kubernetes "
            f"1.{one.kubernetes.minor}; choose one with a letter first"
        )
    if one.mode is Mode.SCHEDULER:
        _check_scheduler(one)
    _check_scheduler_names(one)
    one.paths.check(one.policy.policy)


def _check_values(one: Installation) -> None:
    check_object_names("--pull-secret", one.pull_secrets)
    check_object_names("--priority-class", filter(None, [one.priority_class]))
    for option, given in (
        ("--image", one.image),
        ("--kube-scheduler-image", one.kube_scheduler_image),
        ("--scheduler-name", one.scheduler_name),
        ("--prefix", one.paths.prefix),
        ("--predicates-prefix", one.paths.predicates),
        ("--priorities-prefix", one.paths.priorities),
        ("--url", one.url),
    ):
        check_words(option, filter(None, [given]))
    check_words("--managed-resource", one.managed_resources)


def _check_policy(one: Installation) -> None:
    if one.reload and one.policy.module:
        raise InputError(
            f"--reload loads a policy's file again, and {one.policy.module} is a module of the "
            f"image; build a new image instead"
        )
    size = len(json.dumps(one.policy.text))
    if one.mode is not Mode.STATIC_POD and size > _MOST_APPLIED - _AROUND_A_POLICY:
        raise InputError(
            f"the policy's file has {size >> 10} KiB, and kubectl apply takes less than "
            f"{_MOST_APPLIED >> 10}; put it into the image and give package.module:policy"
        )


def _check_profiles(one: Installation) -> None:
    """A configuration to begin with has to have a place for the policy."""
    if one.configuration and one.has_extender and not one.kubernetes.configuration_api:
        raise InputError(
            f"--config is for Kubernetes 1.23 and later: kube-scheduler v1.{one.kubernetes.minor} "
            f"gets a Policy, which has no profiles; leave it out"
        )
    for at, extender in enumerate(one.configuration.get("extenders") or ()):
        if one.mode is not Mode.STATIC_POD and (extender.get("tlsConfig") or {}).get("keyData"):
            raise InputError(
                f"--config has a private key in extenders[{at}].tlsConfig.keyData, and the "
                f"configuration becomes a ConfigMap, which is no place for keys; use keyFile"
            )


def _check_scheduler_names(one: Installation) -> None:
    """Whoever serves default-scheduler shares kube-scheduler's Lease: only one of them works."""
    names = one.scheduler_names
    if one.mode is Mode.STATIC_POD and not one.in_place:
        raise InputError(
            f"--mode static-pod replaces the cluster's kube-scheduler, and then nobody would serve "
            f"{DEFAULT_SCHEDULER}: add a profile with that schedulerName in --config, or use "
            f"--mode sidecar for {names[0]}"
        )
    if one.mode in (Mode.SCHEDULER, Mode.SIDECAR) and one.in_place and len(names) > 1:
        others = ", ".join(name for name in names if name != DEFAULT_SCHEDULER)
        raise InputError(
            f"--config has profiles for {DEFAULT_SCHEDULER} and for {others}: the first has to "
            f"share kube-scheduler's Lease, and the others would wait for it; give each a "
            f"configuration and an installation of its own"
        )


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
    if one.tls is not TlsSource.NONE:
        raise only_for_extenders(f"--tls {one.tls}", one.mode)
    if one.url:
        raise only_for_extenders("--url", one.mode)


def only_for_extenders(option: str, mode: Mode) -> InputError:
    """What is said of an option that another mode than extender does not have."""
    why = {
        Mode.SIDECAR: "kube-scheduler is in the same pod and asks over loopback",
        Mode.STATIC_POD: "kube-scheduler is in the same pod and asks over loopback",
        Mode.SCHEDULER: "moor run runs the policy itself, and nobody calls it",
    }[mode]
    return InputError(f"{option} is for --mode extender; with --mode {mode}, {why}")


def _check_scheduler(one: Installation) -> None:
    for given, option in (
        (one.paths.port != ExtenderPaths().port, "--port"),
        (one.paths.prefix, "--prefix"),
        (one.paths.verbs, "--verb"),
        (not one.paths.are_usual, "--predicates-prefix or --priorities-prefix"),
        (one.ignorable is not None, "--ignorable"),
        (one.managed_resources, "--managed-resource"),
        (one.kube_scheduler_image, "--kube-scheduler-image"),
        (not one.node_cache, "--no-node-cache"),
    ):
        if given:
            raise InputError(
                f"{option} is for extenders, and --mode scheduler has none; leave it out"
            )
