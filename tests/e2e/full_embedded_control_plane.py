"""An embedded cluster with kubelets and controllers, used like a control plane."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mooring.embedded.devices.forms import DriverForm
from mooring.embedded.kubelet.kubelet import KubeletSettings
from mooring.embedded.server import EmbeddedCluster, Options
from mooring.http.tls import Certificates
from mooring.testing.embedded_control_plane import EmbeddedControlPlane


class FullEmbeddedControlPlane(EmbeddedControlPlane):
    """What `moor cluster` serves, over TLS, in a thread of this process.

    Args:
        nodes: manifests to begin with.
        folder: keeps keys and logs; a temporary one when None.
        kubelet: how pods behave.
        drivers: whose devices nodes have.
    """

    def __init__(
        self,
        nodes: Sequence[dict[str, Any]] = (),
        folder: Path | None = None,
        *,
        kubelet: KubeletSettings | None = None,
        drivers: Sequence[DriverForm] = (),
    ) -> None:
        super().__init__(folder)
        self._nodes = nodes
        self._kubelet = kubelet or KubeletSettings()
        self._drivers = tuple(drivers)

    async def _begin(self, token: str) -> None:
        serving = self.server_certificate("embedded")
        options = Options(
            port=self.port, kubelet=self._kubelet, drivers=self._drivers,
            tokens={token: "admin"}, closed=True,
        )  # fmt: skip
        cluster = EmbeddedCluster(
            self._nodes, options, certificates=Certificates(serving.certificate, serving.key)
        )
        await cluster.__aenter__()
        self._cluster = cluster
