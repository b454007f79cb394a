"""``moor manifests``: everything that a cluster needs to run a policy, as files."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from mooring.cli.shared_options import (
    PolicyArgument,
    PredicatesPrefix,
    PrioritiesPrefix,
    VerbPrefix,
)
from mooring.deploy.manifests.choices import ManifestFormat, Mode, ServiceType, TlsSource
from mooring.errors import InputError
from mooring.version import __version__

if TYPE_CHECKING:
    from mooring.deploy.manifests.installation import DeployedPolicy

#: Options that do not change what is written.
_NOT_CONTENT = ("policy", "directory", "overwrite")


def manifests(
    context: typer.Context,
    policy: PolicyArgument,
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
        str,
        typer.Option(
            metavar="IMAGE",
            help="Image with mooring and the policy's libraries, which you build; nodes that do "
            "not have the default one would look for it on Docker Hub.",
        ),
    ] = f"mooring:{__version__}",
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
    test_pod: Annotated[
        Optional[bool],  # noqa: UP045
        typer.Option(
            "--test-pod/--no-test-pod",
            help="Add a pod to try it with; on in a chart, for helm test, and for static pods, as "
            "a file of its own.",
        ),
    ] = None,
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
        Optional[ServiceType],  # noqa: UP045
        typer.Option(
            help="Type of the Service of --mode extender, which needs this or --url; a "
            "kube-scheduler that is a static pod reaches a NodePort, but not a ClusterIP by its "
            "name."
        ),
    ] = None,
    node_port: Annotated[
        int, typer.Option(show_default=False, help="Port for --service NodePort.")
    ] = 0,
    url: Annotated[
        str,
        typer.Option(metavar="URL", help="Address of the extender, if not that of its Service."),
    ] = "",
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="Port that the extender listens on.")
    ] = 8888,
    prefix: VerbPrefix = "",
    predicates_prefix: PredicatesPrefix = "/predicates",
    priorities_prefix: PrioritiesPrefix = "/priorities",
    verb: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            metavar="VERB=PATH",
            help="Path that kube-scheduler asks for filter, prioritize, preempt or bind, such as "
            "filter=predicates/fits; repeatable.",
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, max=3600, help="The extender's httpTimeout.")
    ] = 5.0,
) -> None:
    """Write the objects that run a policy on a cluster.

    The objects include a service account with exactly the permissions that the policy and the
    enabled plugins use, the scheduler's configuration, a Deployment without privileges, a
    disruption budget, a network policy and, on request, a pod to try it with; with --mode
    extender, also a Service and certificates. For Kubernetes before 1.23, the configuration is a
    Policy.
    """
    from mooring.cli.deploy.manifest_files import write_manifests
    from mooring.deploy.kubernetes_version import read_version
    from mooring.deploy.manifests.extender_paths import ExtenderPaths, read_prefix, read_verbs
    from mooring.deploy.manifests.installation import Installation, default_scheduler_name
    from mooring.deploy.manifests.installation_checks import check_installation, only_for_extenders

    loaded = _policy_file(policy)
    configuration = _configuration(config)
    chosen = name or object_name(loaded.policy.name)
    is_chart = output_format is ManifestFormat.HELM
    if tls is not None and mode is not Mode.EXTENDER:
        raise only_for_extenders(f"--tls {tls}", mode)
    if service is not None and mode is not Mode.EXTENDER:
        raise only_for_extenders(f"--service {service}", mode)
    if service is None and mode is Mode.EXTENDER and not (url or node_port):
        raise InputError(
            "kube-scheduler has to reach the extender: give --service NodePort --node-port PORT, "
            "--url URL, or --service ClusterIP if it resolves the names of Services, which it does "
            "not as a static pod of kubeadm"
        )
    if tls is None:
        tls = TlsSource.NONE
        if mode is Mode.EXTENDER:
            tls = TlsSource.CERT_MANAGER if is_chart else TlsSource.SELF_SIGNED
    static = mode is Mode.STATIC_POD
    installation = Installation(
        mode=mode,
        format=output_format,
        policy=loaded,
        name=chosen,
        namespace=namespace or ("kube-system" if static else chosen),
        scheduler_name=_one_name(scheduler_name, configuration)
        or default_scheduler_name(mode, chosen),
        configuration=configuration,
        kubernetes=read_version(kubernetes),
        image=image,
        kube_scheduler_image=kube_scheduler_image,
        pull_secrets=tuple(pull_secret or ()),
        replicas=replicas,
        node_cache=node_cache,
        tls=tls,
        service=service or ServiceType.CLUSTER_IP,
        node_port=node_port,
        url=url,
        paths=ExtenderPaths(
            port=port,
            prefix=read_prefix(prefix),
            predicates=read_prefix(predicates_prefix),
            priorities=read_prefix(priorities_prefix),
            verbs=read_verbs(verb or ()),
        ),
        timeout=timeout,
        ignorable=ignorable,
        managed_resources=tuple(managed_resource or ()),
        priority_class=priority_class,
        reload=reload,
        network_policy=network_policy,
        service_monitor=service_monitor,
        test_pod=test_pod if test_pod is not None else static or is_chart,
    )
    check_installation(installation)
    written_by = f"moor manifests {Path(policy).name}{_given_options(context)}"
    write_manifests(installation, directory, written_by, overwrite=overwrite)


def object_name(policy_name: str) -> str:
    """A policy's name as the name of objects."""
    import re

    return re.sub(r"[^a-z0-9]+", "-", policy_name.lower()).strip("-")[:40].strip("-") or "policy"


def _given_options(context: typer.Context) -> str:
    """The options of this command line that say what is written, as they would be typed."""
    words = []
    for option in context.command.params:
        name = option.name or ""
        source = context.get_parameter_source(name)
        if source is None or source.name != "COMMANDLINE" or name in _NOT_CONTENT:
            continue
        value = context.params[name]
        if isinstance(value, bool):
            words.append(option.opts[0] if value else option.secondary_opts[0])
        else:
            values = value if isinstance(value, list | tuple) else [value]
            words += [f"{option.opts[0]} {shlex.quote(str(one))}" for one in values]
    return "".join(f" {word}" for word in words)


def _policy_file(place: str) -> "DeployedPolicy":
    from mooring.cli.policy_loading import load_quietly
    from mooring.deploy.manifests.installation import DeployedPolicy

    loaded = load_quietly(place)
    file, _, variable = place.partition(":")
    if not file.endswith(".py"):
        return DeployedPolicy(loaded, module=place)
    try:
        text = Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8, which a ConfigMap has; save it as UTF-8") from error
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}") from error
    return DeployedPolicy(loaded, text=text.rstrip("\n") + "\n", variable=variable)


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


def _one_name(given: str, configuration: dict[str, Any]) -> str:
    """The scheduler's name that was given, or that of the only profile; else empty."""
    names = [str(one.get("schedulerName") or "") for one in configuration.get("profiles") or ()]
    if given and len(names) > 1:
        raise InputError(
            f"--scheduler-name {given} is for one profile, and --config has {len(names)}: "
            f"{', '.join(names)}; leave one of them in it, or leave the option out"
        )
    return given or (names[0] if len(names) == 1 else "")
