"""The kubeadm way: kube-scheduler and the extender as a static pod, and the files it needs.

A static pod is a file in the kubelet's folder on each control-plane node. It can name no ConfigMap,
Secret or service account, so everything else is a file on the node, too. Called by
``moor manifests --mode static-pod``; nothing is copied to a node here.
"""

from typing import Final

from mooring.deploy.manifests.containers import pod_security
from mooring.deploy.manifests.installation import Installation
from mooring.deploy.manifests.manifest_set import KUBEADM_CONFIG, configuration
from mooring.deploy.manifests.nodes import EmbeddedYaml, Tree
from mooring.deploy.manifests.workloads import pod_to_try, sidecar_containers
from mooring.deploy.manifests.yaml_text import comment_lines, yaml_text
from mooring.deploy.manifests.yaml_writer import yaml_stream

_MANIFESTS: Final = "/etc/kubernetes/manifests"
_POD: Final = "kube-scheduler.yaml"


def static_pod_files(installation: Installation, heading: str = "") -> dict[str, str]:
    """The files by name: the pod, what it mounts, and how to install and to remove it.

    Raises:
        InputError: they cannot be made of this description.
    """
    one = installation
    files = {_POD: comment_lines(heading) + yaml_text(_pod(one))}
    for name, content in configuration(one).items():
        text = yaml_text(content.content) if isinstance(content, EmbeddedYaml) else content
        files[name] = text
    files["policy.py"] = one.policy.text
    if one.test_pod:
        files["test-pod.yaml"] = yaml_stream([pod_to_try(one)])
    config = next(name for name in files if name in ("config.yaml", "policy.cfg"))
    return files | {"install.sh": _install(one, config), "uninstall.sh": _uninstall(one)}


def _pod(one: Installation) -> dict[str, Tree]:
    spec: dict[str, Tree] = {
        "hostNetwork": True,
        "priorityClassName": "system-node-critical",
        "securityContext": pod_security(one),
        **sidecar_containers(one),
        "volumes": [
            _host_path("kube-scheduler", f"{one.files_folder}/kube-scheduler", "Directory"),
            _host_path("policy", f"{one.files_folder}/policy", "Directory"),
            _host_path("kubeconfig", KUBEADM_CONFIG, "File"),
        ],
    }
    labels = {"component": "kube-scheduler", "tier": "control-plane"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "kube-scheduler", "namespace": "kube-system", "labels": labels},
        "spec": spec,
    }


def _host_path(name: str, path: str, kind: str) -> dict[str, Tree]:
    return {"name": name, "hostPath": {"path": path, "type": kind}}


def _install(one: Installation, config: str) -> str:
    backup = _backup(one)
    return f"""#!/bin/sh
# Replaces kube-scheduler of a control-plane node that kubeadm made. Run it as root on each of them,
# one after the other, in the folder with these files.
set -eu
cd "$(dirname "$0")"
mkdir -p {one.files_folder}/kube-scheduler {one.files_folder}/policy
cp {config} {one.files_folder}/kube-scheduler/{config}
cp policy.py {one.files_folder}/policy/policy.py
# Not into {_MANIFESTS}: the kubelet would run a copy there as well.
[ -e {backup} ] || cp {_MANIFESTS}/{_POD} {backup}
# The kubelet must never see half a file.
cp {_POD} {one.files_folder}/{_POD}
mv {one.files_folder}/{_POD} {_MANIFESTS}/{_POD}
echo "kube-scheduler is replaced; its old manifest is {backup}"
"""


def _uninstall(one: Installation) -> str:
    backup = _backup(one)
    return f"""#!/bin/sh
# Brings kube-scheduler of a control-plane node back. Run it as root.
set -eu
cp {backup} {one.files_folder}/{_POD}
mv {one.files_folder}/{_POD} {_MANIFESTS}/{_POD}
rm {backup}
echo "kube-scheduler is as it was before; {one.files_folder} can be removed"
"""


def _backup(one: Installation) -> str:
    return f"{one.files_folder}/kube-scheduler.yaml.backup"
