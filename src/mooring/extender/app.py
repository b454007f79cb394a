"""The ASGI application: routes, limits, errors, health, metrics.

Turns HTTP requests into questions for the `ExtenderService` and its answers into replies. Filter
and bind have an error field, so their errors are replies with status 200, which kube-scheduler
shows in the pod's event; prioritize and preempt have none, so theirs are a JSON error with status
400, or 503 if there was no time or room for the question. Of a status other than 200 kube-scheduler
reads nothing but the number.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from mooring.errors import InputError, MooringError, PolicyError
from mooring.extender.decision_turn import NotDecided, WaitingCaller
from mooring.extender.service import ExtenderService
from mooring.extender.wire import ExtenderBindingResult, ExtenderFilterResult
from mooring.framework.hook_answers import shortened
from mooring.framework.rules import ScoreRule
from mooring.http.limited_connections import LimitedRequests, memory_of
from mooring.http.load_limits import LoadLimits, RequestMemory
from mooring.log_kinds import once
from mooring.version import __version__

log = logging.getLogger("mooring.extender")

DEFAULT_MAX_BODY: Final = 256 << 20
DEFAULT_MAX_HELD: Final = 512 << 20
#: A call that took this part of the caller's timeout is worth a warning.
_NEAR: Final = 0.8

Verb = Callable[[bytes, WaitingCaller], Awaitable[bytes]]


class Routes(msgspec.Struct, frozen=True, kw_only=True):
    """Where the verbs are served.

    Attributes:
        prefix: in front of every verb, such as ``/scheduler``.
        predicates: between the prefix and a filter's name.
        priorities: between the prefix and a score's name.
    """

    prefix: str = ""
    predicates: str = "/predicates"
    priorities: str = "/priorities"


class ExtenderApp:
    """The extender's endpoints.

    Args:
        service: who answers.
        routes: where the verbs are served.
        max_body: the largest request body in bytes.
        load_limits: counts the bytes in memory; None makes one with the default limit.
    """

    def __init__(
        self,
        service: ExtenderService,
        *,
        routes: Routes | None = None,
        max_body: int = DEFAULT_MAX_BODY,
        load_limits: LoadLimits | None = None,
    ) -> None:
        self.service = service
        self.load_limits = load_limits if load_limits is not None else LoadLimits(DEFAULT_MAX_HELD)
        self._routes = routes if routes is not None else Routes()
        self._max_body = max_body
        self._displaced = self._turned_away = 0

    def asgi(self) -> ASGIApp:
        """The application to be served."""
        at = self._routes.prefix
        gets = {
            "/": self._index,
            "/version": self._version,
            "/policy": self._policy,
            **self._health_endpoints(),
        }
        posts: dict[str, Callable[[Request], Awaitable[Response]]] = {
            f"{at}/filter": self._filter,
            f"{at}/prioritize": self._prioritize,
            f"{at}/preempt": self._preempt,
            f"{at}/preemption": self._preempt,
            f"{at}/bind": self._bind,
            f"{at}{self._routes.predicates}/{{name}}": self._predicate,
            f"{at}{self._routes.priorities}/{{name}}": self._priority,
        }
        app = Starlette(
            routes=[
                *(Route(path, endpoint, methods=["GET"]) for path, endpoint in gets.items()),
                *(Route(path, endpoint, methods=["POST"]) for path, endpoint in posts.items()),
            ],
            exception_handlers={HTTPException: _http_error, Exception: _unexpected},
        )
        app.router.redirect_slashes = False
        return LimitedRequests(app, self.load_limits)

    def health_asgi(self) -> ASGIApp:
        """Only what probes and Prometheus read, for a listener of its own."""
        endpoints = self._health_endpoints().items()
        app = Starlette(
            routes=[Route(path, endpoint, methods=["GET"]) for path, endpoint in endpoints],
            exception_handlers={Exception: _unexpected},
        )
        app.router.redirect_slashes = False
        return app

    def _health_endpoints(self) -> dict[str, Callable[[Request], Awaitable[Response]]]:
        return {
            "/healthz": self._healthz,
            "/livez": self._livez,
            "/readyz": self._readyz,
            "/metrics": self._metrics,
        }

    async def _filter(self, request: Request) -> Response:
        return await self._verb(request, "filter", self._filter_answer(None), _filter_error)

    async def _predicate(self, request: Request) -> Response:
        name = request.path_params["name"]
        rules = [rule for rule in self.service.policy.filters if rule.name == name]
        if not rules:
            raise _no_function("filter", name, self.service.policy.filters)
        return await self._verb(request, "filter", self._filter_answer(rules), _filter_error)

    def _filter_answer(self, rules: Any) -> Verb:
        service = self.service
        return lambda body, caller: service.decide(
            partial(service.answers.filter, body, rules), caller
        )

    async def _prioritize(self, request: Request) -> Response:
        return await self._verb(request, "prioritize", self._score_answer(None), _json_error)

    async def _priority(self, request: Request) -> Response:
        name = request.path_params["name"]
        rules = [rule for rule in self.service.policy.scores if rule.name == name]
        if not rules:
            raise _no_function("score", name, self.service.policy.scores)
        return await self._verb(request, "prioritize", self._score_answer(rules), _json_error)

    def _score_answer(self, rules: Any) -> Verb:
        service = self.service
        return lambda body, caller: service.decide(
            partial(service.answers.prioritize, body, rules), caller
        )

    async def _preempt(self, request: Request) -> Response:
        service = self.service
        return await self._verb(
            request,
            "preempt",
            lambda body, caller: service.decide(partial(service.answers.preempt, body), caller),
            _json_error,
        )

    async def _bind(self, request: Request) -> Response:
        async def answer(body: bytes, caller: WaitingCaller) -> bytes:
            return msgspec.json.encode(ExtenderBindingResult(await self.service.bind(body, caller)))

        return await self._verb(request, "bind", answer, _bind_error)

    async def _verb(
        self, request: Request, verb: str, answer: Verb, reject: Callable[[str, int], Response]
    ) -> Response:
        metrics = self.service.metrics
        memory = memory_of(request.scope)
        caller = WaitingCaller(time.monotonic(), memory)
        size = 0
        try:
            body = await self._body(request, memory)
            size = len(body)
            response = Response(await answer(body, caller), media_type="application/json")
        except HTTPException as error:
            metrics.errors.labels(verb, "input").inc()
            metrics.requests.labels(verb, str(error.status_code)).inc()
            _log_once((verb, "input"), logging.WARNING, f"{verb} rejected: {error.detail}")
            raise
        except MooringError as error:
            status = 503 if isinstance(error, NotDecided) else 400
            response = reject(self._explain(verb, error), status)
        except Exception as error:  # noqa: BLE001 - the caller gets an answer all the same
            _log_once((verb, ""), logging.ERROR, f"{verb} failed: internal error", error)
            metrics.errors.labels(verb, "internal").inc()
            response = reject("internal error; see the log of mooring for details", 400)
        seconds = time.monotonic() - caller.began
        metrics.requests.labels(verb, str(response.status_code)).inc()
        metrics.seconds.labels(verb).observe(seconds)
        metrics.request_bytes.labels(verb).inc(size)
        metrics.reply_bytes.labels(verb).inc(len(response.body))
        if seconds > _NEAR * self.service.timeout:
            metrics.slow.labels(verb).inc()
            _log_once(
                (verb, "slow"),
                logging.WARNING,
                f"{verb} took {seconds:.2f}s, near the caller's timeout of "
                f"{self.service.timeout:g}s",
            )
        return response

    def _explain(self, verb: str, error: MooringError) -> str:
        """Count and log an error; the sentence for the caller."""
        kind = "internal"
        if isinstance(error, PolicyError):
            kind = "policy"
            # At the end functions are interrupted on purpose: where they were is no news.
            cause = error.__cause__ if not self.service.draining else None
            alike = (verb, error.function, error.kind)
            pod = f" for pod {shortened(error.pod)}" if error.pod else ""
            _log_once(alike, logging.ERROR, f"{verb}{pod}: {error}", cause)
        elif isinstance(error, InputError):
            kind = "input"
            _log_once((verb, kind), logging.WARNING, f"{verb} rejected: {error}")
        else:
            kind = error.kind if isinstance(error, NotDecided) else kind
            _log_once((verb, kind), logging.WARNING, f"{verb} failed: {error}")
        self.service.metrics.errors.labels(verb, kind).inc()
        return str(error)

    async def _body(self, request: Request, memory: RequestMemory) -> bytes:
        """The request's body.

        Raises:
            HTTPException: it is too large or did not come in time.
            NotDecided: there is no room for it, or its caller hung up.
        """
        length = request.headers.get("content-length", "")
        if length.isdigit() and int(length) > self._max_body:
            raise self._too_large()
        chunks = []
        size = 0
        seconds = self.service.timeout
        try:
            async with asyncio.timeout(seconds):
                self._check_room(memory, length)
                async for chunk in request.stream():
                    self._check_room(memory, length)
                    size += len(chunk)
                    if size > self._max_body:
                        raise self._too_large()
                    chunks.append(chunk)
        except TimeoutError:
            raise HTTPException(
                408,
                f"the request's body did not arrive within the caller's timeout of {seconds:g}s",
                {"connection": "close"},
            ) from None
        except ClientDisconnect:
            raise NotDecided(
                "gone", ("the caller closed the connection before its body was complete")
            ) from None
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def _check_room(self, memory: RequestMemory, length: str) -> None:
        if memory.rejected:
            raise NotDecided(
                "busy",
                f"there is no room for this body of {'' if length else 'at least '}"
                f"{_size(memory.wanted)}: {_size(memory.beside)} of other bodies and replies are "
                f"in memory, and the limit is {_size(self.load_limits.max_bytes)} (--max-held); "
                f"try again later",
            )

    def tick(self) -> None:
        """Bring gauges up to date, and log what became of connections; called now and then."""
        self._update_gauges()
        self._log_connections()

    def _log_connections(self) -> None:
        load_limits = self.load_limits
        most = f"the maximum of {load_limits.max_connections} connections (--max-connections)"
        if load_limits.displaced > self._displaced:
            _log_once(
                ("displaced",),
                logging.WARNING,
                f"{most} is open: those that have kept the server waiting the longest are "
                "closed for "
                f"new ones, {load_limits.displaced} so far",
            )
        if load_limits.turned_away > self._turned_away:
            _log_once(
                ("turned away",),
                logging.WARNING,
                f"{most} is waiting for answers: new ones are closed immediately, "
                f"{load_limits.turned_away} so far",
            )
        self._displaced, self._turned_away = load_limits.displaced, load_limits.turned_away

    def _update_gauges(self) -> None:
        self.service.update_gauges()
        self.service.metrics.held_bytes.set(self.load_limits.bytes)
        self.service.metrics.connections.set(self.load_limits.connections)

    def _too_large(self) -> HTTPException:
        return HTTPException(
            413,
            f"the request's body is larger than {self._max_body} bytes; "
            f"raise --max-body or set nodeCacheCapable: true",
            {"connection": "close"},
        )

    async def _index(self, request: Request) -> Response:  # noqa: ARG002
        return PlainTextResponse(f"Welcome to {self.service.policy.name}!\n")

    async def _version(self, request: Request) -> Response:  # noqa: ARG002
        return JSONResponse({"version": __version__, "policy": self.service.policy.name})

    async def _policy(self, request: Request) -> Response:  # noqa: ARG002
        return JSONResponse(self.describe())

    def describe(self) -> dict[str, Any]:
        """The loaded policy and where its functions are served."""
        policy, at = self.service.policy, self._routes.prefix
        places = {
            "filter": f"{at}{self._routes.predicates}/",
            "score": f"{at}{self._routes.priorities}/",
        }
        functions = []
        for rule in policy.rules:
            point = rule.kind.removesuffix("_nodes")
            row: dict[str, Any] = {"name": rule.name, "hook": rule.kind, "doc": rule.doc}
            if point in places:
                row["path"] = places[point] + rule.name
            if isinstance(rule, ScoreRule):
                row["weight"], row["maxScore"] = rule.weight, rule.max_score
            functions.append(row)
        verbs = {verb: f"{at}/{verb}" for verb in ("filter", "prioritize", "preempt", "bind")}
        return {
            "name": policy.name,
            "description": policy.description,
            "usage": policy.usage,
            "nodeCache": not self.service.stateless,
            "synced": self.service.synced,
            "verbs": verbs,
            "functions": functions,
        }

    async def _healthz(self, request: Request) -> Response:  # noqa: ARG002
        return PlainTextResponse("ok")

    async def _livez(self, request: Request) -> Response:  # noqa: ARG002
        problem = self.service.stuck()
        return PlainTextResponse(problem or "ok", 503 if problem else 200)

    async def _readyz(self, request: Request) -> Response:  # noqa: ARG002
        problem = self.service.not_ready()
        return PlainTextResponse(problem or "ok", 503 if problem else 200)

    async def _metrics(self, request: Request) -> Response:  # noqa: ARG002
        self._update_gauges()
        return Response(
            self.service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8"
        )


def _size(count: int) -> str:
    for unit, shift in (("MiB", 20), ("KiB", 10)):
        if count >= 1 << shift:
            return f"{count / (1 << shift):.0f} {unit}"
    return f"{count} bytes"


def _filter_error(sentence: str, status: int) -> Response:  # noqa: ARG001 - the reply has a field
    return Response(
        msgspec.json.encode(ExtenderFilterResult(error=sentence)), media_type="application/json"
    )


def _log_once(
    kind: tuple[str, ...], level: int, text: str, error: BaseException | None = None
) -> None:
    """Log a line; of those of one kind the first with the error's traceback, the others counted."""
    log.log(level, "%s", text, exc_info=error, extra=once(*kind))


def _bind_error(sentence: str, status: int) -> Response:  # noqa: ARG001 - the reply has a field
    return Response(
        msgspec.json.encode(ExtenderBindingResult(sentence)), media_type="application/json"
    )


def _json_error(sentence: str, status: int) -> Response:
    return JSONResponse({"error": sentence}, status)


def _no_function(kind: str, name: str, rules: Any) -> HTTPException:
    names = ", ".join(rule.name for rule in rules) or "none"
    return HTTPException(404, f"the policy has no {kind} function {name!r}; it has {names}")


async def _http_error(request: Request, error: Exception) -> Response:
    status, detail, headers = 500, "", None
    if isinstance(error, HTTPException):
        status, detail, headers = error.status_code, error.detail, error.headers
    if status == 404 and detail == "Not Found":
        detail = f"{request.url.path} does not exist; GET /policy lists the endpoints"
    elif status == 405:
        allow = (headers or {}).get("Allow", "")
        detail = f"{request.method} is not allowed at {request.url.path}; use {allow}"
    return JSONResponse({"error": detail}, status, headers)


async def _unexpected(request: Request, error: Exception) -> Response:
    log.error("%s %s failed: internal error", request.method, request.url.path, exc_info=error)
    return JSONResponse({"error": "internal error; see the log of mooring for details"}, 500)
