"""A pod that shows whether pods are placed: it prints a version and ends.

`manifest_set` and `static_pod_files` call it. It is no part of what is installed: pods cannot be
changed, so that applying it again under another scheduler's name would fail.
"""

from mooring.deploy.manifests.choices import ManifestFormat
from mooring.deploy.manifests.containers import (
    container_security,
    image_setting,
    trial_pod_security,
)
from mooring.deploy.manifests.installation import Installation
from mooring.deploy.manifests.manifest import Manifest, metadata
from mooring.deploy.manifests.nodes import Tree, setting
from mooring.deploy.manifests.workloads import pull_secrets


def pod_to_try(installation: Installation) -> Manifest:
    """A pod to try it with, which ends at once; in a chart, ``helm test`` makes it."""
    one = installation
    head = metadata(one, "-test") | {"labels": {"app.kubernetes.io/part-of": "mooring"}}
    if one.format is ManifestFormat.HELM:
        hook = {"helm.sh/hook": "test", "helm.sh/hook-delete-policy": "before-hook-creation"}
        head["annotations"] = hook
    container: dict[str, Tree] = {
        "name": "main",
        "image": image_setting("image", one.image),
        "imagePullPolicy": setting("image.pullPolicy", ""),
        "command": ["moor", "--version"],
        "securityContext": container_security(),
    }
    if one.managed_resources:
        container["resources"] = {"limits": dict.fromkeys(one.managed_resources, 1)}
    spec: dict[str, Tree] = {
        "schedulerName": one.scheduler_names[0],
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "imagePullSecrets": pull_secrets(one),
        "securityContext": trial_pod_security(one),
        "containers": [container],
    }
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": head, "spec": spec}
    return Manifest("test-pod", made, "A pod to try it with: it prints a version and ends.")
