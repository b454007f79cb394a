"""The API over HTTP: an ASGI application.

Reads a request, asks `Api` and writes the answer in the form that the client wants; streams
watches. Who the client is, is settled before anything else. Started by `server`.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from http import HTTPStatus
from typing import Any, Final

import msgspec

from mooring.embedded import pod_subresources, scale_subresource
from mooring.embedded.api import Api, Validation, WriteOptions
from mooring.embedded.http.audit import AuditEvent
from mooring.embedded.http.authentication import Authenticator
from mooring.embedded.http.discovery import AGGREGATED, discovery_document
from mooring.embedded.http.lists import read_page, read_selection
from mooring.embedded.http.openapi import (
    V2_PROTOBUF,
    V2_PROTOBUF_ANSWER,
    openapi_bytes,
    openapi_v2_protobuf,
)
from mooring.embedded.http.representations import Representation
from mooring.embedded.http.request_bodies import read_document, read_object, read_options
from mooring.embedded.http.request_info import QueryParameters, RequestInfo, parse_path
from mooring.embedded.http.reviews import review
from mooring.embedded.http.watches import ChangeSignals, Watch
from mooring.embedded.patches.patch import TYPES, Patch
from mooring.embedded.resources import BINDINGS, ENDPOINTS, SCALES, SERVICE_ACCOUNTS, Obj
from mooring.embedded.status_errors import (
    StatusError,
    bad_request,
    method_not_supported,
    request_entity_too_large,
    unknown_path,
    unsupported_media_type,
)
from mooring.embedded.stored_object import StoredObject

log = logging.getLogger("mooring.embedded")

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

#: The largest body a client may send, as a real API server has it.
MAX_BODY: Final = 3 * 1024 * 1024
_JSON: Final = b"application/json"
_encode = msgspec.json.Encoder().encode
_REVIEWS: Final = ("/apis/authorization.k8s.io/v1/", "/apis/authentication.k8s.io/v1/")
_HEALTH: Final = ("/healthz", "/livez", "/readyz")
_VALIDATIONS: Final[Mapping[str, Validation]] = {
    "": "Warn", "Ignore": "Ignore", "Warn": "Warn", "Strict": "Strict",
}  # fmt: skip
_TOO_DEEP: Final = bad_request("the body of the request is nested too deeply")
_BROKEN: Final = StatusError(500, "InternalError", "Internal error occurred: see the server's log")
_ENDPOINTS: Final = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
_NO_CONTAINERS: Final = ("log", "exec", "attach", "portforward", "proxy", "ephemeralcontainers")
#: These answer a deletion with the object, others with a Status.
_RETURNED_BY_DELETE: Final = frozenset(
    {"pods", "services", "persistentvolumes", "persistentvolumeclaims", "serviceaccounts",
     "podtemplates", "resourcequotas"}
)  # fmt: skip


class Response(msgspec.Struct):
    """What is sent back.

    Attributes:
        code: the HTTP status.
        body: the content.
        content_type: of what type.
        warnings: for the client's user.
    """

    code: int
    body: bytes
    content_type: bytes = _JSON
    warnings: list[str] = []


class Request:
    """A request, as far as it is read."""

    __slots__ = ("body", "headers", "method", "path", "query", "received", "user")

    def __init__(self, scope: Scope, body: bytes, user: str) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["raw_path"].decode("latin-1").partition("?")[0]
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.query = QueryParameters(scope["query_string"])
        self.body = body
        self.user = user
        self.received = 0.0

    def header(self, name: bytes) -> str:
        """A header; empty if it is not there."""
        return self.headers.get(name, b"").decode("latin-1")

    @property
    def manager(self) -> str:
        """On whose behalf fields are set."""
        given = self.query.text("fieldManager")
        return given or self.header(b"user-agent").partition("/")[0] or "unknown"


class App:
    """The application.

    Args:
        api: what it serves.
        authenticator: who may ask.
        audit: gets every request that may change something.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        api: Api,
        authenticator: Authenticator,
        *,
        audit: Callable[[AuditEvent], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api = api
        self._authenticator = authenticator
        self._audit = audit
        self._clock = clock
        self._signals = ChangeSignals(api.store)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        received = self._api.now
        try:
            body = await _read(receive)
            user = self._authenticator.user(scope)
            request = Request(scope, body, user)
            request.received = received
            if request.method == "GET":
                watch = self._find_watch(request)
                if watch is not None:
                    await _stream(watch, receive, send)
                    return
            response = self._respond(request)
        except StatusError as error:
            response = Response(error.code, _encode(error.status))
        except RecursionError:
            response = Response(400, _encode(_TOO_DEEP.status))
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            response = Response(500, _encode(_BROKEN.status))
        await _write(response, send)

    # -- requests

    def _respond(self, request: Request) -> Response:
        info = parse_path(request.path)
        if info is None:
            return self._serve_other(request)
        response = self._serve_resource(info, request)
        if info.resource is ENDPOINTS:
            response.warnings = [_ENDPOINTS, *response.warnings]
        return response

    def _serve_resource(self, info: RequestInfo, request: Request) -> Response:
        if request.method in ("GET", "HEAD"):
            return self._read(info, request)
        verb = self._verb(info, request)
        code = 500
        try:
            response = self._write_resource(verb, info, request)
            code = response.code
        except StatusError as error:
            code = error.code
            raise
        finally:
            if self._audit is not None:
                self._audit(self._audit_event(verb, info, request, code))
        return response

    def _verb(self, info: RequestInfo, request: Request) -> str:
        verbs = {"POST": "create", "PUT": "update", "PATCH": "patch"}
        verb = verbs.get(request.method, "")
        if request.method == "DELETE":
            verb = "delete" if info.name else "deletecollection"
        named = verb in ("update", "patch", "delete")
        creates_under = info.subresource in ("binding", "eviction", "token")
        if (
            not verb
            or (verb not in info.resource.verbs and not creates_under)
            or named != bool(info.name and not creates_under)
            or (verb == "create" and info.resource.namespaced and not info.namespace)
            or (info.subresource and verb in ("delete", "deletecollection"))
        ):
            raise method_not_supported(info.resource)
        return verb

    def _write_resource(self, verb: str, info: RequestInfo, request: Request) -> Response:
        if verb == "create":
            return self._create(info, request)
        if verb == "update":
            return self._update(info, request)
        if verb == "patch":
            return self._patch(info, request)
        if verb == "delete":
            return self._delete(info, request)
        return self._delete_collection(info, request)

    # -- reading

    def _representation(self, info: RequestInfo, request: Request) -> Representation:
        return Representation(
            info.resource,
            request.header(b"accept"),
            request.query.text("includeObject"),
            lambda: self._api.now,
        )

    def _read(self, info: RequestInfo, request: Request) -> Response:
        resource = info.resource
        representation = self._representation(info, request)
        if info.name:
            if "get" not in resource.verbs or info.subresource in (
                "binding",
                "eviction",
                "token",
            ):
                raise method_not_supported(resource)
            item = self._api.get(resource, info.namespace, info.name)
            if info.subresource == "scale":
                scale = scale_subresource.scale_of(resource, item.obj)
                representation = self._representation(RequestInfo(SCALES), request)
                return Response(
                    200, representation.encode_object(StoredObject(SCALES, scale, item.version, ""))
                )
            return Response(200, representation.encode_object(item))
        if "list" not in resource.verbs:
            raise method_not_supported(resource)
        selection = read_selection(info, request.query)
        return Response(
            200, representation.encode_list(read_page(self._api.store, selection, request.query))
        )

    def _find_watch(self, request: Request) -> Watch | None:
        if not request.query.flag("watch"):
            return None
        info = parse_path(request.path)
        if info is None or info.subresource:
            return None
        if info.name:
            raise bad_request("watch of one object: use a field selector on metadata.name")
        if "watch" not in info.resource.verbs:
            raise method_not_supported(info.resource)
        selection = read_selection(info, request.query)
        representation = self._representation(info, request)
        return Watch(
            self._api.store, self._signals, selection, request.query, representation, self._clock
        )

    # -- writing

    def _write_options(self, request: Request) -> WriteOptions:
        query = request.query
        dry_run = query.text("dryRun")
        if dry_run not in ("", "All"):
            raise bad_request(
                f'dryRun: Unsupported value: "{dry_run[:40]}": supported values: "All"'
            )
        validation = _VALIDATIONS.get(query.text("fieldValidation"))
        if validation is None:
            raise bad_request(
                "fieldValidation: Unsupported value: supported values: Ignore, Warn, Strict"
            )
        return WriteOptions(
            field_manager=request.manager,
            dry_run=bool(dry_run),
            validation=validation,
            force=query.flag("force"),
        )

    def _written(
        self, info: RequestInfo, request: Request, item: StoredObject, code: int
    ) -> Response:
        body = self._representation(info, request).encode_object(item)
        return Response(code, body, warnings=self._api.warnings)

    def _create(self, info: RequestInfo, request: Request) -> Response:
        write = self._write_options(request)
        resource, namespace = info.resource, info.namespace
        obj = read_object(request.body, request.header(b"content-type"), resource, info.subresource)
        if info.subresource == "binding" or resource is BINDINGS:
            pod_subresources.bind(self._api, namespace, info.name, obj, dry_run=write.dry_run)
            return Response(201, _encode({**pod_subresources.SUCCESS, "code": 201}))
        if info.subresource == "eviction":
            pod_subresources.evict(self._api, namespace, info.name, obj, dry_run=write.dry_run)
            return Response(201, _encode({**pod_subresources.SUCCESS, "code": 201}))
        if info.subresource == "token":
            self._api.get(SERVICE_ACCOUNTS, namespace, info.name)
            user = f"system:serviceaccount:{namespace}:{info.name}"
            token = self._authenticator.issue(user)
            seconds = (obj.get("spec") or {}).get("expirationSeconds") or 3600
            obj["status"] = {"token": token, "expirationTimestamp": self._api.timestamp(seconds)}
            return Response(201, _encode(obj))
        return self._written(info, request, self._api.create(resource, obj, namespace, write), 201)

    def _update(self, info: RequestInfo, request: Request) -> Response:
        write = self._write_options(request)
        obj = read_object(
            request.body, request.header(b"content-type"), info.resource, info.subresource
        )
        existed = self._api.store.get(info.resource, info.namespace, info.name) is not None
        item = self._api.update(
            info.resource, obj, info.namespace, info.name,
            subresource=info.subresource, write=write,
        )  # fmt: skip
        if info.subresource == "scale":
            return Response(200, _encode(scale_subresource.scale_of(info.resource, item.obj)))
        return self._written(info, request, item, 200 if existed else 201)

    def _patch(self, info: RequestInfo, request: Request) -> Response:
        write = self._write_options(request)
        kind = request.header(b"content-type").partition(";")[0].strip().lower()
        if kind not in TYPES:
            raise unsupported_media_type(TYPES)
        item, new = self._api.patch(
            info.resource, info.namespace, info.name, Patch(kind, request.body),
            subresource=info.subresource, write=write,
        )  # fmt: skip
        if info.subresource == "scale":
            return Response(200, _encode(scale_subresource.scale_of(info.resource, item.obj)))
        return self._written(info, request, item, 201 if new else 200)

    def _delete_options(self, request: Request) -> Obj:
        options = read_options(request.body, request.header(b"content-type"))
        query = request.query
        if query.given("gracePeriodSeconds"):
            options["gracePeriodSeconds"] = query.number("gracePeriodSeconds")
        if query.given("propagationPolicy"):
            options["propagationPolicy"] = query.text("propagationPolicy")
        if query.text("dryRun"):
            options["dryRun"] = ["All"]
        return options

    def _delete(self, info: RequestInfo, request: Request) -> Response:
        resource = info.resource
        item, gone = self._api.delete(
            resource, info.namespace, info.name, self._delete_options(request)
        )
        if not gone or resource.plural in _RETURNED_BY_DELETE:
            return Response(200, self._representation(info, request).encode_object(item))
        details = {"name": item.name, "kind": resource.plural, "uid": item.uid}
        if resource.group:
            details["group"] = resource.group
        return Response(200, _encode({**pod_subresources.SUCCESS, "details": details}))

    def _delete_collection(self, info: RequestInfo, request: Request) -> Response:
        selection = read_selection(info, request.query)
        page = read_page(self._api.store, selection, request.query)
        options = self._delete_options(request)
        for item in page.items:
            self._api.delete(info.resource, item.namespace, item.name, options)
        return Response(200, self._representation(info, request).encode_list(page))

    # -- what is not a resource

    def _serve_other(self, request: Request) -> Response:
        path = request.path.rstrip("/") or "/"
        if path.startswith(_REVIEWS) and request.method == "POST":
            found = review(
                path.rpartition("/")[2],
                read_document(request.body, request.header(b"content-type")),
                request.user,
            )
            if found is not None:
                return Response(201, _encode(found))
        parts = path.split("/")
        if parts[-1] in _NO_CONTAINERS and parts[-3:-2] == ["pods"]:
            raise StatusError(
                501,
                "NotImplemented",
                f"pods/{parts[-1]} is not supported: an embedded cluster runs no containers",
            )
        if request.method not in ("GET", "HEAD"):
            raise unknown_path()
        if path.startswith(_HEALTH):
            return Response(200, b"ok", b"text/plain; charset=utf-8")
        if path.startswith("/openapi/"):
            if path == "/openapi/v2" and V2_PROTOBUF in request.header(b"accept"):
                return Response(200, openapi_v2_protobuf(), V2_PROTOBUF_ANSWER.encode())
            content = openapi_bytes(path)
            if content is not None:
                return Response(200, content)
        aggregated = AGGREGATED in request.header(b"accept").replace(" ", "")
        document = discovery_document(path, aggregated)
        if document is None:
            raise unknown_path()
        kind = _JSON
        if document.get("kind") == "APIGroupDiscoveryList":
            kind = AGGREGATED.encode()
        return Response(200, _encode(document), kind)

    def _audit_event(self, verb: str, info: RequestInfo, request: Request, code: int) -> AuditEvent:
        return AuditEvent(
            user=request.user, verb=verb, group=info.resource.group,
            resource=info.resource.plural, subresource=info.subresource,
            namespace=info.namespace, name=info.name, code=code, received=request.received,
            completed=self._api.now, body=request.body,
        )  # fmt: skip


async def _read(receive: Receive) -> bytes:
    """The whole body.

    Raises:
        StatusError: it is larger than anybody should send.
    """
    body = b""
    while True:
        message = await receive()
        piece: bytes = message.get("body", b"")
        body += piece
        if len(body) > MAX_BODY:
            raise request_entity_too_large(MAX_BODY)
        if not message.get("more_body"):
            return body


async def _write(response: Response, send: Send) -> None:
    headers = [
        (b"content-type", response.content_type),
        (b"content-length", str(len(response.body)).encode()),
    ]
    for text in response.warnings:
        escaped = text.replace("\\", "\\\\").replace('"', '\\"').encode("utf-8", "replace")
        headers.append((b"warning", b'299 - "%b"' % escaped))
    await send({"type": "http.response.start", "status": response.code, "headers": headers})
    await send({"type": "http.response.body", "body": response.body})


async def _stream(watch: Watch, receive: Receive, send: Send) -> None:
    """Send what a watch has to say until it ends or the client is gone."""
    headers = [(b"content-type", _JSON), (b"cache-control", b"no-cache, private")]
    await send({"type": "http.response.start", "status": HTTPStatus.OK, "headers": headers})
    # Headers go out with the first piece; a watch may have nothing to say for long.
    await send({"type": "http.response.body", "body": b"", "more_body": True})
    sending = asyncio.ensure_future(_send_events(watch, send))
    gone = asyncio.ensure_future(receive())
    try:
        await asyncio.wait({sending, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (sending, gone):
            task.cancel()
        await asyncio.gather(sending, gone, return_exceptions=True)
    if sending.done() and not sending.cancelled():
        sending.result()


async def _send_events(watch: Watch, send: Send) -> None:
    async for piece in watch.lines():
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})
