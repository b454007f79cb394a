"""Requests to one API server.

`reflector` and everything that writes to the cluster call it. It deals in paths and bytes, leaves
types to the caller, and must never let credentials into a log line or an error. One `Client` is
one pool of connections.
"""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import quote

import msgspec

from mooring.errors import KubeError
from mooring.kube.cluster_config import ClusterConfig
from mooring.kube.pod_status import PATCH_PAUSES, PodCondition, is_retriable, status_patch
from mooring.kube.sessions.api_request import (
    DEFAULT_LIMITS,
    AnswerStream,
    ApiRequest,
    ClientLimits,
    Params,
)
from mooring.kube.sessions.session import CONNECTION_ERRORS, Session
from mooring.kube.status import api_error, failure_code, retry_after
from mooring.model.deep_json import decode_deep

T = TypeVar("T")

JSON = "application/json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
MERGE_PATCH = "application/merge-patch+json"

_BUSY_RETRIES = 10
_MULTIPLE_CHOICES = 300
_MOST_ERROR_BYTES = 1 << 20
_UNRESERVED = re.compile(r"[A-Za-z0-9_.~-]*").fullmatch
_LEAST_SECONDS = 0.001  # no time at all would mean no limit


_encode = msgspec.json.Encoder().encode


class _Metadata(msgspec.Struct, omit_defaults=True, gc=False):
    name: str
    namespace: str
    uid: str | None = None
    annotations: Mapping[str, str] | None = None


class _Target(msgspec.Struct, gc=False):
    name: str
    kind: str = "Node"
    api_version: str = msgspec.field(default="v1", name="apiVersion")


class _Binding(msgspec.Struct, gc=False):
    metadata: _Metadata
    target: _Target
    kind: str = "Binding"
    api_version: str = msgspec.field(default="v1", name="apiVersion")


def api_path(*segments: str) -> str:
    """A path from segments, each quoted: ``api_path("api", "v1", "nodes", name)``."""
    return "".join([f"/{quoted(segment)}" for segment in segments])


def quoted(segment: str) -> str:
    """One segment of a path; names of Kubernetes objects have nothing to quote."""
    return segment if _UNRESERVED(segment) is not None else quote(segment, safe="")


class Client:
    """Talks to one API server; use it as an async context manager.

    Args:
        config: which API server, and who we are.
        limits: how long and how much to wait for.
        user_agent: how we name ourselves in the API server's audit log.
        sleep: waits when the API server is busy; tests pass another.
        guard: called with method and path right before a body is sent, whenever that is; it raises
            `KubeError` to stop the request.
    """

    def __init__(
        self,
        config: ClusterConfig,
        *,
        limits: ClientLimits = DEFAULT_LIMITS,
        user_agent: str = "mooring",
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        guard: Callable[[str, str], None] | None = None,
    ) -> None:
        self.config = config
        self._request_seconds = limits.request_seconds
        self._stream_read_seconds = limits.stream_read_seconds
        self._sleep = sleep
        self._session = Session(config, limits, user_agent, guard)

    async def __aenter__(self) -> Self:
        await self._session.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._session.close()

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        body: object = None,
        content_type: str = JSON,
        seconds: float | None = None,
    ) -> bytes:
        """Send one request and return the whole answer.

        Credentials that the API server rejects are renewed once; when it is busy and says how long
        to wait, the request is sent again after that time, within the time limit.

        Args:
            method: ``GET``, ``POST`` and so on.
            path: the path, already quoted; see `api_path`.
            params: the query; it is quoted here.
            body: bytes as they are, or anything that msgspec writes as JSON; None for no body.
            content_type: what the body is.
            seconds: another time limit than the client's.

        Raises:
            ApiError: the API server answered with an error.
            KubeError: it could not be reached, or the connection broke.
        """
        content = body if body is None or isinstance(body, bytes) else msgspec.json.encode(body)
        call = ApiRequest(
            method=method,
            path=path,
            params=params,
            content=content,
            content_type=content_type,
            seconds=seconds,
        )
        clock = time.monotonic
        deadline = clock() + (self._request_seconds if seconds is None else seconds)
        for busy in range(_BUSY_RETRIES + 1):
            reply = await self._session.exchange(call)
            if reply.status < _MULTIPLE_CHOICES:
                return reply.body
            wait = retry_after(reply.status, reply.retry_after)
            if wait is None or wait > deadline - clock() or busy == _BUSY_RETRIES:
                raise api_error(self.config, reply.status, reply.body)
            await self._sleep(wait)
            left = max(deadline - clock(), _LEAST_SECONDS)
            call = msgspec.structs.replace(call, seconds=left)
        raise AssertionError("the last turn of the loop returns or raises")

    async def get(
        self,
        path: str,
        type_: type[T],
        params: Params | None = None,
        *,
        seconds: float | None = None,
    ) -> T:
        """Read one object.

        Raises:
            ApiError: the API server answered with an error.
            KubeError: it could not be reached, or its answer is not of this type.
        """
        answer = await self.request("GET", path, params=params, seconds=seconds)
        return self._typed(path, answer, type_)

    async def create(
        self, path: str, body: object, type_: type[T], *, seconds: float | None = None
    ) -> T:
        """Create an object in the collection at a path and return it as it was stored.

        Args:
            path: the collection, such as that of `resources.collection_path`.
            body: bytes, or anything that msgspec writes as JSON.
            type_: what to make of the answer; `msgspec.Raw` leaves it as it is.
            seconds: another time limit than the client's.

        Raises:
            ApiError: 409 when it exists already, or another rejection.
            KubeError: the API server could not be reached, or its answer is not of this type.
        """
        answer = await self.request("POST", path, body=body, seconds=seconds)
        return self._typed(path, answer, type_)

    async def replace(
        self, path: str, body: object, type_: type[T], *, seconds: float | None = None
    ) -> T:
        """Replace an object by another version of itself and return it as it was stored.

        With a ``metadata.resourceVersion`` in the body, it must not have changed since. The
        arguments are those of `create`, with the path of the object.

        Raises:
            ApiError: 409 when it was changed meanwhile, 404 when it is gone, or another rejection.
            KubeError: the API server could not be reached, or its answer is not of this type.
        """
        answer = await self.request("PUT", path, body=body, seconds=seconds)
        return self._typed(path, answer, type_)

    async def patch(
        self,
        path: str,
        patch: object,
        *,
        content_type: str = MERGE_PATCH,
        seconds: float | None = None,
    ) -> bytes:
        """Patch any object and return it as it is afterwards.

        Args:
            path: the object's, such as that of `resources.object_path`.
            patch: bytes, or anything that msgspec writes as JSON.
            content_type: `STRATEGIC_MERGE_PATCH` or `MERGE_PATCH`.
            seconds: another time limit than the client's.

        Raises:
            ApiError: the API server answered with an error.
            KubeError: it could not be reached.
        """
        return await self.request(
            "PATCH", path, body=patch, content_type=content_type, seconds=seconds
        )

    def _typed(self, path: str, answer: bytes, type_: type[T]) -> T:
        try:
            return decode_deep(lambda data: msgspec.json.decode(data, type=type_), answer)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise KubeError(
                f"The API server {self.config.server} answered {path} with something other "
                f"than a {type_.__name__}: {error}."
            ) from error

    @asynccontextmanager
    async def stream(
        self, path: str, params: Params | None = None, *, silence_seconds: float | None = None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open an answer without an end, such as a watch, and iterate over its bytes as they come.

        The iteration ends when the answer does, and also after a long silence: a watch of a quiet
        resource has nothing to say, but a connection that is dead would say nothing for ever.

        Args:
            path: the path, already quoted.
            params: the query; it is quoted here.
            silence_seconds: how long a silence is that ends it, if not as long as usual.

        Raises:
            ApiError: the API server answered with an error.
            KubeError: it could not be reached, or the connection broke; also from the iteration.
        """
        call = ApiRequest(method="GET", path=path, params=params)
        silence = self._stream_read_seconds if silence_seconds is None else silence_seconds
        async with (
            self._session.stream(call) as answer,
            aclosing(self._chunks(answer, silence)) as chunks,
        ):
            if answer.status >= _MULTIPLE_CHOICES:
                raise api_error(self.config, answer.status, await self._error_body(chunks))
            yield chunks

    async def _error_body(self, chunks: AsyncIterator[bytes]) -> bytes:
        """What an API server says is wrong, as far as it gets to the point."""
        body = bytearray()
        try:
            async with asyncio.timeout(self._request_seconds):
                async for chunk in chunks:
                    body += chunk
                    if len(body) > _MOST_ERROR_BYTES:
                        break
        except TimeoutError:
            pass  # that it is an error is known
        return bytes(body)

    async def _chunks(self, answer: AnswerStream, silence_seconds: float) -> AsyncGenerator[bytes]:
        read = answer.read
        while True:
            try:
                chunk = await read(silence_seconds)
            except CONNECTION_ERRORS as error:
                raise self._session.connection_error(error) from error
            if not chunk:
                return
            yield chunk

    async def bind(
        self,
        namespace: str,
        name: str,
        uid: str | None,
        node: str,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Bind a pod to a node.

        Args:
            namespace: the pod's.
            name: the pod's.
            uid: the pod's; with it, a new pod of the same name is not bound by mistake.
            node: the node's name.
            annotations: annotations the pod gets with the binding.

        Raises:
            ApiError: 409 when the pod is bound already or is another pod, 404 when it is gone.
            KubeError: the API server could not be reached.
        """
        metadata = _Metadata(name, namespace, uid or None, annotations or None)
        body = _encode(_Binding(metadata, _Target(node)))
        answer = await self.request("POST", _pod_path(namespace, name) + "/binding", body=body)
        # The answer has nothing but a Status; a proxy may give one that failed the code of success.
        if (failed := failure_code(answer)) is not None:
            raise api_error(self.config, failed, answer)

    async def patch_pod(
        self,
        namespace: str,
        name: str,
        patch: object,
        *,
        subresource: str = "",
        content_type: str = STRATEGIC_MERGE_PATCH,
    ) -> bytes:
        """Patch a pod and return it as it is afterwards.

        Args:
            namespace: the pod's.
            name: the pod's.
            patch: bytes, or anything that msgspec writes as JSON.
            subresource: such as ``status``.
            content_type: `STRATEGIC_MERGE_PATCH` or `MERGE_PATCH`.

        Raises:
            ApiError: the API server answered with an error.
            KubeError: it could not be reached.
        """
        path = _pod_path(namespace, name)
        if subresource:
            path += api_path(subresource)
        return await self.patch(path, patch, content_type=content_type)

    async def patch_pod_status(
        self,
        namespace: str,
        name: str,
        uid: str | None = None,
        *,
        conditions: Sequence[PodCondition] = (),
        nominated_node: str | None = None,
    ) -> None:
        """Set conditions of a pod, its nominated node, or both; the rest stays as it is.

        What may pass by itself, such as a conflict, is tried again a few times, as kube-scheduler
        does.

        Args:
            namespace: the pod's.
            name: the pod's.
            uid: the pod's; with it, a new pod of the same name is left alone.
            conditions: each replaces the pod's condition of the same type.
            nominated_node: the node's name; empty removes the nomination, None leaves it.

        Raises:
            ApiError: 404 when the pod is gone, 422 when it is another pod, or another rejection.
            KubeError: the API server could not be reached.
        """
        patch = status_patch(uid, conditions, nominated_node)
        for pause in PATCH_PAUSES:
            try:
                await self.patch_pod(namespace, name, patch, subresource="status")
            except KubeError as error:
                if not is_retriable(error):
                    raise
            else:
                return
            await self._sleep(pause)
        await self.patch_pod(namespace, name, patch, subresource="status")

    async def delete_pod(
        self, namespace: str, name: str, uid: str | None, *, grace_seconds: int | None = None
    ) -> None:
        """Delete a pod.

        Args:
            namespace: the pod's.
            name: the pod's.
            uid: the pod's; with it, a new pod of the same name is left alone.
            grace_seconds: how long its containers have to end; None for what the pod says.

        Raises:
            ApiError: 404 when the pod is gone, 409 when it is another pod, or another rejection.
            KubeError: the API server could not be reached.
        """
        options: dict[str, object] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if uid:
            options["preconditions"] = {"uid": uid}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        await self.request("DELETE", _pod_path(namespace, name), body=options)


def _pod_path(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{quoted(namespace)}/pods/{quoted(name)}"
