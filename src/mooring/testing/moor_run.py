"""``moor run`` as one object that starts, shows its metrics and log, and stops; for tests.

Starts the real command in a process of its own, as a user would, and is used like `KubeScheduler`.
"""

import contextlib
import http.client
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from mooring.errors import InputError, KubeError
from mooring.testing.base_control_plane import BaseControlPlane
from mooring.testing.child_process import ChildProcess, Program, free_port

_START_SECONDS = 90.0
#: `moor run` waits so long for bindings under way, and a little longer for the rest.
_STOP_SECONDS = 30.0
_USER = "system:kube-scheduler"
_ADDRESS = "127.0.0.1"


class MoorRun(Program):
    """A running ``moor run`` that works for a control plane.

    Use it with `with`, or call `start` and `stop`. Several may run on one control plane.

    Args:
        plane: must run already when `start` is called.
        config: a KubeSchedulerConfiguration as mapping or YAML text; of a mapping, what is missing
            of `apiVersion`, `kind` and `leaderElection.leaderElect` (false) is filled in. A path
            is handed over as it is. None runs the default configuration without leader election.
        policy: a policy that takes part, as ``moor run`` takes it.
        args: further arguments.
        kubeconfig: who it is; when None, the user system:kube-scheduler, with the permissions that
            Kubernetes gives to it, unless `config` is a path: then what is written there counts.
        env: further variables of its environment.
        wait: wait until ``/readyz`` is green, not only until it answers.

    Attributes:
        folder: holds configuration and log; below the control plane's folder, from `start` on.
        port: where it serves health and metrics, from `start` on.
    """

    folder: Path
    port: int

    def __init__(
        self,
        plane: BaseControlPlane,
        config: Mapping[str, Any] | str | Path | None = None,
        *,
        policy: str | Path | None = None,
        args: Sequence[str | Path] = (),
        kubeconfig: Path | None = None,
        env: Mapping[str, str] | None = None,
        wait: bool = True,
    ) -> None:
        self._plane = plane
        self._config = config
        self._policy = policy
        self._args = tuple(map(str, args))
        self._kubeconfig = kubeconfig
        self._env = dict(env or {})
        self._wait = wait

    def start(self) -> None:
        """Start the scheduler and wait until it is ready.

        Raises:
            ProcessError: it ended or was not ready in time; the text has its last words.
        """
        if self._process is not None:
            raise InputError("moor run is running already.")
        self.port = free_port()
        name = f"moor-run-{self.port}"
        self.folder = self._plane.folder / name
        self.folder.mkdir(exist_ok=True)
        command = ["env", *(f"{key}={value}" for key, value in self._env.items())]
        command += [sys.executable, "-m", "mooring.cli", "run"]
        command += [] if self._policy is None else [str(self._policy)]
        command += ["--config", str(self._config_file())]
        kubeconfig = self._kubeconfig
        if kubeconfig is None and not isinstance(self._config, Path):
            kubeconfig = self._plane.kubeconfig_for(_USER, name=name)
        command += [] if kubeconfig is None else ["--kubeconfig", str(kubeconfig)]
        command += ["--port", str(self.port), *self._args]
        process = ChildProcess("moor run", command, self.folder / "moor-run.log")
        self._launch(process, self._ready, _START_SECONDS)

    def stop(self) -> None:
        """End the scheduler as SIGTERM does; its log stays. Harmless when repeated."""
        if self._process is not None:
            self._process.stop(_STOP_SECONDS)
        super().stop()

    @property
    def url(self) -> str:
        """Where it serves health and metrics."""
        return f"http://{_ADDRESS}:{self.port}"

    def answer(self, path: str) -> tuple[int, str]:
        """Status and text of what it serves at a path; raise `OSError` when nobody answers."""
        connection = http.client.HTTPConnection(_ADDRESS, self.port, timeout=30)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def get(self, path: str) -> str:
        """Return what it serves at a path, such as /configz."""
        status, text = self.answer(path)
        if status >= 400:
            raise KubeError(f"moor run answered GET {path} with {status}: {text}")
        return text

    def metrics(self) -> str:
        """Its metrics, in Prometheus' text format."""
        return self.get("/metrics")

    def log(self) -> str:
        """Everything it has written so far; also after `stop`."""
        return (self.folder / "moor-run.log").read_text(errors="replace")

    def _config_file(self) -> Path:
        config = self._config
        if isinstance(config, Path):
            return config
        file = self.folder / "config.yaml"
        if isinstance(config, str):
            file.write_text(config)
            return file
        complete: dict[str, Any] = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            **dict(config or {}),
        }
        election = complete.get("leaderElection") or {}
        complete["leaderElection"] = {"leaderElect": False, **election}
        file.write_text(yaml.safe_dump(complete))
        return file

    def _ready(self) -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.answer("/readyz")[0] == 200 or not self._wait
        return False
