"""The ASGI application: routes, limits, errors, health, metrics.

Turns HTTP requests into questions for the `Service` and its answers into replies. Filter and bind
have an error field, so their errors are replies with status 200, which kube-scheduler shows in the
pod's event; prioritize and preempt have none, so theirs are status 400 with a JSON error.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from mooring.errors import InputError, MooringError, PolicyError
from mooring.extender.service import Late, Service
from mooring.extender.wire import ExtenderBindingResult, ExtenderFilterResult
from mooring.framework.rules import ScoreRule
from mooring.version import __version__

log = logging.getLogger("mooring.extender")

DEFAULT_MAX_BODY: Final = 256 << 20
#: A call that took this part of the caller's timeout is worth a warning.
_NEAR: Final = 0.8
#: One question that keeps the decision thread for so many caller's timeouts is stuck for good.
_STUCK_TIMEOUTS: Final = 24

Verb = Callable[[bytes], Awaitable[bytes]]


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


class App:
    """The extender's endpoints.

    Args:
        service: who answers.
        routes: where the verbs are served.
        max_body: the largest request body in bytes.
        body_seconds: how long a client may take to send its body.
    """

    def __init__(
        self,
        service: Service,
        *,
        routes: Routes | None = None,
        max_body: int = DEFAULT_MAX_BODY,
        body_seconds: float = 30.0,
    ) -> None:
        self.service = service
        self._routes = routes if routes is not None else Routes()
        self._max_body = max_body
        self._body_seconds = body_seconds

    def asgi(self) -> Starlette:
        """The application to be served."""
        at = self._routes.prefix
        gets: dict[str, Callable[[Request], Awaitable[Response]]] = {
            "/": self._index,
            "/version": self._version,
            "/policy": self._policy,
            "/healthz": self._healthz,
            "/livez": self._livez,
            "/readyz": self._readyz,
            "/metrics": self._metrics,
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
        return app

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
        return lambda body: service.decide(service.answers.filter, body, rules)

    async def _prioritize(self, request: Request) -> Response:
        return await self._verb(request, "prioritize", self._score_answer(None), _bad_request)

    async def _priority(self, request: Request) -> Response:
        name = request.path_params["name"]
        rules = [rule for rule in self.service.policy.scores if rule.name == name]
        if not rules:
            raise _no_function("score", name, self.service.policy.scores)
        return await self._verb(request, "prioritize", self._score_answer(rules), _bad_request)

    def _score_answer(self, rules: Any) -> Verb:
        service = self.service
        return lambda body: service.decide(service.answers.prioritize, body, rules)

    async def _preempt(self, request: Request) -> Response:
        service = self.service
        return await self._verb(
            request,
            "preempt",
            lambda body: service.decide(service.answers.preempt, body),
            _bad_request,
        )

    async def _bind(self, request: Request) -> Response:
        async def answer(body: bytes) -> bytes:
            return msgspec.json.encode(ExtenderBindingResult(await self.service.bind(body)))

        return await self._verb(request, "bind", answer, _bind_error)

    async def _verb(
        self, request: Request, verb: str, answer: Verb, refuse: Callable[[str], Response]
    ) -> Response:
        metrics = self.service.metrics
        start = time.monotonic()
        try:
            body = await self._body(request)
        except HTTPException as error:
            metrics.errors.labels(verb, "input").inc()
            metrics.requests.labels(verb, str(error.status_code)).inc()
            log.warning("%s refused: %s", verb, error.detail)
            raise
        try:
            response = Response(await answer(body), media_type="application/json")
        except MooringError as error:
            response = refuse(self._explain(verb, error))
        except Exception:
            log.exception("%s failed inside mooring", verb)
            metrics.errors.labels(verb, "internal").inc()
            response = refuse("mooring failed on this request; its log has the details")
        seconds = time.monotonic() - start
        metrics.requests.labels(verb, str(response.status_code)).inc()
        metrics.seconds.labels(verb).observe(seconds)
        metrics.request_bytes.labels(verb).inc(len(body))
        metrics.reply_bytes.labels(verb).inc(len(response.body))
        if seconds > _NEAR * self.service.timeout:
            metrics.slow.labels(verb).inc()
            log.warning(
                "%s took %.2f s, near the caller's timeout of %g s", verb, seconds,
                self.service.timeout,
            )  # fmt: skip
        return response

    def _explain(self, verb: str, error: MooringError) -> str:
        """Count and log an error; the sentence for the caller."""
        kind = "internal"
        if isinstance(error, PolicyError):
            kind = "policy"
            log.error("%s: %s", verb, error, exc_info=error.__cause__)
        elif isinstance(error, InputError):
            kind = "input"
            log.warning("%s refused: %s", verb, error)
        else:
            kind = "late" if isinstance(error, Late) else kind
            log.warning("%s failed: %s", verb, error)
        self.service.metrics.errors.labels(verb, kind).inc()
        return str(error)

    async def _body(self, request: Request) -> bytes:
        length = request.headers.get("content-length", "")
        if length.isdigit() and int(length) > self._max_body:
            raise self._too_large()
        chunks = []
        size = 0
        try:
            async with asyncio.timeout(self._body_seconds):
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > self._max_body:
                        raise self._too_large()
                    chunks.append(chunk)
        except TimeoutError:
            raise HTTPException(
                408,
                f"the request's body did not arrive within {self._body_seconds:g} s",
                {"connection": "close"},
            ) from None
        except ClientDisconnect:
            raise HTTPException(400, "the caller hung up before its body was complete") from None
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

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
        if self.service.stuck(_STUCK_TIMEOUTS * self.service.timeout):
            return PlainTextResponse("a function of the policy does not return", 503)
        return PlainTextResponse("ok")

    async def _readyz(self, request: Request) -> Response:  # noqa: ARG002
        problem = self.service.not_ready()
        return PlainTextResponse(problem or "ok", 503 if problem else 200)

    async def _metrics(self, request: Request) -> Response:  # noqa: ARG002
        self.service.update_gauges()
        return Response(
            self.service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8"
        )


def _filter_error(sentence: str) -> Response:
    return Response(
        msgspec.json.encode(ExtenderFilterResult(error=sentence)), media_type="application/json"
    )


def _bind_error(sentence: str) -> Response:
    return Response(
        msgspec.json.encode(ExtenderBindingResult(sentence)), media_type="application/json"
    )


def _bad_request(sentence: str) -> Response:
    return JSONResponse({"error": sentence}, 400)


def _no_function(kind: str, name: str, rules: Any) -> HTTPException:
    names = ", ".join(rule.name for rule in rules) or "none"
    return HTTPException(404, f"the policy has no {kind} function {name!r}; it has {names}")


async def _http_error(request: Request, error: Exception) -> Response:
    status, detail, headers = 500, "", None
    if isinstance(error, HTTPException):
        status, detail, headers = error.status_code, error.detail, error.headers
    if status == 404 and detail == "Not Found":
        detail = f"there is nothing at {request.url.path}; GET /policy lists the endpoints"
    elif status == 405:
        allow = (headers or {}).get("Allow", "")
        detail = f"{request.method} is not allowed at {request.url.path}; use {allow}"
    return JSONResponse({"error": detail}, status, headers)


async def _unexpected(request: Request, error: Exception) -> Response:
    log.error("%s %s failed inside mooring", request.method, request.url.path, exc_info=error)
    return JSONResponse({"error": "mooring failed on this request; its log has the details"}, 500)
