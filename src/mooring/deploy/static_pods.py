"""Where static pods are: what the kubelet reads, whoever put it there.

`doctor` judges such files in another way, and backups beside them are hidden.
"""

from pathlib import PurePath


def is_static_folder(file: str) -> bool:
    """Whether the kubelet reads the file: it is in a folder such as /etc/kubernetes/manifests.

    It reads every file there whose name does not begin with a dot.
    """
    # parity v1.36.4: pkg/kubelet/config/file.go extractFromDir
    return PurePath(file).parent.parts[-2:] == ("kubernetes", "manifests")
