"""The kubeadm way: kube-scheduler and the extender as a static pod, and the files it needs.

A static pod is a file in the kubelet's folder on each control-plane node. It can name no ConfigMap,
Secret or service account, so everything else is a file on the node, too. Called by
``moor manifests --mode static-pod``; nothing is copied to a node here.
"""

from typing import Final

from mooring.deploy.manifests.containers import checksums, pod_security
from mooring.deploy.manifests.installation import Installation
from mooring.deploy.manifests.manifest import labels
from mooring.deploy.manifests.nodes import Tree
from mooring.deploy.manifests.plain_objects import plain
from mooring.deploy.manifests.pod_to_try import pod_to_try
from mooring.deploy.manifests.scheduler_configuration import configuration_file
from mooring.deploy.manifests.workloads import sidecar_containers
from mooring.deploy.manifests.yaml_text import comment_lines, yaml_text
from mooring.deploy.manifests.yaml_writer import yaml_stream
from mooring.deploy.static_pods import KUBEADM_KUBECONFIG

_MANIFESTS: Final = "/etc/kubernetes/manifests"
_POD: Final = "kube-scheduler.yaml"


def static_pod_files(installation: Installation, heading: str = "") -> dict[str, str]:
    """The files by name: the pod, what it mounts, and how to install and to remove it.

    Raises:
        InputError: they cannot be made of this description.
    """
    one = installation
    files = {_POD: comment_lines(heading) + yaml_text(_pod(one))}
    config = configuration_file(one)
    files |= {config.name: plain(config), "policy.py": one.policy.text}
    if one.test_pod:
        files["test-pod.yaml"] = yaml_stream([pod_to_try(one)])
    return files | {"install.sh": _install(one, config.name), "uninstall.sh": _uninstall(one)}


def _pod(one: Installation) -> dict[str, Tree]:
    spec: dict[str, Tree] = {
        "hostNetwork": True,
        "priorityClassName": "system-node-critical",
        "securityContext": pod_security(one),
        **sidecar_containers(one),
        "volumes": [
            _host_path("kube-scheduler", f"{one.files_folder}/kube-scheduler", "Directory"),
            _host_path("policy", f"{one.files_folder}/policy", "Directory"),
            _host_path("kubeconfig", KUBEADM_KUBECONFIG, "File"),
        ],
    }
    # install.sh and uninstall.sh recognise their own manifest by the last ones.
    marks = {"component": "kube-scheduler", "tier": "control-plane", **labels(one)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "kube-scheduler",
            "namespace": "kube-system",
            "labels": marks,
            # The kubelet starts a static pod anew when its file changes, and only then.
            "annotations": checksums(one),
        },
        "spec": spec,
    }


def _host_path(name: str, path: str, kind: str) -> dict[str, Tree]:
    return {"name": name, "hostPath": {"path": path, "type": kind}}


def _install(one: Installation, config: str) -> str:
    return f"""#!/bin/sh
# Replaces kube-scheduler of a control-plane node that kubeadm made. Run it as root on each of them,
# one after the other, in the folder with these files.
set -eu
cd "$(dirname "$0")"
{_variables(one)}
if [ ! -e "$manifest" ] && [ ! -e "$backup" ]; then
  echo "$manifest does not exist; run this on a control-plane node that kubeadm made" >&2
  exit 2
fi
for file in {config} policy.py {_POD}; do
  if [ ! -s "$file" ]; then
    echo "$file is missing or empty here; copy the whole folder to the node" >&2
    exit 2
  fi
done
mkdir -p "$folder/kube-scheduler" "$folder/policy"
cp {config} "$folder/kube-scheduler/{config}"
cp policy.py "$folder/policy/policy.py"
# kubeadm's manifest is kept, but not beside it: the kubelet would run the copy as well.
# After kubeadm upgrade, the new one is kept. A manifest from here is not.
if [ -e "$manifest" ] && ! is_ours; then
  cp "$manifest" "$backup.new"
  mv "$backup.new" "$backup"
fi
# The kubelet starts the pod anew when its manifest changes, so the manifest names what is in files.
stamp() {{ sed "s/^\\( *checksum.$1: \\).*/\\1$(sha256sum <"$2" | cut -c 1-64)/"; }}
stamp config {config} <{_POD} | stamp policy policy.py >"$folder/{_POD}"
# It must never see half a file.
mv "$folder/{_POD}" "$manifest"
echo "kube-scheduler is replaced; its old manifest is $backup"
echo "flags and volumes that were added to the old manifest are not in the new one"
"""


def _uninstall(one: Installation) -> str:
    return f"""#!/bin/sh
# Brings kube-scheduler of a control-plane node back. Run it as root.
set -eu
{_variables(one)}
if [ -e "$manifest" ] && ! is_ours; then
  echo "$manifest is not from install.sh, so it stays as it is"
  exit 0
fi
if [ ! -e "$backup" ]; then
  echo "$backup does not exist, so there is no manifest to bring back" >&2
  exit 2
fi
cp "$backup" "$folder/{_POD}"
mv "$folder/{_POD}" "$manifest"
rm "$backup"
echo "kube-scheduler is as it was before; $folder can be removed"
"""


def _variables(one: Installation) -> str:
    """Where things are on the node, and how a manifest is recognised that was installed before."""
    label = yaml_text({"app.kubernetes.io/name": one.name}).strip()
    return f"""folder={one.files_folder}
manifest={_MANIFESTS}/{_POD}
backup=$folder/{_POD}.backup
is_ours() {{ grep -qsx " *{label}" "$manifest"; }}"""
