"""An embedded cluster: the API on a socket, with fake nodes, kubelets and controllers.

`EmbeddedCluster` puts everything together and belongs to one event loop. `moor cluster`,
`moor demo` and `mooring.testing` start it. It can be taken off the net and come back with its data,
as a real API server that is restarted.
"""

import asyncio
import contextlib
import random
import secrets
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Self

import msgspec

from mooring.embedded.api import AdmissionSettings, Api
from mooring.embedded.built_in_objects import create_built_in_objects
from mooring.embedded.controller_manager import ControllerManager
from mooring.embedded.devices.device_pools import device_classes
from mooring.embedded.devices.forms import DriverForm
from mooring.embedded.http.app import MAX_BODY, App
from mooring.embedded.http.audit import AuditEvent
from mooring.embedded.http.authentication import EXTENSION, Authenticator
from mooring.embedded.kubelet.kubelet import KubeletSettings
from mooring.embedded.resources import BY_KIND, DEVICE_CLASSES, Obj, Resource
from mooring.embedded.status_errors import status_body
from mooring.embedded.store import HISTORY, Store
from mooring.http.origin import OwnOrigin
from mooring.http.protocol import WholeBodyProtocol
from mooring.http.server import make_server, serving
from mooring.http.sockets import listen
from mooring.http.tls import Certificates

_KEEP_ALIVE_SECONDS: Final = 180
#: Vowels and what looks like them are left out, as Kubernetes does.
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"


class ClientCertificateProtocol(WholeBodyProtocol):
    """One connection; a client's certificate says who it is."""

    max_body = MAX_BODY
    _user = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client connected."""
        super().connection_made(transport)
        connection = transport.get_extra_info("ssl_object")
        certificate = connection.getpeercert() if connection is not None else None
        for part in (certificate or {}).get("subject", ()):
            for name, value in part:
                if name == "commonName":
                    self._user = value

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        if self._user:
            self.scope["extensions"] = {EXTENSION: {"name": self._user}}


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What an embedded cluster is like.

    Attributes:
        host: the address to listen on.
        port: the port; 0 takes a free one, which is then kept.
        allow_hosts: further names for `OwnOrigin`.
        kubelet: how bound pods come to life; None leaves them as they are.
        controllers: whether Deployments and the like create pods, and namespaces are emptied.
        tokens: users by bearer token.
        closed: turn clients away that show neither a token nor a certificate.
        root_ca: the certificates that clients verify this server with, in PEM, for the config map
            kube-root-ca.crt of every namespace; empty without TLS.
        drivers: whose devices nodes have, and whose classes there are to begin with.
        history: how many changes of each resource a watch may be behind.
        seed: for names and ids that are the same every time; None for random ones.
    """

    host: str = "127.0.0.1"
    port: int = 0
    allow_hosts: frozenset[str] = frozenset()
    kubelet: KubeletSettings | None = KubeletSettings()
    controllers: bool = True
    tokens: Mapping[str, str] = {}
    closed: bool = False
    root_ca: str = ""
    drivers: tuple[DriverForm, ...] = ()
    history: int = HISTORY
    seed: int | None = None


DEFAULT_OPTIONS: Final = Options()


class EmbeddedCluster:
    """A cluster in memory, served over HTTP.

    Use it with ``async with``.

    Args:
        nodes: manifests of nodes to begin with.
        options: what it is like.
        certificates: serve TLS with them.
        audit: gets every request that may change something.

    Attributes:
        store: all objects.
        api: the API without HTTP.
        controller_manager: runs kubelets and controllers.
    """

    def __init__(
        self,
        nodes: Iterable[Obj] = (),
        options: Options = DEFAULT_OPTIONS,
        *,
        certificates: Certificates | None = None,
        audit: Callable[[AuditEvent], None] | None = None,
    ) -> None:
        self._options = options
        self._certificates = certificates
        # Later than all versions of a server that was here before: its clients begin anew.
        self.store = Store(history=options.history, version=int(time.time() * 1000))
        new_id, suffix = _ids(options.seed)
        self.api = Api(
            self.store,
            clock=time.time,
            new_id=new_id,
            suffix=suffix,
            settings=AdmissionSettings(service_accounts=options.controllers),
        )
        self.controller_manager = ControllerManager(
            self.api, options.kubelet, controllers=options.controllers, root_ca=options.root_ca,
            drivers=options.drivers,
        )  # fmt: skip
        self._authenticator = Authenticator(options.tokens, closed=options.closed)
        self._app = App(self.api, self._authenticator, audit=audit)
        self._port = options.port
        self._stack = contextlib.AsyncExitStack()
        self._online = contextlib.AsyncExitStack()
        create_built_in_objects(self.api)
        for driver in options.drivers:
            for device_class in device_classes(driver):
                self.api.create(DEVICE_CLASSES, device_class)
        self.load(nodes)

    @property
    def port(self) -> int:
        """The port, once it is online."""
        return self._port

    @property
    def url(self) -> str:
        """Where it is served, once it is online."""
        scheme = "https" if self._certificates is not None else "http"
        host = self._options.host
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self._port}"

    def token_for(self, user: str) -> str:
        """A token with which a client is this user, for as long as the cluster lives."""
        return self._authenticator.issue(user)

    def load(self, objs: Iterable[Obj]) -> int:
        """Create objects as they are, such as those of a snapshot; how many.

        Status, node and owners are kept: they are what was seen, not what somebody wishes.

        Raises:
            StatusError: something in an object is wrong.
        """
        return sum(1 for obj in objs if self._load(obj))

    async def __aenter__(self) -> Self:
        await self.go_online()
        task = asyncio.ensure_future(self.controller_manager.run())
        self._stack.push_async_callback(_end, task)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.go_offline()
        await self._stack.aclose()

    async def go_online(self) -> None:
        """Listen; a cluster that was online before keeps its port.

        Raises:
            InputError: the address cannot be used.
        """
        sock = listen(self._options.host, self._port)
        self._port = sock.getsockname()[1]
        server = make_server(
            OwnOrigin(self._app, sock, self._options.allow_hosts, body=status_body),
            http=ClientCertificateProtocol,
            certificates=self._certificates,
            keep_alive_seconds=_KEEP_ALIVE_SECONDS,
        )
        self._online.callback(sock.close)
        await self._online.enter_async_context(
            serving(server, sock, self._certificates, abort=True)
        )

    async def go_offline(self) -> None:
        """Close all connections and stop listening; everything stays as it is."""
        await self._online.aclose()

    def _load(self, obj: Obj) -> bool:
        resource = _resource_of(obj)
        if resource is None:
            return False
        self.api.restore(resource, obj)
        return True


async def _end(task: "asyncio.Future[Any]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _resource_of(obj: Obj) -> Resource | None:
    return BY_KIND.get((obj.get("apiVersion", ""), obj.get("kind", "")))


def _ids(seed: int | None) -> tuple[Callable[[], str], Callable[[], str]]:
    """Sources of ids and of the ends of generated names."""
    if seed is None:
        return (
            lambda: str(uuid.uuid4()),
            lambda: "".join(secrets.choice(_LETTERS) for _ in range(5)),
        )
    rng = random.Random(seed)  # noqa: S311 - nothing depends on nobody guessing them
    return (
        lambda: str(uuid.UUID(int=rng.getrandbits(128), version=4)),
        lambda: "".join(rng.choices(_LETTERS, k=5)),
    )
