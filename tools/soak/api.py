"""What the soak test itself asks of the API server: as administrator, directly, and patiently.

The API server is restarted under its feet, so every request is repeated until it is answered.
"""

import http.client
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, Final, TypeVar

import msgspec

from mooring.errors import ApiError, KubeError
from mooring.kube.credentials import Credentials
from mooring.kube.kubeconfig import load_kubeconfig
from mooring.kube.transport import make_context
from mooring.testing.real_kubernetes import ControlPlane
from tools.soak.objects import Node, Pod

T = TypeVar("T")

_PATIENCE_SECONDS: Final = 120.0
_PAUSE_SECONDS: Final = 0.2
_MERGE: Final = "application/merge-patch+json"


class Admin:
    """Requests that go on until they are answered; any number of threads may use it.

    Args:
        plane: runs already.
    """

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        config = load_kubeconfig(plane.kubeconfig)
        self._context: ssl.SSLContext = make_context(config, Credentials())

    def persist(self, action: Callable[[], T], fine: tuple[int, ...] = ()) -> T | None:
        """Do something until the API server has answered; None for an answer that is fine, too."""
        until = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                return action()
            except ApiError as error:
                if error.status in fine:
                    return None
                if error.status not in (429, 500, 503, 504) or time.monotonic() > until:
                    raise
            except KubeError:
                if time.monotonic() > until:
                    raise
            time.sleep(_PAUSE_SECONDS)

    def create(self, manifest: dict[str, Any]) -> None:
        """Create an object; it may be there already, because an answer was lost."""
        self.persist(lambda: self.plane.create(manifest), (409,))

    def delete(self, kind: str, name: str) -> None:
        """Delete an object at once; it may be gone already."""
        namespace = None if kind == "Node" else "default"
        self.persist(lambda: self.plane.delete(kind, name, namespace), (404,))

    def delete_pod(self, name: str, uid: str) -> None:
        """Delete one pod at once, and no other of the same name."""
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": uid},
        }
        path = f"/api/v1/namespaces/default/pods/{name}"
        self.persist(lambda: self.plane.request("DELETE", path, options), (404, 409))

    def patch(self, path: str, patch: object) -> None:
        """Patch an object; it may be gone."""
        self.persist(
            lambda: self.plane.request("PATCH", path, patch, content_type=_MERGE), (404, 409)
        )

    def pods(self) -> list[Pod]:
        """All pods, by a fresh list from etcd."""
        return self._listed("/api/v1/namespaces/default/pods", Pod)

    def nodes(self) -> list[Node]:
        """All nodes, by a fresh list from etcd."""
        return self._listed("/api/v1/nodes", Node)

    def _listed(self, path: str, kind: type[T]) -> list[T]:
        found = self.persist(lambda: self.plane.request("GET", path))
        items: list[T] = msgspec.convert((found or {}).get("items") or [], list[kind])  # type: ignore[valid-type]
        return items

    def watch(self, path: str) -> Iterator[bytes]:
        """The lines of one watch, until it ends.

        Raises:
            OSError: it broke, or said nothing for long.
            http.client.HTTPException: it broke.
        """
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.plane.port, timeout=60, context=self._context
        )
        with closing(connection):
            connection.request("GET", path, headers={"Accept": "application/json"})
            response = connection.getresponse()
            if response.status != http.client.OK:
                raise OSError(f"{path} was answered with {response.status}")
            while line := response.readline():
                yield line
