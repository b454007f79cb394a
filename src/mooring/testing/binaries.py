"""Where the real Kubernetes programs are on this machine.

Called by the control plane and by the rule that skips tests without binaries. Only looks: the
programs are built by `make kube`.
"""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mooring.errors import MooringError
from mooring.version import KUBERNETES_VERSION


class MissingBinaries(MooringError):  # noqa: N818 - reads as the sentence it is raised with
    """A Kubernetes program is not on this machine; `make kube` gets all of them."""


@dataclass(frozen=True)
class Binaries:
    """Where the real programs are."""

    etcd: Path
    kube_apiserver: Path
    kube_scheduler: Path
    kubectl: Path


def find_binaries() -> Binaries:
    """Find the programs: all in KUBEBUILDER_ASSETS when that is set, else cache folder and PATH.

    Raises:
        MissingBinaries: one or more are not there.
    """
    names = ("kube-apiserver", "kube-scheduler", "kubectl")
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets:
        folder = Path(assets)
        etcd: Path | None = folder / "etcd"
    else:
        folder = cache_folder()
        on_path = shutil.which("etcd")
        etcd = Path(on_path) if on_path else None
    missing = [name for name in names if not os.access(folder / name, os.X_OK)]
    if etcd is None:
        raise MissingBinaries(_missing([*missing, "etcd"], f"{folder} and the PATH"))
    if not os.access(etcd, os.X_OK):
        missing.append("etcd")
    if missing:
        raise MissingBinaries(_missing(missing, str(folder)))
    return Binaries(etcd, *(folder / name for name in names))


def cache_folder() -> Path:
    """Where `make kube` and `make conformance` put what they build."""
    cache = os.environ.get("MOORING_CACHE")
    if not cache:
        parent = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        cache = str(Path(parent) / "mooring")
    return Path(cache) / "kube" / KUBERNETES_VERSION


def _missing(names: Sequence[str], where: str) -> str:
    verb = "is" if len(names) == 1 else "are"
    return f"{', '.join(names)} {verb} missing in {where}; `make kube` gets the binaries."
