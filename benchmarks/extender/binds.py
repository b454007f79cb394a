"""Sees pods being bound, by a watch on the API server; called by the part `scheduler`.

The watch selects the pods of one scheduler that have a node. The API server reports a pod as added
when it begins to match, so each bound pod is exactly one such event.
"""

import http.client
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Self
from urllib.parse import quote

from benchmarks.command import BenchError
from benchmarks.credentials import tls_context
from mooring.testing.real_kubernetes import ControlPlane

_SILENCE_SECONDS = 120.0


class BindWatch:
    """An open watch for the binds of one scheduler; a context manager.

    Args:
        plane: the running control plane.
        scheduler: the scheduler's name, as in a pod's `schedulerName`.
    """

    def __init__(self, plane: ControlPlane, scheduler: str) -> None:
        selector = quote(f"spec.schedulerName={scheduler},spec.nodeName!=")
        version = plane.request("GET", f"/api/v1/pods?fieldSelector={selector}")["metadata"][
            "resourceVersion"
        ]
        self._scheduler = scheduler
        self._connection = http.client.HTTPSConnection(
            "127.0.0.1", plane.port, timeout=_SILENCE_SECONDS, context=tls_context(plane.kubeconfig)
        )
        self._connection.request(
            "GET", f"/api/v1/pods?watch=1&resourceVersion={version}&fieldSelector={selector}"
        )
        self._response = self._connection.getresponse()
        if self._response.status != 200:
            raise BenchError(f"a watch was answered with status {self._response.status}.")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._connection.close()

    def times(self) -> Iterator[float]:
        """The clock's reading at each bind, as it happens."""
        while True:
            try:
                line = self._response.readline()
            except OSError as error:
                raise BenchError(
                    f"{self._scheduler} bound no pod in {_SILENCE_SECONDS:.0f} s."
                ) from error
            now = time.perf_counter()
            if not line:
                raise BenchError("the API server ended a watch.")
            if line.startswith(b'{"type":"ADDED"'):
                yield now
