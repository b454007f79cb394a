"""Blocking JSON requests to the API server of a test control plane.

`ControlPlane` is built on it. Not a client for production: `mooring.kube` has that one.
"""

import http.client
import select
import socket
import ssl
from collections import deque
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import msgspec

from mooring.errors import ApiError, InputError, KubeError

_TIMEOUT_SECONDS = 60.0
_DELETE_NOW = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}


class HttpClient:
    """Requests to one port of this machine, over connections that are kept for reuse.

    Any number of threads may use it; each request has a connection of its own.

    Args:
        port: the port.
        context: for TLS; None for plain HTTP.
        token: a bearer token that is sent with every request.
    """

    def __init__(self, port: int, context: ssl.SSLContext | None = None, token: str = "") -> None:
        self._port = port
        self._context = context
        self._headers = {"Accept": "application/json, */*"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._idle: deque[http.client.HTTPConnection] = deque()

    @property
    def url(self) -> str:
        """The address."""
        return f"{'http' if self._context is None else 'https'}://127.0.0.1:{self._port}"

    def send(
        self, method: str, path: str, body: bytes | None = None, *, content_type: str = ""
    ) -> tuple[int, bytes]:
        """Send a request and return status and body; raise `KubeError` when nobody answers."""
        headers = {**self._headers, "Content-Type": content_type} if content_type else self._headers
        connection = self._connection()
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise KubeError(f"{method} {path} got no answer from {self.url}: {error}.") from error
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self._idle.append(connection)
        return response.status, content

    def close(self) -> None:
        """Close the connections that are not in use; the next request opens a new one."""
        while self._idle:
            self._idle.pop().close()

    def _connection(self) -> http.client.HTTPConnection:
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return self._connect()
            if connection.sock is not None and not _readable(connection.sock):
                return connection
            # The server has closed an idle connection, or sent what nobody asked for.
            connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        if self._context is None:
            return http.client.HTTPConnection("127.0.0.1", self._port, timeout=_TIMEOUT_SECONDS)
        return http.client.HTTPSConnection(
            "127.0.0.1", self._port, timeout=_TIMEOUT_SECONDS, context=self._context
        )


class HttpsClient(HttpClient):
    """Over TLS."""

    def __init__(self, port: int, context: ssl.SSLContext) -> None:
        super().__init__(port, context)


def _readable(sock: socket.socket) -> bool:
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))


class ApiResource(NamedTuple):
    """How the API server calls a kind in paths."""

    plural: str
    namespaced: bool
    api_version: str
    verbs: frozenset[str]


class ApiClient:
    """Create, read and delete objects of any kind the API server knows.

    Kinds are looked up in the API server's own list, so that alpha kinds and custom resources
    work, too. A namespaced object without a namespace belongs to `default`.
    """

    def __init__(self) -> None:
        self._http: HttpClient | None = None
        self._resources: dict[str, dict[str, ApiResource]] = {}

    def request(
        self,
        method: str,
        path: str,
        body: object | None = None,
        *,
        content_type: str = "application/json",
    ) -> Any:
        """Send a request as administrator and return the decoded response.

        Raises:
            ApiError: the API server returned a status of 400 or above.
            KubeError: it did not answer.
        """
        if self._http is None:
            raise KubeError("The control plane is not running; call start() first.")
        data = None if body is None else msgspec.json.encode(body)
        status, content = self._http.send(method, path, data, content_type=content_type)
        if status >= 400:
            raise _api_error(method, path, status, content)
        return (
            msgspec.json.decode(content) if content.startswith((b"{", b"[")) else content.decode()
        )

    def path(
        self,
        kind: str,
        name: str = "",
        namespace: str | None = None,
        *,
        api_version: str = "v1",
    ) -> str:
        """Return the path of an object, or of all objects of the kind when `name` is empty."""
        resource = self._resource(api_version, kind)
        parts = ["api" if "/" not in api_version else "apis", api_version]
        if resource.namespaced and (namespace is not None or name):
            parts += ["namespaces", namespace or "default"]
        parts.append(resource.plural)
        if name:
            parts.append(name)
        return "/" + "/".join(parts)

    def create(self, obj: Mapping[str, Any]) -> dict[str, Any]:
        """Create an object from its manifest and return it as the API server stored it."""
        namespace = obj.get("metadata", {}).get("namespace", "default")
        path = self.path(obj["kind"], "", namespace, api_version=obj["apiVersion"])
        created: dict[str, Any] = self.request("POST", path, obj)
        return created

    def create_many(
        self, objs: Iterable[Mapping[str, Any]], threads: int = 8
    ) -> list[dict[str, Any]]:
        """Create objects with several requests at a time; the results are in the given order."""
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(self.create, objs))

    def get(
        self, kind: str, name: str, namespace: str | None = None, *, api_version: str = "v1"
    ) -> dict[str, Any]:
        """Return one object; raises an `ApiError` with status 404 if there is none."""
        path = self.path(kind, name, namespace, api_version=api_version)
        found: dict[str, Any] = self.request("GET", path)
        return found

    def list_objects(
        self, kind: str, namespace: str | None = None, *, api_version: str = "v1"
    ) -> list[dict[str, Any]]:
        """Return all objects of a kind, or those in one namespace."""
        path = self.path(kind, "", namespace, api_version=api_version)
        items: list[dict[str, Any]] = self.request("GET", path)["items"]
        return items

    def delete(
        self, kind: str, name: str, namespace: str | None = None, *, api_version: str = "v1"
    ) -> None:
        """Delete one object immediately: no kubelet would end a pod's grace period."""
        path = self.path(kind, name, namespace, api_version=api_version)
        self.request("DELETE", path, _DELETE_NOW)

    def delete_all(
        self, kind: str, namespace: str | None = None, *, api_version: str = "v1"
    ) -> None:
        """Delete all objects of a cluster-scoped kind, or those in one namespace, immediately."""
        path = self.path(kind, "", namespace or "default", api_version=api_version)
        self.request("DELETE", path, _DELETE_NOW)

    def delete_namespace(self, name: str) -> None:
        """Delete a namespace and what is in it.

        No namespace controller runs here, so this does its work, for the groups of kinds that
        have been used through this object.
        """
        for kinds in list(self._resources.values()):
            for kind, resource in kinds.items():
                if resource.namespaced and "deletecollection" in resource.verbs:
                    self.delete_all(kind, name, api_version=resource.api_version)
        self.delete("Namespace", name)
        namespace = self.get("Namespace", name)
        namespace["spec"]["finalizers"] = []
        self.request("PUT", f"/api/v1/namespaces/{name}/finalize", namespace)

    def _resource(self, api_version: str, kind: str) -> ApiResource:
        kinds = self._resources.get(api_version)
        if kinds is None or kind not in kinds:
            prefix = "apis" if "/" in api_version else "api"
            listed = self.request("GET", f"/{prefix}/{api_version}")["resources"]
            kinds = {
                entry["kind"]: ApiResource(
                    entry["name"], entry["namespaced"], api_version, frozenset(entry["verbs"])
                )
                for entry in listed
                if "/" not in entry["name"]
            }
            self._resources[api_version] = kinds
        if kind not in kinds:
            raise InputError(f"The API server knows no kind {kind} in {api_version}.")
        return kinds[kind]


def _api_error(method: str, path: str, status: int, content: bytes) -> ApiError:
    reason, message = "", content.decode(errors="replace")
    try:
        answer = msgspec.json.decode(content)
    except msgspec.DecodeError:
        answer = None
    if isinstance(answer, dict) and answer.get("kind") == "Status":
        reason, message = answer.get("reason", ""), answer.get("message", message)
    text = f"{method} {path} was answered with {status} {reason}".rstrip()
    return ApiError(f"{text}: {message}", status=status, reason=reason)
