"""The scheduler's endpoints: health, readiness, metrics, configuration.

They are kube-scheduler's own, without its authentication: served on loopback unless configured
otherwise, and nothing can be changed here. `run` starts it; the same event loop makes the
decisions, so that no answer at all means that a decision does not end.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from mooring.http import server as http_server
from mooring.http.limited_connections import limited_connections
from mooring.http.load_limits import LoadLimits
from mooring.http.origin import OwnOrigin
from mooring.http.server import make_server
from mooring.http.tls import Certificates
from mooring.live.health import Check, Health, run_checks
from mooring.version import __version__

#: Probes and Prometheus need a few; everybody else must not cost the scheduler its descriptors.
MAX_CONNECTIONS: Final = 100
#: Nothing is sent here that has a body, and no reply is larger.
_MAX_BYTES: Final = 64 << 20
_MAX_BODY: Final = 1 << 20
_REPLY_SECONDS: Final = 30.0
_METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Checks = Callable[[], list[Check]]


class SchedulerApp:
    """The endpoints.

    Args:
        health: whether the scheduler is well.
        metrics: all metrics as text.
        configuration: what ``/configz`` shows.
    """

    def __init__(
        self, health: Health, metrics: Callable[[], bytes], configuration: Callable[[], Any]
    ) -> None:
        self._health = health
        self._metrics = metrics
        self._configuration = configuration

    def asgi(self) -> Starlette:
        """The application to be served."""
        routes = []
        checks: dict[str, Checks] = {
            "healthz": self._health.health_checks,
            "livez": self._health.live_checks,
            "readyz": self._health.ready_checks,
        }
        for name, asked in checks.items():
            routes.append(Route(f"/{name}", _all_checks(name, asked), methods=["GET"]))
            routes.append(Route(f"/{name}/{{check}}", _one_check(asked), methods=["GET"]))
        gets: dict[str, Callable[[Request], Awaitable[Response]]] = {
            "/metrics": self._show_metrics,
            "/configz": self._show_configuration,
            "/version": self._show_version,
        }
        routes += [Route(path, endpoint, methods=["GET"]) for path, endpoint in gets.items()]
        app = Starlette(routes=routes)
        app.router.redirect_slashes = False
        return app

    async def _show_metrics(self, request: Request) -> Response:  # noqa: ARG002
        return Response(self._metrics(), media_type=_METRICS_TYPE)

    async def _show_configuration(self, request: Request) -> Response:  # noqa: ARG002
        return JSONResponse({"componentconfig": self._configuration()})

    async def _show_version(self, request: Request) -> Response:  # noqa: ARG002
        return JSONResponse({"version": __version__})


def _all_checks(name: str, checks: Checks) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        report = run_checks(name, checks(), request.query_params.getlist("exclude"))
        if report.well and "verbose" not in request.query_params:
            return PlainTextResponse("ok")
        return PlainTextResponse(report.text, 200 if report.well else 500)

    return answer


def _one_check(checks: Checks) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        wanted = request.path_params["check"]
        for check in checks():
            if check.name == wanted:
                problem = check.problem()
                return PlainTextResponse(problem or "ok", 500 if problem else 200)
        return PlainTextResponse(f"there is no check {wanted}\n", 404)

    return answer


def serving(
    app: SchedulerApp,
    sock: socket.socket,
    certificates: Certificates | None,
    allow_hosts: frozenset[str] = frozenset(),
) -> AbstractAsyncContextManager[list[asyncio.Task[None]]]:
    """Serve for the length of a block; gives the tasks that do it, which should not end."""
    server = make_server(
        OwnOrigin(app.asgi(), sock, allow_hosts),
        http=limited_connections(
            LoadLimits(_MAX_BYTES, MAX_CONNECTIONS),
            max_body=_MAX_BODY,
            reply_seconds=_REPLY_SECONDS,
        ),
        certificates=certificates,
    )
    return http_server.serving(server, sock, certificates)
