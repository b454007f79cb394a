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

from mooring.embedded import pods, scaling
from mooring.embedded.api import Api, Caller, Validation, Write
from mooring.embedded.http.audit import Asked
from mooring.embedded.http.bodies import read_document, read_object, read_options
from mooring.embedded.http.discovery import AGGREGATED, discovery_document
from mooring.embedded.http.identity import Identity
from mooring.embedded.http.listing import read_page, read_selection
from mooring.embedded.http.openapi import (
    V2_PROTOBUF,
    V2_PROTOBUF_ANSWER,
    openapi_bytes,
    openapi_v2_protobuf,
)
from mooring.embedded.http.reviews import review
from mooring.embedded.http.routing import Query, Target, find_target
from mooring.embedded.http.showing import View
from mooring.embedded.http.watching import Signals, Watch
from mooring.embedded.patches.patching import TYPES, Patch
from mooring.embedded.refusals import (
    Refused,
    bad_request,
    method_not_allowed,
    too_large,
    unknown_path,
    unsupported_media_type,
)
from mooring.embedded.resources import BINDINGS, ENDPOINTS, SCALES, SERVICE_ACCOUNTS, Obj
from mooring.embedded.store import Item

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
_BROKEN: Final = Refused(500, "InternalError", "Internal error occurred: see the server's log")
_ENDPOINTS: Final = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
_NO_CONTAINERS: Final = ("log", "exec", "attach", "portforward", "proxy", "ephemeralcontainers")
#: These answer a deletion with the object, others with a Status.
_SHOWN_AT_THE_END: Final = frozenset(
    {"pods", "services", "persistentvolumes", "persistentvolumeclaims", "serviceaccounts",
     "podtemplates", "resourcequotas"}
)  # fmt: skip


class Answer(msgspec.Struct):
    """What is sent back.

    Attributes:
        code: the HTTP status.
        body: the content.
        content_type: of what type.
        warnings: what the client should tell its user.
    """

    code: int
    body: bytes
    content_type: bytes = _JSON
    warnings: list[str] = []


class Request:
    """A request, as far as anybody looks at it."""

    __slots__ = ("body", "came", "headers", "method", "path", "query", "user")

    def __init__(self, scope: Scope, body: bytes, user: str) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["raw_path"].decode("latin-1").partition("?")[0]
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.query = Query(scope["query_string"])
        self.body = body
        self.user = user
        self.came = 0.0

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
        identity: who may ask.
        audit: is told of every request that may change something.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        api: Api,
        identity: Identity,
        *,
        audit: Callable[[Asked], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api = api
        self._identity = identity
        self._audit = audit
        self._clock = clock
        self._signals = Signals(api.store)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        came = self._api.now
        try:
            body = await _read(receive)
            user = self._identity.user(scope)
            request = Request(scope, body, user)
            request.came = came
            if request.method == "GET":
                watch = self._find_watch(request)
                if watch is not None:
                    await _stream(watch, receive, send)
                    return
            answer = self._answer(request)
        except Refused as refusal:
            answer = Answer(refusal.code, _encode(refusal.status))
        except RecursionError:
            answer = Answer(400, _encode(_TOO_DEEP.status))
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            answer = Answer(500, _encode(_BROKEN.status))
        await _write(answer, send)

    # -- what is asked

    def _answer(self, request: Request) -> Answer:
        target = find_target(request.path)
        if target is None:
            return self._other(request)
        answer = self._about(target, request)
        if target.resource is ENDPOINTS:
            answer.warnings = [_ENDPOINTS, *answer.warnings]
        return answer

    def _about(self, target: Target, request: Request) -> Answer:
        if request.method in ("GET", "HEAD"):
            return self._read(target, request)
        verb = self._verb(target, request)
        code = 500
        try:
            answer = self._do(verb, target, request)
            code = answer.code
        except Refused as refusal:
            code = refusal.code
            raise
        finally:
            if self._audit is not None:
                self._audit(self._asked(verb, target, request, code))
        return answer

    def _verb(self, target: Target, request: Request) -> str:
        verbs = {"POST": "create", "PUT": "update", "PATCH": "patch"}
        verb = verbs.get(request.method, "")
        if request.method == "DELETE":
            verb = "delete" if target.name else "deletecollection"
        named = verb in ("update", "patch", "delete")
        creates_under = target.subresource in ("binding", "eviction", "token")
        if (
            not verb
            or (verb not in target.resource.verbs and not creates_under)
            or named != bool(target.name and not creates_under)
            or (verb == "create" and target.resource.namespaced and not target.namespace)
            or (target.subresource and verb in ("delete", "deletecollection"))
        ):
            raise method_not_allowed(target.resource)
        return verb

    def _do(self, verb: str, target: Target, request: Request) -> Answer:
        if verb == "create":
            return self._create(target, request)
        if verb == "update":
            return self._update(target, request)
        if verb == "patch":
            return self._patch(target, request)
        if verb == "delete":
            return self._delete(target, request)
        return self._delete_all(target, request)

    # -- reading

    def _view(self, target: Target, request: Request) -> View:
        return View(
            target.resource,
            request.header(b"accept"),
            request.query.text("includeObject"),
            lambda: self._api.now,
        )

    def _read(self, target: Target, request: Request) -> Answer:
        resource = target.resource
        view = self._view(target, request)
        if target.name:
            if "get" not in resource.verbs or target.subresource in (
                "binding",
                "eviction",
                "token",
            ):
                raise method_not_allowed(resource)
            item = self._api.get(resource, target.namespace, target.name)
            if target.subresource == "scale":
                scale = scaling.scale_of(resource, item.obj)
                view = self._view(Target(SCALES), request)
                return Answer(200, view.one(Item(SCALES, scale, item.version, "")))
            return Answer(200, view.one(item))
        if "list" not in resource.verbs:
            raise method_not_allowed(resource)
        selection = read_selection(target, request.query)
        return Answer(200, view.page(read_page(self._api.store, selection, request.query)))

    def _find_watch(self, request: Request) -> Watch | None:
        if not request.query.flag("watch"):
            return None
        target = find_target(request.path)
        if target is None or target.subresource:
            return None
        if target.name:
            raise bad_request("watch of one object: use a field selector on metadata.name")
        if "watch" not in target.resource.verbs:
            raise method_not_allowed(target.resource)
        selection = read_selection(target, request.query)
        view = self._view(target, request)
        return Watch(self._api.store, self._signals, selection, request.query, view, self._clock)

    # -- writing

    def _write_options(self, request: Request) -> Write:
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
        return Write(
            caller=Caller(request.user, request.manager),
            dry_run=bool(dry_run),
            validation=validation,
            force=query.flag("force"),
        )

    def _done(self, target: Target, request: Request, item: Item, code: int) -> Answer:
        body = self._view(target, request).one(item)
        return Answer(code, body, warnings=self._api.warnings)

    def _create(self, target: Target, request: Request) -> Answer:
        write = self._write_options(request)
        resource, namespace = target.resource, target.namespace
        obj = read_object(
            request.body, request.header(b"content-type"), resource, target.subresource
        )
        if target.subresource == "binding" or resource is BINDINGS:
            pods.bind(self._api, namespace, target.name, obj, dry_run=write.dry_run)
            return Answer(201, _encode({**pods.SUCCESS, "code": 201}))
        if target.subresource == "eviction":
            pods.evict(self._api, namespace, target.name, obj, dry_run=write.dry_run)
            return Answer(201, _encode({**pods.SUCCESS, "code": 201}))
        if target.subresource == "token":
            self._api.get(SERVICE_ACCOUNTS, namespace, target.name)
            user = f"system:serviceaccount:{namespace}:{target.name}"
            token = self._identity.issue(user)
            seconds = (obj.get("spec") or {}).get("expirationSeconds") or 3600
            obj["status"] = {"token": token, "expirationTimestamp": self._api.timestamp(seconds)}
            return Answer(201, _encode(obj))
        return self._done(target, request, self._api.create(resource, obj, namespace, write), 201)

    def _update(self, target: Target, request: Request) -> Answer:
        write = self._write_options(request)
        obj = read_object(
            request.body, request.header(b"content-type"), target.resource, target.subresource
        )
        existed = self._api.store.get(target.resource, target.namespace, target.name) is not None
        item = self._api.update(
            target.resource, obj, target.namespace, target.name,
            subresource=target.subresource, write=write,
        )  # fmt: skip
        if target.subresource == "scale":
            return Answer(200, _encode(scaling.scale_of(target.resource, item.obj)))
        return self._done(target, request, item, 200 if existed else 201)

    def _patch(self, target: Target, request: Request) -> Answer:
        write = self._write_options(request)
        kind = request.header(b"content-type").partition(";")[0].strip().lower()
        if kind not in TYPES:
            raise unsupported_media_type(TYPES)
        item, new = self._api.patch(
            target.resource, target.namespace, target.name, Patch(kind, request.body),
            subresource=target.subresource, write=write,
        )  # fmt: skip
        if target.subresource == "scale":
            return Answer(200, _encode(scaling.scale_of(target.resource, item.obj)))
        return self._done(target, request, item, 201 if new else 200)

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

    def _delete(self, target: Target, request: Request) -> Answer:
        resource = target.resource
        item, gone = self._api.delete(
            resource, target.namespace, target.name, self._delete_options(request)
        )
        if not gone or resource.plural in _SHOWN_AT_THE_END:
            return Answer(200, self._view(target, request).one(item))
        details = {"name": item.name, "kind": resource.plural, "uid": item.uid}
        if resource.group:
            details["group"] = resource.group
        return Answer(200, _encode({**pods.SUCCESS, "details": details}))

    def _delete_all(self, target: Target, request: Request) -> Answer:
        selection = read_selection(target, request.query)
        page = read_page(self._api.store, selection, request.query)
        options = self._delete_options(request)
        for item in page.items:
            self._api.delete(target.resource, item.namespace, item.name, options)
        return Answer(200, self._view(target, request).page(page))

    # -- what is no resource

    def _other(self, request: Request) -> Answer:
        path = request.path.rstrip("/") or "/"
        if path.startswith(_REVIEWS) and request.method == "POST":
            found = review(
                path.rpartition("/")[2],
                read_document(request.body, request.header(b"content-type")),
                request.user,
            )
            if found is not None:
                return Answer(201, _encode(found))
        parts = path.split("/")
        if parts[-1] in _NO_CONTAINERS and parts[-3:-2] == ["pods"]:
            raise Refused(
                501,
                "NotImplemented",
                f"{parts[-1]} is not possible: nodes of an embedded cluster run no containers",
            )
        if request.method not in ("GET", "HEAD"):
            raise unknown_path()
        if path.startswith(_HEALTH):
            return Answer(200, b"ok", b"text/plain; charset=utf-8")
        if path.startswith("/openapi/"):
            if path == "/openapi/v2" and V2_PROTOBUF in request.header(b"accept"):
                return Answer(200, openapi_v2_protobuf(), V2_PROTOBUF_ANSWER.encode())
            content = openapi_bytes(path)
            if content is not None:
                return Answer(200, content)
        aggregated = AGGREGATED in request.header(b"accept").replace(" ", "")
        document = discovery_document(path, aggregated)
        if document is None:
            raise unknown_path()
        kind = _JSON
        if document.get("kind") == "APIGroupDiscoveryList":
            kind = AGGREGATED.encode()
        return Answer(200, _encode(document), kind)

    def _asked(self, verb: str, target: Target, request: Request, code: int) -> Asked:
        return Asked(
            user=request.user, verb=verb, group=target.resource.group,
            resource=target.resource.plural, subresource=target.subresource,
            namespace=target.namespace, name=target.name, code=code, came=request.came,
            went=self._api.now, body=request.body,
        )  # fmt: skip


async def _read(receive: Receive) -> bytes:
    """The whole body.

    Raises:
        Refused: it is larger than anybody should send.
    """
    body = b""
    while True:
        message = await receive()
        piece: bytes = message.get("body", b"")
        body += piece
        if len(body) > MAX_BODY:
            raise too_large(MAX_BODY)
        if not message.get("more_body"):
            return body


async def _write(answer: Answer, send: Send) -> None:
    headers = [
        (b"content-type", answer.content_type),
        (b"content-length", str(len(answer.body)).encode()),
    ]
    for text in answer.warnings:
        told = text.replace("\\", "\\\\").replace('"', '\\"').encode("utf-8", "replace")
        headers.append((b"warning", b'299 - "%b"' % told))
    await send({"type": "http.response.start", "status": answer.code, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


async def _stream(watch: Watch, receive: Receive, send: Send) -> None:
    """Send what a watch has to say until it ends or the client is gone."""
    headers = [(b"content-type", _JSON), (b"cache-control", b"no-cache, private")]
    await send({"type": "http.response.start", "status": HTTPStatus.OK, "headers": headers})
    # Headers go out with the first piece; a watch may have nothing to say for long.
    await send({"type": "http.response.body", "body": b"", "more_body": True})
    telling = asyncio.ensure_future(_tell(watch, send))
    gone = asyncio.ensure_future(receive())
    try:
        await asyncio.wait({telling, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (telling, gone):
            task.cancel()
        await asyncio.gather(telling, gone, return_exceptions=True)
    if telling.done() and not telling.cancelled():
        telling.result()


async def _tell(watch: Watch, send: Send) -> None:
    async for piece in watch.lines():
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})
