"""All objects of an installation, in the order in which they are applied.

The writers take its result; the modules beside it make the objects. Static pods are files, not
objects: `static_pod_files` makes them.
"""

from typing import Final

from mooring.deploy.manifests.access import access_manifests
from mooring.deploy.manifests.certificates import certificate_manifests
from mooring.deploy.manifests.choices import ManifestFormat, Mode, TlsSource
from mooring.deploy.manifests.installation import Installation
from mooring.deploy.manifests.manifest import Manifest, metadata
from mooring.deploy.manifests.monitoring import monitoring
from mooring.deploy.manifests.nodes import ChartFile, Tree
from mooring.deploy.manifests.pod_to_try import pod_to_try
from mooring.deploy.manifests.scheduler_configuration import configuration_file
from mooring.deploy.manifests.workloads import (
    deployment,
    disruption_budget,
    namespace_object,
    network_policy,
    priority_class,
    service,
)

#: Namespaces that every cluster has.
_OWN_NAMESPACES: Final = ("default", "kube-system", "kube-public", "kube-node-lease")


def manifest_set(installation: Installation) -> list[Manifest]:
    """The objects; of those that are off, only a chart has something.

    Raises:
        InputError: they cannot be made of this description.
    """
    one = installation
    found = []
    if one.format is not ManifestFormat.HELM and one.namespace not in _OWN_NAMESPACES:
        found.append(namespace_object(one))
    found += access_manifests(one)
    found += certificate_manifests(one)
    found += config_maps(one)
    if not one.existing_priority_class:
        found.append(priority_class(one))
    found.append(deployment(one))
    if one.mode is Mode.EXTENDER:
        found.append(service(one))
    found += [disruption_budget(one), network_policy(one), *monitoring(one)]
    if one.test_pod:
        found.append(pod_to_try(one))
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
    config = configuration_file(one)
    made = _config_map(one, "-config", {config.name: config})
    found.append(Manifest("config", made, comment))
    return found


def _files_too(one: Installation) -> str:
    if one.tls is TlsSource.NONE:
        return ""
    secret = "the Secret " if one.tls is TlsSource.CERT_MANAGER else ""
    return f",\nand the files of {secret}{one.name}-client"


def _config_map(one: Installation, ending: str, data: dict[str, Tree]) -> dict[str, Tree]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(one, ending),
        "data": data,
    }
