"""What ``moor manifests`` prints or writes into a folder, and what it says about it."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from mooring.cli.standard_streams import print_note
from mooring.deploy.manifests.choices import ManifestFormat, Mode, ServiceType, TlsSource
from mooring.errors import InputError

if TYPE_CHECKING:
    from mooring.deploy.manifests.installation import Installation


def write_manifests(
    installation: "Installation", directory: Path | None, written_by: str, *, overwrite: bool
) -> None:
    """Print them, or write them into a folder and say how to apply them.

    Args:
        installation: what is deployed.
        directory: the folder; None for standard output.
        written_by: the command line, for the heading.
        overwrite: replace files in the folder.

    Raises:
        InputError: they are several files and there is no folder, or it cannot be written.
    """
    from mooring.cli.deploy.file_trees import write_files
    from mooring.deploy.manifests.certificates import certificate_files, with_certificates
    from mooring.deploy.manifests.manifest_set import manifest_set
    from mooring.deploy.manifests.static_pod_files import static_pod_files
    from mooring.deploy.manifests.yaml_writer import yaml_stream

    heading = _heading(installation, written_by)
    is_stream = (
        installation.format is ManifestFormat.YAML and installation.mode is not Mode.STATIC_POD
    )
    if directory is None and installation.tls is TlsSource.SELF_SIGNED:
        raise InputError(
            "--tls self-signed makes private keys, which have to be kept: say where they go with "
            "--directory DIR, or use --tls cert-manager or --tls secret"
        )
    if is_stream and directory is None:
        typer.echo(yaml_stream(manifest_set(installation), heading), nl=False)
        _warn(installation)
        return
    if directory is None:
        what = installation.mode if installation.mode is Mode.STATIC_POD else installation.format
        raise InputError(f"{what} needs several files; say where they go with --directory DIR")
    kept = _certificates_in(directory, installation)
    installation = with_certificates(installation, kept)
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
    files |= certificate_files(installation)
    write_files(directory, files, overwrite=overwrite, instead="use --overwrite")
    count = "1 file" if len(files) == 1 else f"{len(files)} files"
    stay = " The certificates are those that were there." if kept else ""
    typer.echo(f"{directory} has {count}.{stay}\n\n{_next(installation, directory)}")
    _warn(installation)


def _certificates_in(directory: Path, one: "Installation") -> dict[str, dict[str, str]]:
    """Those of an earlier run, of which nodes have copies."""
    if one.tls is not TlsSource.SELF_SIGNED:
        return {}
    found: dict[str, dict[str, str]] = {}
    for whose in ("tls", "client"):
        for name in ("ca.crt", "tls.crt", "tls.key"):
            file = directory / f"{one.name}-{whose}" / name
            try:
                found.setdefault(whose, {})[name] = file.read_text(encoding="ascii")
            except FileNotFoundError:
                continue
            except (OSError, ValueError) as error:
                raise InputError(f"{file} cannot be read: {error}") from error
    return found if any(found.values()) else {}


def _warn(one: "Installation") -> None:
    """Say on standard error what may not work as it was written."""
    if not one.kubernetes.is_tested:
        tested = type(one.kubernetes)()
        print_note(
            f"note: mooring is tested only with Kubernetes 1.{tested.minor}; try these files for "
            f"1.{one.kubernetes.minor} on a cluster of that version first"
        )
    if replaced := _replaced_fields(one):
        print_note(
            f"note: {', '.join(replaced)} of --config {'is' if len(replaced) == 1 else 'are'} "
            "not kept: pods use their service account, and several share a Lease of their own"
        )
    if one.mode is Mode.EXTENDER and one.service is ServiceType.CLUSTER_IP and not one.url:
        print_note(
            "note: a kube-scheduler that is a static pod on the host's network, as kubeadm makes "
            f"it, cannot resolve {one.name}.{one.namespace}.svc and would never ask the policy; "
            "use --service NodePort --node-port PORT, or --url with an address that it reaches"
        )
    if one.mode is Mode.EXTENDER and one.service is ServiceType.NODE_PORT and not one.url:
        print_note(
            f"note: kube-scheduler asks 127.0.0.1:{one.node_port}, where kube-proxy serves node "
            "ports only in its iptables mode; in others, the policy would never be asked: use "
            "--url with an address of the node"
        )
    if one.replaces_kube_scheduler:
        print_note(
            "note: while none of its pods runs, nothing places pods, not even its own; stop "
            "kube-scheduler when they run, and keep its manifest for the way back"
        )


def _replaced_fields(one: "Installation") -> list[str]:
    """The fields of ``--config`` that a Deployment has other values for."""
    if one.mode not in (Mode.SIDECAR, Mode.SCHEDULER):
        return []
    from mooring.deploy.manifests.plain_objects import plain
    from mooring.deploy.manifests.scheduler_configuration import lease_place

    namespace, lease = lease_place(one)
    kept = {
        "clientConnection.kubeconfig": None,
        "leaderElection.leaderElect": True,
        "leaderElection.resourceName": lease,
        "leaderElection.resourceNamespace": plain(namespace),
    }
    found = []
    for path, value in kept.items():
        part, _, name = path.partition(".")
        given = (one.configuration.get(part) or {}).get(name)
        if given not in (None, "", value):
            found.append(path)
    return found


def _heading(installation: "Installation", written_by: str) -> str:
    what = {
        Mode.EXTENDER: "an extender with a Service, for the cluster's kube-scheduler",
        Mode.SIDECAR: "a second scheduler: kube-scheduler with the policy in its pod",
        Mode.SCHEDULER: "a scheduler: moor run",
        Mode.STATIC_POD: "the cluster's kube-scheduler with the policy in its pod",
    }[installation.mode]
    return (
        f"Policy {installation.policy.policy.name} as {what}.\n"
        f"Written by: {written_by}\n"
        f"Kubernetes 1.{installation.kubernetes.minor}; schedulerName: "
        f"{', '.join(installation.scheduler_names)}"
    )


def _next(installation: "Installation", directory: Path) -> str:
    if installation.mode is Mode.STATIC_POD:
        return "Copy the folder to each control-plane node and run install.sh there, as root."
    folder = shlex.quote(str(directory))
    command = {
        ManifestFormat.YAML: f"kubectl apply -f {folder}",
        ManifestFormat.KUSTOMIZE: f"kubectl apply -k {folder}",
        ManifestFormat.HELM: f"helm install {installation.name} {folder} "
        f"--namespace {installation.namespace} --create-namespace",
    }[installation.format]
    said = f"Apply it:\n\n    {command}"
    if installation.mode is not Mode.EXTENDER:
        return said
    return f"{_before(installation)}{said}\n\n{_control_plane_steps(installation, directory)}"


def _before(one: "Installation") -> str:
    """What has to be known before the objects of an extender are applied."""
    if one.tls is TlsSource.SELF_SIGNED:
        return "Private keys are among the files: keep them out of version control.\n\n"
    if one.tls is TlsSource.CERT_MANAGER:
        return "The cluster needs cert-manager, which makes the certificates.\n\n"
    if one.tls is TlsSource.SECRET:
        return f"The Secret {one.name}-tls has to exist.\n\n"
    return ""


def _control_plane_steps(one: "Installation", directory: Path) -> str:
    """How the cluster's kube-scheduler gets to know the extender."""
    from mooring.deploy.manifests.scheduler_configuration import configuration_file

    config = configuration_file(one).name
    if one.format is ManifestFormat.KUSTOMIZE:
        what = f"{directory / config}"
    else:
        what = f"{config} of the ConfigMap {one.name}-config"
    what += {
        TlsSource.NONE: "",
        TlsSource.SELF_SIGNED: f" and the files of {directory / one.name}-client",
        TlsSource.CERT_MANAGER: f" and the files of the Secret {one.name}-client",
        TlsSource.SECRET: " and ca.crt, tls.crt and tls.key of kube-scheduler",
    }[one.tls]
    flag = "config" if one.kubernetes.configuration_api else "policy-config-file"
    return (
        "Then, on each control-plane node:\n\n"
        f"    1. Copy {what} to {one.files_folder}.\n"
        "    2. Add these lines to /etc/kubernetes/manifests/kube-scheduler.yaml; keep a copy of\n"
        "       it outside of that folder.\n\n"
        "spec:\n"
        "  containers:\n"
        "  - command:\n"
        "    - kube-scheduler\n"
        f"    - --{flag}={one.files_folder}/{config}\n"
        "    volumeMounts:\n"
        "    - name: extender\n"
        f"      mountPath: {one.files_folder}\n"
        "      readOnly: true\n"
        "  volumes:\n"
        "  - name: extender\n"
        "    hostPath:\n"
        f"      path: {one.files_folder}\n"
        "      type: Directory"
    )
