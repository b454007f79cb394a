"""The files that docs/guide/platforms.md shows fit together: flags name what is mounted."""

import re
from pathlib import Path
from typing import Any

import yaml

from mooring.config.configuration import read_configuration
from mooring.deploy.manifests.choices import Mode

GUIDE = (Path(__file__).parents[3] / "docs" / "guide" / "platforms.md").read_text()
FILES: dict[str, Any] = {
    name: yaml.safe_load(text)
    for name, text in re.findall(r"^```yaml (\S+)\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
}


def _mounted(cluster: dict[str, Any]) -> str:
    """Where on the node the file is that kube-scheduler's --config names."""
    scheduler = cluster["scheduler"]
    (flag,), (volume,) = scheduler["extraArgs"], scheduler["extraVolumes"]
    assert (cluster["apiVersion"], cluster["kind"]) == (
        "kubeadm.k8s.io/v1beta4",
        "ClusterConfiguration",
    )
    assert set(volume) == {"name", "hostPath", "mountPath", "readOnly", "pathType"}
    assert flag["name"] == "config"
    folder, _, name = flag["value"].rpartition("/")
    assert folder == volume["mountPath"]
    return f"{volume['hostPath']}/{name}"


def test_kubeadm_mounts_the_file_that_the_flag_names() -> None:
    assert _mounted(FILES["kubeadm.yaml"]) == "/etc/kubernetes/fair-gpus/config.yaml"


def test_kind_mounts_the_folder_into_the_node_and_the_pod() -> None:
    node, *workers = FILES["kind.yaml"]["nodes"]
    (patch,), (mount,) = node["kubeadmConfigPatches"], node["extraMounts"]
    assert _mounted(yaml.safe_load(patch)) == f"{mount['containerPath']}/config.yaml"
    assert len(workers) > 1


def test_k3s_gets_a_configuration_that_can_be_read() -> None:
    (flag,) = FILES["k3s.yaml"]["kube-scheduler-arg"]
    assert flag == "config=/etc/rancher/k3s/fair-gpus.yaml"
    read_configuration(FILES["fair-gpus.yaml"])


def test_every_mode_has_a_row() -> None:
    for mode in Mode:
        assert f"`--mode {mode.value}`" in GUIDE


def test_every_platform_says_what_it_rests_on() -> None:
    rows = re.findall(r"^\| (\S+) \| not run here; from .*20\d\d", GUIDE, re.MULTILINE)
    assert rows == ["kind", "minikube", "k3s", "AKS", "EKS", "GKE"]
