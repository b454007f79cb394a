"""etcd and kube-apiserver as one object that starts, answers requests and leaves nothing behind.

For tests and benchmarks, through `mooring.testing.kube`. There is no controller manager and no
kubelet: nothing creates service accounts, runs pods or ends namespaces.
"""

import atexit
import contextlib
import http.client
import re
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, TypeVar, Unpack

from mooring.errors import InputError, KubeError
from mooring.testing.api import HttpsClient, KubeApi
from mooring.testing.binaries import Binaries, find_binaries
from mooring.testing.certificates import Authority, KeyPair, write_kubeconfig
from mooring.testing.process import Process, ProcessError, Startable, free_port, wait_for

T = TypeVar("T")

_START_SECONDS = 90.0
_KUBECTL_SECONDS = 120.0

# Plugins that only work together with programs that do not run here.
_DISABLED_ADMISSION = (
    "ServiceAccount",  # pods would need a service account that nobody creates
    "TaintNodesByCondition",  # nodes would get a taint that nobody takes away
    "StorageObjectInUseProtection",  # volumes would get a finalizer that nobody takes away
)


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


class ControlPlane(KubeApi, Startable):
    """etcd and kube-apiserver, with RBAC and client certificates, on free ports of 127.0.0.1.

    Use it with `with`, or call `start` and `stop`. The attributes below exist from `start` on.

    Args:
        folder: keeps data, keys and logs, also after `stop`; a temporary one when None.
        api_args: further arguments of kube-apiserver.

    Attributes:
        binaries: the programs in use.
        folder: where everything is.
        port: the API server's port.
        url: the API server's address.
        ca_file: the authority that signed the API server's certificate.
        kubeconfig: for the administrator, who is in the group system:masters.
    """

    binaries: Binaries
    folder: Path
    port: int
    url: str
    ca_file: Path
    kubeconfig: Path

    def __init__(self, folder: Path | None = None, *, api_args: Sequence[str] = ()) -> None:
        super().__init__()
        self._given_folder = folder
        self._api_args = tuple(api_args)
        self._processes: dict[str, Process] = {}
        self._api_command: list[str] = []

    @property
    def pids(self) -> dict[str, int]:
        """The ids of the running processes, by program name."""
        return {name: each.pid for name, each in self._processes.items() if each.running}

    def start(self) -> None:
        """Start etcd and kube-apiserver and wait until objects can be created in `default`.

        Raises:
            MissingBinaries: a program is not there.
            ProcessError: a program ended or was not ready in time; the text has its last words.
        """
        if self._processes:
            raise InputError("The control plane is running already.")
        self.binaries = find_binaries()
        if self._given_folder is None:
            self.folder = Path(tempfile.mkdtemp(prefix="mooring-kube-"))
        else:
            self.folder = self._given_folder
            self.folder.mkdir(parents=True, exist_ok=True)
        atexit.register(self.stop)
        try:
            self._make_credentials()
            etcd_url = self._start_etcd()
            self._api_command = self._apiserver_command(etcd_url)
            self.start_apiserver()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End both programs and remove the temporary folder; harmless when repeated."""
        self.stop_apiserver()
        for process in self._processes.values():
            process.stop()
        self._processes.clear()
        if self._given_folder is None and hasattr(self, "folder"):
            shutil.rmtree(self.folder, ignore_errors=True)
        atexit.unregister(self.stop)

    def start_apiserver(self) -> None:
        """Start kube-apiserver again after `stop_apiserver`: same port, same data."""
        if "etcd" not in self._processes or "kube-apiserver" in self._processes:
            raise InputError("Only the API server of a control plane that lacks it can start.")
        process = Process("kube-apiserver", self._api_command, self.folder / "kube-apiserver.log")
        self._processes["kube-apiserver"] = process
        try:
            process.wait_ready(self._api_ready, _START_SECONDS)
        except BaseException:
            self.stop_apiserver()
            raise

    def stop_apiserver(self) -> None:
        """End kube-apiserver and keep etcd and the data."""
        if self._https is not None:
            self._https.close()
        process = self._processes.pop("kube-apiserver", None)
        if process is not None:
            process.stop()

    def log(self, program: Literal["etcd", "kube-apiserver"] = "kube-apiserver") -> str:
        """Everything a program has written so far."""
        return (self.folder / f"{program}.log").read_text(errors="replace")

    def kubeconfig_for(
        self, user: str, groups: Sequence[str] = (), *, name: str | None = None
    ) -> Path:
        """Write a kubeconfig with a client certificate for a user; rights are not given to it.

        Args:
            user: the user's name.
            groups: the groups the user is in.
            name: the name of the files without their ending; made from the user when None.
        """
        name = name or _file_name(user)
        pair = self._authority.client(name, user, groups)
        return write_kubeconfig(self.folder / f"{name}.kubeconfig", self.url, self.ca_file, pair)

    def kubeconfig_with_token(self, namespace: str, service_account: str) -> Path:
        """Write a kubeconfig with a token of an existing service account, valid for an hour."""
        path = self.path("ServiceAccount", service_account, namespace)
        token_request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
        answer = self.request("POST", f"{path}/token", {**token_request, "spec": {}})
        file = self.folder / f"{namespace}.{service_account}.token.kubeconfig"
        return write_kubeconfig(file, self.url, self.ca_file, answer["status"]["token"])

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
        timeout: float = 30.0,
    ) -> T:
        """Ask `predicate` until it returns neither None nor False, as `process.wait_for` does."""
        return wait_for(predicate, what, timeout)

    def https(self, port: int) -> HttpsClient:
        """Return a client for another port of this machine, as administrator of this plane."""
        context = ssl.create_default_context(cafile=str(self.ca_file))
        context.load_cert_chain(self._admin.certificate, self._admin.key)
        return HttpsClient(port, context)

    def server_certificate(self, name: str) -> KeyPair:
        """Make a certificate for a server on 127.0.0.1 that clients of this plane trust."""
        return self._authority.server(name)

    def _make_credentials(self) -> None:
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self._authority = Authority(self.folder)
        self.ca_file = self._authority.file
        self._admin = self._authority.client("admin", "admin", ["system:masters"])
        self.kubeconfig = write_kubeconfig(
            self.folder / "admin.kubeconfig", self.url, self.ca_file, self._admin
        )
        self._https = self.https(self.port)

    def _start_etcd(self) -> str:
        port, peer = free_port(), free_port()
        url, peer_url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer}"
        command = [
            str(self.binaries.etcd),
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={url}",
            f"--advertise-client-urls={url}",
            f"--listen-peer-urls={peer_url}",
            f"--initial-advertise-peer-urls={peer_url}",
            f"--initial-cluster=default={peer_url}",
            "--logger=zap",
            "--log-level=warn",
            "--unsafe-no-fsync",
            f"--quota-backend-bytes={4 << 30}",
        ]
        process = Process("etcd", command, self.folder / "etcd.log")
        self._processes["etcd"] = process
        process.wait_ready(lambda: _etcd_ready(port), _START_SECONDS)
        return url

    def _apiserver_command(self, etcd_url: str) -> list[str]:
        serving = self._authority.server("kube-apiserver")
        tokens = self._authority.signing_key("service-account")
        return [
            str(self.binaries.kube_apiserver),
            f"--etcd-servers={etcd_url}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--tls-cert-file={serving.certificate}",
            f"--tls-private-key-file={serving.key}",
            f"--client-ca-file={self.ca_file}",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={tokens.certificate}",
            f"--service-account-signing-key-file={tokens.key}",
            "--service-cluster-ip-range=10.0.0.0/16",
            # A loopback address is refused in the endpoints of the service `kubernetes`.
            "--endpoint-reconciler-type=none",
            "--allow-privileged=true",
            f"--disable-admission-plugins={','.join(_DISABLED_ADMISSION)}",
            # Benchmarks measure schedulers, not the API server's politeness.
            "--enable-priority-and-fairness=false",
            "--max-requests-inflight=0",
            "--max-mutating-requests-inflight=0",
            # Without it an open watch keeps the server from ending for a minute.
            "--shutdown-watch-termination-grace-period=1s",
            *self._api_args,
        ]

    def _api_ready(self) -> bool:
        etcd = self._processes["etcd"]
        if not etcd.running:
            raise ProcessError(f"etcd ended while kube-apiserver started; {etcd.tail()}")
        with contextlib.suppress(KubeError):
            self.request("GET", "/readyz")
            self.request("GET", "/api/v1/namespaces/default")
            self.request("GET", "/api/v1/namespaces/kube-system")
            return True
        return False


def _etcd_ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/health")
        return b'"true"' in connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text)
