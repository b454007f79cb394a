"""The real kube-scheduler as one object that starts, shows its metrics and log, and stops.

For tests and benchmarks, through `mooring.testing.real_kubernetes`. Knows nothing of mooring's
policies: the caller writes the configuration that names an extender.
"""

import contextlib
import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from mooring.errors import InputError, KubeError
from mooring.testing.api_client import HttpsClient
from mooring.testing.base_control_plane import BaseControlPlane
from mooring.testing.child_process import ChildProcess, Program, free_port

_START_SECONDS = 90.0


class KubeScheduler(Program):
    """The real kube-scheduler, working for a control plane as the user system:kube-scheduler.

    Use it with `with`, or call `start` and `stop`. Several may run on one control plane when
    their configurations name different schedulers.

    Args:
        plane: must run already when `start` is called.
        config: a KubeSchedulerConfiguration as mapping or YAML text; what is missing of
            `apiVersion`, `kind`, `clientConnection.kubeconfig` and `leaderElection.leaderElect`
            (false) is filled in.
        args: further arguments.
        v: the verbosity of the log.

    Attributes:
        folder: holds configuration and log; below the control plane's folder, from `start` on.
        port: where it serves HTTPS, from `start` on.
    """

    folder: Path
    port: int

    def __init__(
        self,
        plane: BaseControlPlane,
        config: Mapping[str, Any] | str | None = None,
        *,
        args: Sequence[str] = (),
        v: int = 2,
    ) -> None:
        self._plane = plane
        self._config = yaml.safe_load(config) if isinstance(config, str) else config or {}
        self._args = tuple(args)
        self._verbosity = v
        self._https: HttpsClient | None = None

    def start(self) -> None:
        """Start kube-scheduler and wait until it is ready.

        Raises:
            ProcessError: it ended or was not ready in time; the text has its last words.
        """
        if self._process is not None:
            raise InputError("kube-scheduler is running already.")
        plane = self._plane
        self.port = free_port()
        name = f"kube-scheduler-{self.port}"
        self.folder = plane.folder / name
        self.folder.mkdir(exist_ok=True)
        kubeconfig = plane.kubeconfig_for("system:kube-scheduler", name=name)
        config_file = self.folder / "config.yaml"
        config = _complete(self._config, kubeconfig)
        if plane.json_only:
            config["clientConnection"].setdefault("contentType", "application/json")
        config_file.write_text(yaml.safe_dump(config))
        serving = plane.server_certificate(f"{name}-serving")
        self._https = plane.https(self.port)
        command = [
            str(plane.binaries.kube_scheduler),
            f"--config={config_file}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--tls-cert-file={serving.certificate}",
            f"--tls-private-key-file={serving.key}",
            f"--client-ca-file={plane.ca_file}",
            # The API server publishes no authority for proxies, which a lookup would complain of.
            "--authentication-skip-lookup=true",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics",
            f"--v={self._verbosity}",
            *self._args,
        ]
        process = ChildProcess("kube-scheduler", command, self.folder / "kube-scheduler.log")
        self._launch(process, self._ready, _START_SECONDS)

    def stop(self) -> None:
        """End kube-scheduler; its log stays. Harmless when repeated."""
        if self._https is not None:
            self._https.close()
        super().stop()

    def get(self, path: str) -> str:
        """Return what it serves at a path, such as /configz; as administrator."""
        if self._https is None:
            raise InputError("kube-scheduler is not running.")
        status, content = self._https.send("GET", path)
        if status >= 400:
            raise KubeError(f"kube-scheduler answered GET {path} with {status}.")
        return content.decode()

    def metrics(self) -> str:
        """Its metrics, in Prometheus' text format."""
        return self.get("/metrics")

    def log(self) -> str:
        """Everything it has written so far; also after `stop`."""
        return (self.folder / "kube-scheduler.log").read_text(errors="replace")

    def _ready(self) -> bool:
        with contextlib.suppress(KubeError):
            self.get("/readyz")
            return True
        return False


def _complete(config: Mapping[str, Any], kubeconfig: Path) -> dict[str, Any]:
    # Through `dict` and a deep copy, so that YAML gets plain values and the caller keeps its own.
    complete = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        **copy.deepcopy(dict(config)),
    }
    complete["clientConnection"] = {
        "kubeconfig": str(kubeconfig),
        **complete.get("clientConnection", {}),
    }
    complete["leaderElection"] = {"leaderElect": False, **complete.get("leaderElection", {})}
    return complete
