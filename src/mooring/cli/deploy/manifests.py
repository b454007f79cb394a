"""``moor manifests``: everything that a cluster needs to run a policy, as files."""

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from mooring.deploy.manifests.choices import ManifestFormat, Mode, ServiceType, TlsSource
from mooring.errors import InputError

if TYPE_CHECKING:
    from mooring.deploy.manifests.installation import DeployedPolicy, Installation


def manifests(
    policy: Annotated[str, typer.Argument(help="The policy: policy.py or package.module:policy.")],
    mode: Annotated[
        Mode,
        typer.Option(
            help="extender: a Service for the cluster's kube-scheduler; sidecar: a second "
            "kube-scheduler with the policy in its pod; scheduler: moor run; static-pod: the "
            "kube-scheduler of kubeadm with the policy in its pod."
        ),
    ],
    output_format: Annotated[
        ManifestFormat,
        typer.Option("--format", help="What to write; kustomize and helm need --directory."),
    ] = ManifestFormat.YAML,
    directory: Annotated[
        Optional[Path],  # noqa: UP045 - typer reads it at run time
        typer.Option(
            "--directory",
            "-d",
            metavar="DIR",
            help="Write files into this folder instead of standard output.",
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files in the folder.")
    ] = False,
    name: Annotated[
        str,
        typer.Option(metavar="NAME", help="Name of the objects; by default the policy's."),
    ] = "",
    namespace: Annotated[
        str,
        typer.Option("--namespace", "-n", help="Namespace of the objects; by default as --name."),
    ] = "",
    kubernetes: Annotated[
        str, typer.Option(metavar="VERSION", help="The cluster's version.")
    ] = "1.36",
    image: Annotated[
        str, typer.Option(metavar="IMAGE", help="Image with mooring and the policy's libraries.")
    ] = "",
    kube_scheduler_image: Annotated[
        str,
        typer.Option(
            metavar="IMAGE", help="Image of kube-scheduler; by default of the cluster's version."
        ),
    ] = "",
    pull_secret: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="NAME", help="Secret for pulling images; repeatable."),
    ] = None,
    replicas: Annotated[int, typer.Option(min=1, max=100, help="Number of pods.")] = 2,
    priority_class: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="An existing PriorityClass for the pods; by default a new one."
        ),
    ] = "",
    reload: Annotated[
        bool,
        typer.Option(
            "--reload", help="Running pods reload a changed policy instead of being replaced."
        ),
    ] = False,
    network_policy: Annotated[bool, typer.Option(help="Add a NetworkPolicy.")] = True,
    service_monitor: Annotated[
        bool,
        typer.Option("--service-monitor", help="Add a ServiceMonitor for the Prometheus operator."),
    ] = False,
    test_pod: Annotated[bool, typer.Option(help="Add a pod to try it with.")] = True,
    config: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="KubeSchedulerConfiguration to start from."),
    ] = None,
    scheduler_name: Annotated[
        str, typer.Option(help="The schedulerName of the pods that the policy is for.")
    ] = "",
    node_cache: Annotated[
        bool, typer.Option(help="The extender watches nodes and pods itself.")
    ] = True,
    ignorable: Annotated[
        Optional[bool],  # noqa: UP045
        typer.Option(
            "--ignorable/--no-ignorable",
            help="Schedule pods without the extender while it is down; on for --mode extender.",
        ),
    ] = None,
    managed_resource: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            metavar="RESOURCE",
            help="Ask the extender only about pods that request this; repeatable.",
        ),
    ] = None,
    tls: Annotated[
        Optional[TlsSource],  # noqa: UP045
        typer.Option(
            help="Where certificates for --mode extender come from; self-signed by default, "
            "cert-manager in a chart."
        ),
    ] = None,
    service: Annotated[
        ServiceType, typer.Option(help="Type of the Service of --mode extender.")
    ] = ServiceType.CLUSTER_IP,
    node_port: Annotated[
        int, typer.Option(show_default=False, help="Port for --service NodePort.")
    ] = 0,
    url: Annotated[
        str,
        typer.Option(metavar="URL", help="Address of the extender, if not that of its Service."),
    ] = "",
    prefix: Annotated[str, typer.Option(help="In front of every verb, as in moor serve.")] = "",
    timeout: Annotated[float, typer.Option(min=0.1, help="The extender's httpTimeout.")] = 5.0,
) -> None:
    """Write the objects that run a policy on a cluster.

    The objects include a service account with exactly the permissions that the policy and the
    enabled plugins use, the scheduler's configuration, a Deployment without privileges, a
    disruption budget, a network policy and a pod to try it with; with --mode extender, also a
    Service and certificates. For Kubernetes before 1.23, the configuration is a Policy.
    """
    from mooring.deploy.manifests.installation import (
        Installation,
        check_installation,
        default_scheduler_name,
    )
    from mooring.deploy.manifests.kubernetes_version import read_version
    from mooring.version import __version__

    with contextlib.redirect_stdout(sys.stderr):  # what the policy prints is no manifest
        loaded = _policy_file(policy)
    configuration = _configuration(config)
    chosen = name or object_name(loaded.policy.name)
    if tls is None:
        tls = TlsSource.NONE
        if mode is Mode.EXTENDER:
            is_chart = output_format is ManifestFormat.HELM
            tls = TlsSource.CERT_MANAGER if is_chart else TlsSource.SELF_SIGNED
    static = mode is Mode.STATIC_POD
    installation = Installation(
        mode=mode,
        format=output_format,
        policy=loaded,
        name=chosen,
        namespace=namespace or ("kube-system" if static else chosen),
        scheduler_name=scheduler_name
        or _configured_name(configuration)
        or default_scheduler_name(mode, chosen),
        configuration=configuration,
        kubernetes=read_version(kubernetes),
        image=image or f"mooring:{__version__}",
        kube_scheduler_image=kube_scheduler_image,
        pull_secrets=tuple(pull_secret or ()),
        replicas=replicas,
        node_cache=node_cache,
        tls=tls,
        service=service,
        node_port=node_port,
        url=url,
        prefix=f"/{prefix.strip('/')}" if prefix.strip("/") else "",
        timeout=timeout,
        ignorable=ignorable,
        managed_resources=tuple(managed_resource or ()),
        priority_class=priority_class,
        reload=reload,
        network_policy=network_policy,
        service_monitor=service_monitor,
        test_pod=test_pod,
    )
    check_installation(installation)
    _write(installation, directory, policy, overwrite=overwrite)


def object_name(policy_name: str) -> str:
    """A policy's name as the name of objects."""
    import re

    return re.sub(r"[^a-z0-9]+", "-", policy_name.lower()).strip("-")[:40].strip("-") or "policy"


def _write(
    installation: "Installation", directory: Path | None, policy: str, *, overwrite: bool
) -> None:
    from mooring.cli.deploy.file_trees import write_files
    from mooring.deploy.manifests.manifest_set import manifest_set
    from mooring.deploy.manifests.static_pod_files import static_pod_files
    from mooring.deploy.manifests.yaml_writer import yaml_stream

    heading = _heading(installation, policy)
    is_stream = (
        installation.format is ManifestFormat.YAML and installation.mode is not Mode.STATIC_POD
    )
    if is_stream and directory is None:
        typer.echo(yaml_stream(manifest_set(installation), heading), nl=False)
        return
    if directory is None:
        what = installation.mode if installation.mode is Mode.STATIC_POD else installation.format
        raise InputError(f"{what} is several files; say where they go with --directory DIR")
    if installation.mode is Mode.STATIC_POD:
        files = static_pod_files(installation, heading)
    elif is_stream:
        files = {"manifests.yaml": yaml_stream(manifest_set(installation), heading)}
    elif installation.format is ManifestFormat.KUSTOMIZE:
        from mooring.deploy.manifests.kustomize_writer import kustomization

        files = kustomization(installation, manifest_set(installation), heading)
    else:
        from mooring.deploy.manifests.helm_writer import chart

        files = chart(installation, manifest_set(installation), heading)
    write_files(directory, files, overwrite=overwrite)
    typer.echo(f"{directory} has {len(files)} files.\n\n{_next(installation, directory)}")


def _heading(installation: "Installation", policy: str) -> str:
    what = {
        Mode.EXTENDER: "an extender with a Service, for the cluster's kube-scheduler",
        Mode.SIDECAR: "a second scheduler: kube-scheduler with the policy in its pod",
        Mode.SCHEDULER: "a scheduler: moor run",
        Mode.STATIC_POD: "the cluster's kube-scheduler with the policy in its pod",
    }[installation.mode]
    return (
        f"Policy {installation.policy.policy.name} as {what}.\n"
        f"Written by: moor manifests {Path(policy).name} --mode {installation.mode}\n"
        f"Kubernetes 1.{installation.kubernetes.minor}; schedulerName: "
        f"{installation.scheduler_name}"
    )


def _next(installation: "Installation", directory: Path) -> str:
    if installation.mode is Mode.STATIC_POD:
        return "Copy the folder to each control-plane node and run install.sh there, as root."
    command = {
        ManifestFormat.YAML: f"kubectl apply -f {directory}",
        ManifestFormat.KUSTOMIZE: f"kubectl apply -k {directory}",
        ManifestFormat.HELM: f"helm install {installation.name} {directory} "
        f"--namespace {installation.namespace} --create-namespace",
    }[installation.format]
    return f"Apply it:\n\n    {command}"


def _policy_file(place: str) -> "DeployedPolicy":
    from mooring.deploy.manifests.installation import DeployedPolicy
    from mooring.framework.loading import load

    loaded = load(place)
    if not place.endswith(".py"):
        return DeployedPolicy(loaded, module=place)
    text = Path(place).read_text(encoding="utf-8")
    return DeployedPolicy(loaded, text=text.rstrip("\n") + "\n")


def _configuration(file: Path | None) -> dict[str, Any]:
    if file is None:
        return {}
    from mooring.cli.input_files import read_mapping
    from mooring.config.configuration import read_configuration

    found = read_mapping(file)
    try:
        read_configuration(found)
    except InputError as error:
        raise InputError(f"{file}: {error}") from error
    return found


def _configured_name(configuration: dict[str, Any]) -> str:
    for profile in configuration.get("profiles") or ():
        return str(profile.get("schedulerName") or "")
    return ""
