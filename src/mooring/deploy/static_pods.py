"""Static pods as kubeadm has them: which files the kubelet reads, and how their pods ask.

`doctor` judges such files in another way, `manifests` makes them, and backups beside them are
hidden.
"""

from pathlib import PurePath
from typing import Final

#: With what kube-scheduler reaches the cluster on a node that kubeadm made; only root may read it.
KUBEADM_KUBECONFIG: Final = "/etc/kubernetes/scheduler.conf"


def is_static_folder(file: str) -> bool:
    """Whether the kubelet reads the file: it is in a folder such as /etc/kubernetes/manifests.

    It reads every file there whose name does not begin with a dot.
    """
    # parity v1.36.4: pkg/kubelet/config/file.go extractFromDir
    return PurePath(file).parent.parts[-2:] == ("kubernetes", "manifests")
