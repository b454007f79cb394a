"""One extender that our scheduler calls: its address, its TLS, and how its verbs are asked.

`client` decides whom to ask and what an answer means for a decision. Addresses in sentences are
without user names, passwords and queries. An extender that does not answer within its
``httpTimeout``, or answers with anything but status 200, has failed.
"""

import asyncio
import io
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Final, TypeVar

import aiohttp

from mooring.config.types import Extender
from mooring.errors import KubeError
from mooring.extender import client_bodies as bodies
from mooring.extender.address import is_address, one_line, server_of, shown, timeout_seconds, why
from mooring.extender.wire import HostPriority, MetaVictims
from mooring.framework.binding import Binding
from mooring.framework.filtering import Candidate
from mooring.kube.credentials import Credentials
from mooring.kube.transport import Tls, proxy_for
from mooring.model.node import Node
from mooring.model.pod import Pod

T = TypeVar("T")

#: A reply larger than this is an error; 5,000 whole nodes are about 35 MB.
MAX_REPLY_BYTES: Final = 256 << 20
_READ_BUFFER_BYTES: Final = 2**18
#: What a request fails with if its connection does.
CONNECTION_ERRORS: Final = (aiohttp.ClientError, OSError, TimeoutError)


class ExtenderError(KubeError):
    """An extender did not answer, or not as it should; the text is one sentence with its address.

    Attributes:
        url: the extender's address, without credentials.
    """

    def __init__(self, message: str, *, url: str) -> None:
        super().__init__(message)
        self.url = url


def open_session() -> aiohttp.ClientSession:
    """A pool of connections for all extenders; needs a running event loop, close it at the end."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit_per_host=100, keepalive_timeout=30),
        cookie_jar=aiohttp.DummyCookieJar(),
        read_bufsize=_READ_BUFFER_BYTES,
        headers={"User-Agent": "mooring", "Content-Type": "application/json"},
        timeout=aiohttp.ClientTimeout(),  # each extender has its own
    )


class HttpExtender:
    """One extender, as kube-scheduler's ``HTTPExtender``.

    Args:
        settings: the extender, as the configuration has it.
        http: the pool of connections.
        max_reply: the largest reply in bytes.

    Raises:
        InputError: its TLS settings cannot be used.

    Attributes:
        settings: as given.
        name: its address, without credentials.
    """

    def __init__(
        self,
        settings: Extender,
        http: aiohttp.ClientSession,
        *,
        max_reply: int = MAX_REPLY_BYTES,
    ) -> None:
        self.settings = settings
        self.name = shown(settings.url_prefix)
        self._http = http
        self._max_reply = max_reply
        self._resources = frozenset(one.name for one in settings.managed_resources)
        self._seconds = timeout_seconds(settings)
        self._server = server_of(settings)
        # A broken address is reported with each question: an ignorable extender may have one.
        self._reachable = is_address(settings.url_prefix)
        self._proxy = proxy_for(self._server) if self._reachable else None
        self._tls = Tls(self._server) if self._reachable and self._server.secure else None
        if self._tls is not None:
            self._tls.context(Credentials())

    def interested(self, pod: Pod) -> bool:
        """Whether the extender takes part in decisions about a pod."""
        # parity v1.36.4: extender.go IsInterested
        if not self._resources:
            return True
        for container in (*(pod.spec.containers or ()), *(pod.spec.init_containers or ())):
            asked = container.resources
            if asked is not None and not (
                self._resources.isdisjoint(asked.requests or ())
                and self._resources.isdisjoint(asked.limits or ())
            ):
                return True
        return False

    async def filter(self, pod: Pod, nodes: Sequence[Node]) -> bodies.FilterReply:
        """Ask which of the nodes remain.

        Raises:
            ExtenderError: there is no usable answer.
        """
        names_only = self.settings.node_cache_capable
        verb = self.settings.filter_verb
        body = bodies.question(pod, nodes, names_only=names_only)
        reply = self._read(
            verb,
            lambda answer: bodies.read_filter(answer, names_only=names_only),
            await self._send(verb, body),
        )
        if reply.error:
            raise self.error(f"extender {self.name} failed {verb}: {one_line(reply.error)}")
        known = {node.name for node in nodes}
        for name in reply.kept:
            if name not in known:
                raise self.error(
                    f'extender "{self.name}" claims a filtered node "{name}" which is not found '
                    f"in the input node list"
                )
        return reply

    async def prioritize(self, pod: Pod, nodes: Sequence[Node]) -> list[HostPriority]:
        """Ask for the nodes' scores from 0 to 10, not weighted yet.

        Raises:
            ExtenderError: there is no usable answer.
        """
        verb = self.settings.prioritize_verb
        body = bodies.question(pod, nodes, names_only=self.settings.node_cache_capable)
        return self._read(verb, bodies.read_scores, await self._send(verb, body))

    async def preempt(
        self, pod: Pod, candidates: Mapping[str, Candidate]
    ) -> dict[str, MetaVictims]:
        """Ask which of the nodes remain for preemption, and with which victims, by id.

        Raises:
            ExtenderError: there is no usable answer.
        """
        verb = self.settings.preempt_verb
        body = bodies.preemption(pod, candidates, ids_only=self.settings.node_cache_capable)
        return self._read(verb, bodies.read_victims, await self._send(verb, body))

    async def bind(self, binding: Binding) -> None:
        """Let the extender bind a pod; it does not get annotations, the wire has no place.

        Raises:
            ExtenderError: it did not, or nobody knows whether it did.
        """
        verb = self.settings.bind_verb
        answer = await self._send(verb, bodies.binding(binding), repeat=False)
        problem = self._read(verb, bodies.read_bind_error, answer)
        if problem:
            raise self.error(f"extender {self.name} failed {verb}: {one_line(problem)}")

    def error(self, sentence: str) -> ExtenderError:
        """The error for something the extender did wrong."""
        return ExtenderError(sentence, url=self.name)

    def _read(self, verb: str, read: Callable[[bytes], T], answer: bytes) -> T:
        try:
            return read(answer)
        except bodies.UNREADABLE as error:
            raise self.error(
                f"extender {self.name} answered {verb} with an invalid body: {error}"
            ) from error

    async def _send(self, verb: str, body: bytes, *, repeat: bool = True) -> bytes:
        """Post a body and return the answer's; a question may be asked again, a bind must not."""
        if not self._reachable:
            raise self.error(
                f"extender {self.name} failed {verb}: its urlPrefix is not a valid URL; use "
                "for example http://127.0.0.1:8888"
            )
        try:
            async with asyncio.timeout(self._seconds):
                try:
                    return await self._post(verb, body)
                except CONNECTION_ERRORS as error:
                    if not repeat or not _stale(error):
                        raise
                    return await self._post(verb, body)
        except TimeoutError as error:
            raise self.error(
                f"extender {self.name} did not answer {verb} within {self._seconds:g}s"
            ) from error
        except CONNECTION_ERRORS as error:
            if self._tls is not None:
                self._tls.forget()  # its files may have been replaced since
            raise self.error(f"extender {self.name} failed {verb}: {why(error)}") from error

    async def _post(self, verb: str, body: bytes) -> bytes:
        url = f"{self.settings.url_prefix.rstrip('/')}/{verb}"
        async with self._http.post(
            url,
            data=io.BytesIO(body),
            proxy=self._proxy,
            ssl=True if self._tls is None else self._tls.context(Credentials()),
            server_hostname=self._server.tls_server_name or None,
        ) as response:
            if response.status != HTTPStatus.OK:
                said = one_line((await self._whole(response, 4096)).decode(errors="replace"))
                raise self.error(
                    f"failed {verb} with extender at URL {self.name.rstrip('/')}/{verb}, "
                    f"code {response.status}{f': {said}' if said else ''}"
                )
            answer = await self._whole(response, self._max_reply + 1)
            if len(answer) > self._max_reply:
                raise self.error(
                    f"extender {self.name} answered {verb} with more than {self._max_reply} bytes"
                )
            return answer

    async def _whole(self, response: aiohttp.ClientResponse, most: int) -> bytes:
        """The answer, cut off at so many bytes; the connection is not used again then."""
        chunks = []
        left = most
        async for chunk in response.content.iter_any():
            chunks.append(chunk[:left])
            left -= len(chunk)
            if left <= 0:
                response.close()
                break
        return b"".join(chunks)


def _stale(error: Exception) -> bool:
    """Whether this happens to a connection that the other side closed while it was idle."""
    if isinstance(error, aiohttp.ClientConnectorError):
        return False
    return isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError)
