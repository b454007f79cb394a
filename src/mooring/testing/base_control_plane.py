"""What every API server for tests has in common: objects, users, kubectl, restarts, an audit.

`ControlPlane` is the real one, `EmbeddedControlPlane` the one inside mooring. A test that is
written for `BaseControlPlane` runs on both.
"""

import re
import ssl
import subprocess
import tempfile
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypedDict, TypeVar, Unpack

from mooring.testing.api_client import ApiClient, HttpsClient
from mooring.testing.binaries import Binaries, find_binaries
from mooring.testing.certificates import Authority, KeyPair
from mooring.testing.child_process import ProcessError, Startable, wait_for

T = TypeVar("T")

_KUBECTL_SECONDS = 120.0


class NodeOptions(TypedDict, total=False):
    """The keyword arguments of `node`."""

    labels: Mapping[str, str] | None
    cpu: str
    memory: str
    pods: str
    extended: Mapping[str, str] | None
    taints: Sequence[Mapping[str, str]]
    images: Sequence[Mapping[str, Any]]
    status: Mapping[str, Any] | None


def node(
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    cpu: str = "8",
    memory: str = "32Gi",
    pods: str = "110",
    extended: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, str]] = (),
    images: Sequence[Mapping[str, Any]] = (),
    status: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the manifest of a ready node, for `create` and `create_many`.

    Args:
        name: its name, also the value of its label kubernetes.io/hostname.
        labels: further labels.
        cpu: capacity and allocatable, as are `memory` and `pods`.
        memory: a Kubernetes quantity.
        pods: how many pods it takes.
        extended: further resources, such as ``{"nvidia.com/gpu": "4"}``.
        taints: as in `spec.taints`.
        images: as in `status.images`.
        status: replaces whole fields of the status, such as `allocatable` or `conditions`.
    """
    resources = {"cpu": cpu, "memory": memory, "pods": pods, **(extended or {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {"taints": [dict(taint) for taint in taints]},
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "images": [dict(image) for image in images],
            **(status or {}),
        },
    }


class BaseControlPlane(ApiClient, Startable):
    """An API server for tests, on a free port of 127.0.0.1.

    Use it with `with`, or call `start` and `stop`. The attributes below exist from `start` on.

    Args:
        folder: keeps keys and logs, also after `stop`; a temporary one when None.
        audited: write down who bound what and who wrote Leases in `default`, in `audit_file`.

    Attributes:
        folder: where everything is.
        port: the API server's port.
        url: the API server's address.
        kubeconfig: for the administrator.
        json_only: whether clients must not ask for anything but JSON.
    """

    json_only = False

    folder: Path
    port: int
    url: str
    kubeconfig: Path

    def __init__(self, folder: Path | None = None, *, audited: bool = False) -> None:
        super().__init__()
        self._given_folder = folder
        self._audited = audited

    @cached_property
    def binaries(self) -> Binaries:
        """The real Kubernetes programs.

        Raises:
            MissingBinaries: they are not there.
        """
        return find_binaries()

    @property
    def ca_file(self) -> Path:
        """The authority that signs the certificates of this plane."""
        return self._authority.file

    @property
    def audit_file(self) -> Path:
        """What an `audited` API server writes down, one audit.k8s.io/v1 Event in JSON a line."""
        return self.folder / "audit.log"

    @abstractmethod
    def start_apiserver(self) -> None:
        """Start the API server again after `stop_apiserver`: same port, same data."""

    @abstractmethod
    def stop_apiserver(self) -> None:
        """End the API server and keep the data."""

    @abstractmethod
    def kill_apiserver(self) -> None:
        """End the API server without a last word, and keep the data."""

    @abstractmethod
    def compact(self) -> None:
        """Forget everything but the present, so that older watches get a 410."""

    @abstractmethod
    def kubeconfig_for(
        self, user: str, groups: Sequence[str] = (), *, name: str | None = None
    ) -> Path:
        """Write a kubeconfig for a user, who gets no permissions.

        Args:
            user: the user's name.
            groups: the groups the user is in.
            name: the name of the files without their ending; made from the user when None.
        """

    def kubectl(self, *args: str, stdin: str | None = None, check: bool = True) -> str:
        """Run kubectl as administrator and return its standard output.

        Raises:
            ProcessError: it failed and `check` is true; the text has its standard error.
        """
        done = subprocess.run(
            [
                str(self.binaries.kubectl),
                f"--kubeconfig={self.kubeconfig}",
                f"--cache-dir={self.folder / 'kubectl-cache'}",
                *args,
            ],
            input=stdin or "",
            capture_output=True,
            text=True,
            timeout=_KUBECTL_SECONDS,
            check=False,
        )
        if check and done.returncode != 0:
            command = " ".join(["kubectl", *args])
            raise ProcessError(f"`{command}` ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def create_node(self, name: str, **options: Unpack[NodeOptions]) -> dict[str, Any]:
        """Create a ready node; the options are the keyword arguments of `node`."""
        return self.create(node(name, **options))

    def wait_for(
        self,
        predicate: Callable[[], T | Literal[False] | None],
        what: str,
        timeout: float = 60.0,
    ) -> T:
        """Ask `predicate` until it returns neither None nor False."""
        return wait_for(predicate, what, timeout)

    def https(self, port: int) -> HttpsClient:
        """Return a client for another port of this machine, as administrator of this plane."""
        context = ssl.create_default_context(cafile=str(self.ca_file))
        context.load_cert_chain(self._admin.certificate, self._admin.key)
        return HttpsClient(port, context)

    def server_certificate(self, name: str) -> KeyPair:
        """Make a certificate for a server on 127.0.0.1 that clients of this plane trust."""
        return self._authority.server(name)

    def _make_folder(self) -> None:
        if self._given_folder is None:
            self.folder = Path(tempfile.mkdtemp(prefix="mooring-kube-"))
        else:
            self.folder = self._given_folder
            self.folder.mkdir(parents=True, exist_ok=True)

    def _make_authority(self) -> None:
        self._authority = Authority(self.folder)
        self._admin = self._authority.client("admin", "admin", ["system:masters"])


def file_name(text: str) -> str:
    """A user's name as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text)
