"""The API server inside mooring as one object for tests: same face as the real control plane.

It runs in a thread of this process with an event loop of its own. As in a `ControlPlane` there is
no kubelet and no controller: nothing runs pods or ends namespaces. Everybody may do everything;
who does it is known by a token. It serves TLS, because clients send tokens over nothing else.
"""

import asyncio
import atexit
import secrets
import shutil
import ssl
import threading
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import uvloop

from mooring.embedded.http.audit import AuditEvent
from mooring.embedded.server import EmbeddedCluster, Options
from mooring.errors import InputError
from mooring.http.tls import Certificates
from mooring.testing.api_client import HttpClient
from mooring.testing.base_control_plane import BaseControlPlane, file_name
from mooring.testing.certificates import write_kubeconfig
from mooring.testing.child_process import free_port

T = TypeVar("T")

_SECONDS: Final = 60.0
_ADMIN: Final = "admin"


class EmbeddedControlPlane(BaseControlPlane):
    """An embedded cluster without nodes, for tests that also run on a `ControlPlane`.

    Use it with `with`, or call `start` and `stop`.

    Args:
        folder: keeps keys and logs, also after `stop`; a temporary one when None.
        audited: write down who bound what and who wrote Leases in `default`, in `audit_file`.
    """

    json_only = True

    def __init__(self, folder: Path | None = None, *, audited: bool = False) -> None:
        super().__init__(folder, audited=audited)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._cluster: EmbeddedCluster | None = None
        self._log: FileIO | None = None
        self._online = False

    def start(self) -> None:
        """Start the server and wait until it answers."""
        if self._loop is not None:
            raise InputError("The embedded control plane is running already.")
        self._make_folder()
        atexit.register(self.stop)
        try:
            self._make_authority()
            self.port = free_port()
            self.url = f"https://127.0.0.1:{self.port}"
            if self._audited:
                self._log = FileIO(self.audit_file, "a")
            self._loop = uvloop.new_event_loop()
            self._thread = threading.Thread(
                target=self._loop.run_forever, name="embedded-control-plane", daemon=True
            )
            self._thread.start()
            token = secrets.token_urlsafe(16)
            self._run(self._begin(token))
            self._online = True
            context = ssl.create_default_context(cafile=str(self.ca_file))
            self._http = HttpClient(self.port, context, token)
            self.kubeconfig = self._write_kubeconfig(_ADMIN, token)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the server, forget the objects, remove a temporary folder; harmless when repeated."""
        if self._http is not None:
            self._http.close()
        if self._cluster is not None:
            self._run(self._cluster.__aexit__(None, None, None))
            self._cluster, self._online = None, False
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._loop = None
        if self._log is not None:
            self._log.close()
            self._log = None
        if self._given_folder is None and hasattr(self, "folder"):
            shutil.rmtree(self.folder, ignore_errors=True)
        atexit.unregister(self.stop)

    def start_apiserver(self) -> None:
        """Listen again after `stop_apiserver`: same port, same data."""
        if self._online:
            raise InputError("The embedded control plane is listening already.")
        self._run(self._running.go_online())
        self._online = True

    def stop_apiserver(self) -> None:
        """Break all connections, stop listening and keep the data."""
        if self._http is not None:
            self._http.close()
        if self._online:
            self._run(self._running.go_offline())
            self._online = False

    def kill_apiserver(self) -> None:
        """The same as `stop_apiserver`, which gives nobody a last word either."""
        self.stop_apiserver()

    def compact(self) -> None:
        """Forget everything but the present, so that older watches get a 410."""
        self._call(self._running.store.compact)

    def kubeconfig_for(
        self,
        user: str,
        groups: Sequence[str] = (),  # noqa: ARG002 - nobody checks permissions here
        *,
        name: str | None = None,
    ) -> Path:
        """Write a kubeconfig with a token for a user."""
        cluster = self._running
        token = self._call(lambda: cluster.token_for(user))
        return self._write_kubeconfig(name or file_name(user), token)

    def _write_kubeconfig(self, name: str, token: str) -> Path:
        return write_kubeconfig(self.folder / f"{name}.kubeconfig", self.url, self.ca_file, token)

    @property
    def _running(self) -> EmbeddedCluster:
        if self._cluster is None:
            raise InputError("The embedded control plane is not running; call start() first.")
        return self._cluster

    async def _begin(self, token: str) -> None:
        options = Options(
            port=self.port, kubelet=None, controllers=False, tokens={token: _ADMIN}, closed=True
        )
        serving = self.server_certificate("embedded")
        cluster = EmbeddedCluster(
            options=options,
            certificates=Certificates(serving.certificate, serving.key),
            audit=self._note if self._audited else None,
        )
        await cluster.__aenter__()
        self._cluster = cluster

    def _note(self, asked: AuditEvent) -> None:
        """Write down what a real API server would, with the audit policy of a `ControlPlane`."""
        if self._log is not None and _is_audited(asked):
            self._log.write(msgspec.json.encode(audit_event(asked)) + b"\n")

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        """Have something done on the server's loop, and wait for it."""
        if self._loop is None:
            work.close()
            raise InputError("The embedded control plane is not running; call start() first.")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_SECONDS)

    def _call(self, function: Callable[[], T]) -> T:
        async def call() -> T:
            return function()

        return self._run(call())


def _is_audited(asked: AuditEvent) -> bool:
    if asked.resource == "pods":
        return asked.subresource == "binding"
    return asked.resource == "leases" and asked.namespace == "default" and asked.verb != "delete"


def audit_event(asked: AuditEvent) -> dict[str, Any]:
    """An answered request as an Event of audit.k8s.io/v1, as kube-apiserver writes it."""
    target = {
        "resource": asked.resource,
        "namespace": asked.namespace,
        "name": asked.name,
        "apiGroup": asked.group,
        "subresource": asked.subresource,
    }
    event = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Request",
        "stage": "ResponseComplete",
        "verb": asked.verb,
        "user": {"username": asked.user},
        "objectRef": {key: value for key, value in target.items() if value},
        "responseStatus": {"code": asked.code},
        "requestReceivedTimestamp": _micro_time(asked.received),
        "stageTimestamp": _micro_time(asked.completed),
    }
    try:
        return {**event, "requestObject": msgspec.json.decode(asked.body)}
    except msgspec.DecodeError:
        return event  # what is no JSON was rejected anyway


def _micro_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
