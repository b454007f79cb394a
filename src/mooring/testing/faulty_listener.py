"""One client's way through a `FaultyProxy`: its kubeconfig, and the port that is open for it alone.

`FaultyProxy` makes one for each client. Who connects must have the client's certificate, if it has
one: the proxy acts with it towards the API server.
"""

import asyncio
import logging
import os
import ssl
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml
from aiohttp import web

from mooring.embedded.kubeconfig import NAME, write_private
from mooring.kube.cluster_config import ClusterConfig
from mooring.kube.kubeconfig import load_kubeconfig
from mooring.testing.certificates import KeyPair
from mooring.testing.faulty_forwarding import Forwarding

#: Whoever is cut off is cut off on purpose: nobody needs to read of it.
_LOG: Final = logging.getLogger("mooring.testing.proxy")
_ADDRESS: Final = "127.0.0.1"
_FILES: Final = ("client-certificate", "client-key", "tokenFile")


class ClientConfig(NamedTuple):
    """How a client reaches its API server.

    Attributes:
        config: where it is, and with which credentials.
        user: the client's part of its kubeconfig.
        client_certificate: in PEM; empty if it has none.
    """

    config: ClusterConfig
    user: dict[str, Any]
    client_certificate: bytes


def read_client_config(kubeconfig: Path, context: str | None) -> ClientConfig:
    """Read a client's kubeconfig.

    Raises:
        ConfigError: it cannot be used.
    """
    config = load_kubeconfig(kubeconfig, context)
    content = yaml.safe_load(kubeconfig.read_text())
    name = context or content["current-context"]
    chosen = next(one["context"] for one in content["contexts"] if one["name"] == name)
    users = {one["name"]: one.get("user") or {} for one in content.get("users") or ()}
    user = dict(users.get(chosen.get("user", ""), {}))
    for key in _FILES:
        if user.get(key):
            user[key] = str(kubeconfig.parent / user[key])
    certificate = config.cert_data
    if not certificate and config.cert_file is not None:
        certificate = config.cert_file.read_bytes()
    return ClientConfig(config, user, certificate)


def write_proxy_kubeconfig(
    file: Path, client: ClientConfig, url: str, authority: Path | None
) -> None:
    """Write the kubeconfig with which a client goes through the proxy."""
    cluster: dict[str, Any] = {"server": url}
    if authority is not None:
        cluster["certificate-authority"] = str(authority)
    inside = {"cluster": NAME, "user": NAME, "namespace": client.config.namespace}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": NAME,
        "clusters": [{"name": NAME, "cluster": cluster}],
        "contexts": [{"name": NAME, "context": inside}],
        "users": [{"name": NAME, "user": client.user}],
    }
    write_private(file, yaml.safe_dump(content, sort_keys=False))


class Listener:
    """A port for one client.

    Args:
        forwarding: answers its requests.
        port: of 127.0.0.1.
        pair: for TLS; None for plain HTTP.
        client_certificate: the only one that is let in, in PEM; empty lets everybody in.
    """

    def __init__(
        self,
        forwarding: Forwarding,
        port: int,
        pair: KeyPair | None,
        client_certificate: bytes = b"",
    ) -> None:
        self._forwarding = forwarding
        self._port = port
        self._context = None if pair is None else _context(pair, client_certificate)
        self._server: web.Server | None = None
        self._socket: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """Where the client connects to."""
        return f"{'http' if self._context is None else 'https'}://{_ADDRESS}:{self._port}"

    async def open(self) -> None:
        """Begin to listen."""
        self._server = web.Server(
            self._forwarding.handle,
            handler_cancellation=True,  # a client that leaves ends its watch
            access_log=None,
            logger=_LOG,
            keepalive_timeout=300,
        )
        self._forwarding.open()
        await self.mend()

    async def close(self) -> None:
        """Break all connections and end."""
        await self.cut()
        if self._server is not None:
            await self._server.shutdown(0)
        await self._forwarding.close()

    async def cut(self) -> None:
        """Close the port and break all connections."""
        listening, self._socket = self._socket, None
        if listening is not None:
            listening.close()
        for protocol in list(self._server.connections) if self._server is not None else ():
            if protocol.transport is not None:
                protocol.transport.abort()

    async def mend(self) -> None:
        """Listen, if it does not."""
        if self._socket is None and self._server is not None:
            self._socket = await asyncio.get_running_loop().create_server(
                self._server, _ADDRESS, self._port, ssl=self._context, backlog=512,
                reuse_address=os.name == "posix",
            )  # fmt: skip


def _context(pair: KeyPair, client_certificate: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    if client_certificate:
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.load_verify_locations(cadata=client_certificate.decode("ascii"))
    return context
