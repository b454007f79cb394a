"""All objects of an installation, in the order in which they are applied.

The writers take its result; the modules beside it make the objects. Static pods are files, not
objects: `static_pod_files` makes them.
"""

from mooring.deploy.manifests.access import access_manifests
from mooring.deploy.manifests.certificates import certificate_manifests
from mooring.deploy.manifests.choices import ManifestFormat, Mode, TlsSource
from mooring.deploy.manifests.installation import Installation
from mooring.deploy.manifests.manifest import Manifest, metadata
from mooring.deploy.manifests.nodes import ChartFile, EmbeddedYaml, Tree
from mooring.deploy.manifests.scheduler_configuration import policy_text, scheduler_configuration
from mooring.deploy.manifests.workloads import (
    deployment,
    disruption_budget,
    monitoring,
    namespace_object,
    network_policy,
    pod_to_try,
    priority_class,
    service,
)

#: What the kubeadm way of running kube-scheduler has.
KUBEADM_CONFIG = "/etc/kubernetes/scheduler.conf"


def manifest_set(installation: Installation) -> list[Manifest]:
    """The objects; of those that are off, only a chart has something.

    Raises:
        InputError: they cannot be made of this description.
    """
    one = installation
    found = []
    if one.format is not ManifestFormat.HELM and one.namespace not in ("default", "kube-system"):
        found.append(namespace_object(one))
    found += access_manifests(one)
    found += certificate_manifests(one)
    found += config_maps(one)
    if not one.priority_class:
        found.append(priority_class(one))
    found.append(deployment(one))
    if one.mode is Mode.EXTENDER:
        found.append(service(one))
    found += [disruption_budget(one), network_policy(one), *monitoring(one), pod_to_try(one)]
    return found if one.format is ManifestFormat.HELM else [each for each in found if not each.off]


def config_maps(installation: Installation) -> list[Manifest]:
    """The policy's file and the scheduler's configuration."""
    one = installation
    found = []
    if one.policy.text:
        file = ChartFile("policy.py", one.policy.text)
        data = {"policy.py": file}
        found.append(Manifest("policy", _config_map(one, "-policy", data), "The policy's file."))
    comment = "The configuration of the scheduler in the Deployment below."
    if one.mode is Mode.EXTENDER:
        comment = (
            "For the cluster's kube-scheduler, which does not read it from here: copy it to every\n"
            f"control-plane node and start kube-scheduler with it{_files_too(one)}."
        )
    found.append(Manifest("config", _config_map(one, "-config", configuration(one)), comment))
    return found


def configuration(installation: Installation) -> dict[str, Tree]:
    """The files of the scheduler's configuration, by name."""
    if installation.has_extender and not installation.kubernetes.configuration_api:
        return {"policy.cfg": policy_text(installation)}
    outside = installation.mode in (Mode.EXTENDER, Mode.STATIC_POD)
    kubeconfig = KUBEADM_CONFIG if outside else ""
    return {
        "config.yaml": EmbeddedYaml(scheduler_configuration(installation, kubeconfig=kubeconfig))
    }


def _files_too(one: Installation) -> str:
    return "" if one.tls is TlsSource.NONE else f",\nand the Secret {one.name}-client as files"


def _config_map(one: Installation, ending: str, data: dict[str, Tree]) -> dict[str, Tree]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(one, ending),
        "data": data,
    }
