"""etcd and kube-apiserver as one object that starts, answers requests and leaves nothing behind.

For tests and benchmarks, through `mooring.testing.real_kubernetes`. There is no controller manager
and no kubelet: nothing creates service accounts, runs pods or ends namespaces.
"""

import atexit
import base64
import contextlib
import http.client
import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import yaml

from mooring.errors import ApiError, InputError, KubeError
from mooring.testing.base_control_plane import BaseControlPlane, file_name
from mooring.testing.certificates import write_kubeconfig
from mooring.testing.child_process import ChildProcess, ProcessError, free_port

_START_SECONDS = 90.0
_FORBIDDEN: Final = 403

# Plugins that only work together with programs that do not run here.
_DISABLED_ADMISSION = (
    "ServiceAccount",  # pods would need a service account that nobody creates
    "TaintNodesByCondition",  # nodes would get a taint that nobody takes away
    "StorageObjectInUseProtection",  # volumes would get a finalizer that nobody takes away
)
_AUDIT_POLICY: Final = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {
            "level": "Request",
            "verbs": ["create"],
            "resources": [{"group": "", "resources": ["pods/binding"]}],
        },
        {
            "level": "Request",
            "verbs": ["create", "update", "patch"],
            "namespaces": ["default"],
            "resources": [{"group": "coordination.k8s.io", "resources": ["leases"]}],
        },
        {"level": "None"},
    ],
}


class ControlPlane(BaseControlPlane):
    """etcd and kube-apiserver, with RBAC and client certificates, on free ports of 127.0.0.1.

    Use it with `with`, or call `start` and `stop`.

    Args:
        folder: keeps data, keys and logs, also after `stop`; a temporary one when None.
        api_args: further arguments of kube-apiserver.
        audited: write down who bound what and who wrote Leases in `default`, in `audit_file`.
        audit_policy: write down what this Policy of audit.k8s.io/v1 says instead.

    Attributes:
        kubeconfig: for the administrator, who is in the group system:masters.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        api_args: Sequence[str] = (),
        audited: bool = False,
        audit_policy: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(folder, audited=audited or audit_policy is not None)
        self._audit_policy = audit_policy or _AUDIT_POLICY
        self._api_args = tuple(api_args)
        self._etcd_command: list[str] = []
        self._processes: dict[str, ChildProcess] = {}
        self._api_command: list[str] = []
        self._etcd_port = 0

    @property
    def pids(self) -> dict[str, int]:
        """The ids of the running processes, by program name."""
        return {name: each.pid for name, each in self._processes.items() if each.running}

    def create(self, obj: Mapping[str, Any]) -> dict[str, Any]:
        """Create an object from its manifest and return it as the API server stored it.

        A pod may name a PriorityClass that was created just before: admission sees it a little
        later, and until then the pod is sent again.
        """

        def created() -> dict[str, Any] | None:
            try:
                return super(ControlPlane, self).create(obj)
            except ApiError as error:
                if error.status != _FORBIDDEN or "no PriorityClass with name" not in str(error):
                    raise
                classes = self.list_objects("PriorityClass", api_version="scheduling.k8s.io/v1")
                if obj["spec"]["priorityClassName"] not in {
                    one["metadata"]["name"] for one in classes
                }:
                    raise
                return None

        kind, name = obj["kind"], obj.get("metadata", {}).get("name", "")
        return self.wait_for(created, f"{kind} {name} to be admitted")

    def start(self) -> None:
        """Start etcd and kube-apiserver and wait until objects can be created in `default`.

        Raises:
            MissingBinaries: a program is not there.
            ProcessError: a program ended or was not ready in time; the text has its last words.
        """
        if self._processes:
            raise InputError("The control plane is running already.")
        _ = self.binaries  # nothing is made if they are missing
        self._make_folder()
        atexit.register(self.stop)
        try:
            self._make_credentials()
            etcd_url = self._etcd_address()
            self.start_etcd()
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
        process = ChildProcess(
            "kube-apiserver", self._api_command, self.folder / "kube-apiserver.log"
        )
        self._processes["kube-apiserver"] = process
        try:
            process.wait_ready(self._api_ready, _START_SECONDS)
        except BaseException:
            self.stop_apiserver()
            raise

    def stop_apiserver(self) -> None:
        """End kube-apiserver and keep etcd and the data."""
        if self._http is not None:
            self._http.close()
        process = self._processes.pop("kube-apiserver", None)
        if process is not None:
            process.stop()

    def kill_apiserver(self) -> None:
        """End kube-apiserver with SIGKILL and keep etcd and the data."""
        os.kill(self.pids["kube-apiserver"], signal.SIGKILL)
        self.stop_apiserver()

    def start_etcd(self) -> None:
        """Start etcd again after `stop_etcd` or `kill_etcd`: same port, same data."""
        if not self._etcd_command or "etcd" in self._processes:
            raise InputError("Only the etcd of a control plane that lacks it can start.")
        process = ChildProcess("etcd", self._etcd_command, self.folder / "etcd.log")
        self._processes["etcd"] = process
        process.wait_ready(lambda: _etcd_ready(self._etcd_port), _START_SECONDS)

    def stop_etcd(self) -> None:
        """End etcd and keep its data; the API server stays, and cannot do much."""
        process = self._processes.pop("etcd", None)
        if process is not None:
            process.stop()

    def kill_etcd(self) -> None:
        """End etcd with SIGKILL and keep its data."""
        os.kill(self.pids["etcd"], signal.SIGKILL)
        self.stop_etcd()

    def compact(self) -> None:
        """Make etcd forget everything but the present, so that older watches get a 410.

        An API server that is running has a memory of its own; it forgets when it starts again.
        """
        key = base64.b64encode(b"a-key-of-the-test").decode()
        # The present must be newer than what any watch has seen.
        put = self._etcd("put", {"key": key, "value": key})
        self._etcd("compaction", {"revision": put["header"]["revision"], "physical": True})

    def log(self, program: Literal["etcd", "kube-apiserver"] = "kube-apiserver") -> str:
        """Everything a program has written so far."""
        return (self.folder / f"{program}.log").read_text(errors="replace")

    def kubeconfig_for(
        self, user: str, groups: Sequence[str] = (), *, name: str | None = None
    ) -> Path:
        """Write a kubeconfig with a client certificate for a user, who gets no permissions.

        Args:
            user: the user's name.
            groups: the groups the user is in.
            name: the name of the files without their ending; made from the user when None.
        """
        name = name or file_name(user)
        pair = self._authority.client(name, user, groups)
        return write_kubeconfig(self.folder / f"{name}.kubeconfig", self.url, self.ca_file, pair)

    def kubeconfig_with_token(self, namespace: str, service_account: str) -> Path:
        """Write a kubeconfig with a token of an existing service account, valid for an hour."""
        path = self.path("ServiceAccount", service_account, namespace)
        token_request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
        answer = self.request("POST", f"{path}/token", {**token_request, "spec": {}})
        file = self.folder / f"{namespace}.{service_account}.token.kubeconfig"
        return write_kubeconfig(file, self.url, self.ca_file, answer["status"]["token"])

    def _make_credentials(self) -> None:
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self._make_authority()
        self.kubeconfig = write_kubeconfig(
            self.folder / "admin.kubeconfig", self.url, self.ca_file, self._admin
        )
        self._http = self.https(self.port)

    def _etcd_address(self) -> str:
        """Choose where etcd listens, for good."""
        port, peer = free_port(), free_port()
        self._etcd_port = port
        url, peer_url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer}"
        self._etcd_command = [
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
            # A loopback address is rejected in the endpoints of the service `kubernetes`.
            "--endpoint-reconciler-type=none",
            "--allow-privileged=true",
            f"--disable-admission-plugins={','.join(_DISABLED_ADMISSION)}",
            # Benchmarks measure schedulers, not the API server's politeness.
            "--enable-priority-and-fairness=false",
            "--max-requests-inflight=0",
            "--max-mutating-requests-inflight=0",
            # Without it an open watch keeps the server from ending for a minute.
            "--shutdown-watch-termination-grace-period=1s",
            *(self._audit_args() if self._audited else ()),
            *self._api_args,
        ]

    def _audit_args(self) -> list[str]:
        policy = self.folder / "audit-policy.yaml"
        policy.write_text(yaml.safe_dump(dict(self._audit_policy)))
        self.audit_file.touch()
        return [f"--audit-policy-file={policy}", f"--audit-log-path={self.audit_file}"]

    def _etcd(self, what: str, body: object) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._etcd_port, timeout=30)
        try:
            connection.request("POST", f"/v3/kv/{what}", msgspec.json.encode(body))
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        if response.status != http.client.OK:
            raise KubeError(f"etcd answered {what} with {response.status}: {content.decode()}")
        return msgspec.json.decode(content)

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
