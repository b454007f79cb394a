"""Keeps web pages of other sites away from our servers.

A browser on the machine of a user, or in the network of a cluster, sends requests for any page it
shows. `OwnOrigin` stands in front of the application of every server of ours (`server` puts it
there) and rejects what only a browser sends on behalf of somebody else's page. What is no browser
sends no ``Origin`` and no ``Sec-Fetch-Site`` and passes: kubectl, kube-scheduler, curl, Prometheus
and the kubelet's probes.

    what is rejected                                                   where       status
    Host is missing in HTTP/1.1, or there several times               everywhere  400
    Host is no loopback address, not localhost and not allowed        loopback    403
    Origin is not this server, or a name that DNS could give anybody  everywhere  403
    Sec-Fetch-Site says another site, and it is no link to a page     everywhere  403
    a body that a form could have sent, together with an Origin       everywhere  415

A name in Host is checked on loopback only: there nobody needs one, while probes and Services reach
other listeners under addresses and DNS names we cannot know. A name that is not checked there is
not believed in an Origin either (DNS rebinding makes it the same as Host).

It knows no credentials, reads no body and changes no request.
"""

import functools
import ipaddress
import logging
import re
import socket
import time
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from mooring.errors import InputError

log = logging.getLogger("mooring.http")

#: The body of a rejection, in JSON, from its status and its sentence.
Body = Callable[[int, str], bytes]

_NAME: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*")
_AUTHORITY: Final = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:@/?#,\s]+)(?::([0-9]{0,5}))?")
_PORTS: Final = {"http": 80, "https": 443}
#: A page may send a body of these types, or of none, to anybody without asking first.
_OF_FORMS: Final = frozenset(
    ("", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data")
)
_FOREIGN_SITES: Final = frozenset((b"cross-site", b"same-site"))
#: No more than one line in so many seconds: who is rejected decides how often it happens.
_LOG_SECONDS: Final = 60.0
_SHOWN: Final = 100


class RejectedRequest(NamedTuple):
    """Why a request is not answered: a status and a sentence."""

    status: int
    sentence: str


class _HostAndPort(NamedTuple):
    """A host in lower case, without brackets, and its port if one is given."""

    host: str
    port: int | None


def read_allowed_hosts(names: Iterable[str], option: str = "--allow-host") -> frozenset[str]:
    """Names and addresses of hosts as a user gives them.

    Raises:
        InputError: one of them is no name of a host.
    """
    found = set()
    for name in names:
        host = name.lower().removesuffix(".")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        if not _NAME.fullmatch(host) and _address(host) is None:
            raise InputError(
                f"{option} {name!r} is not a valid host name; use one without scheme, port and "
                "path, such as moor.example.com"
            )
        found.add(host)
    return frozenset(found)


class OwnOrigin:
    """An ASGI application that answers only what is not another site's.

    Args:
        app: answers the rest.
        sock: where it is served; on loopback ``Host`` is checked.
        allow_hosts: further names of this server, as `read_allowed_hosts` makes them.
        body: makes the body of a rejection.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        app: ASGIApp,
        sock: socket.socket,
        allow_hosts: frozenset[str] = frozenset(),
        *,
        body: Body | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._allowed = allow_hosts
        self._on_loopback = is_loopback(sock.getsockname()[0])
        self._body = body if body is not None else _error_body
        self._clock = clock
        self._logged = -_LOG_SECONDS
        self._not_logged = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or let the application do it."""
        rejection = self.rejection(scope) if scope["type"] == "http" else None
        if rejection is None:
            await self._app(scope, receive, send)
            return
        self._log(scope, rejection)
        content = self._body(rejection.status, rejection.sentence)
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(content)).encode()),
        ]
        await send({"type": "http.response.start", "status": rejection.status, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    def rejection(self, scope: Scope) -> RejectedRequest | None:
        """Why a request is not answered; None if it is."""
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name, []).append(value)
        hosts = headers.get(b"host", [])
        if len(hosts) > 1:
            return RejectedRequest(400, "the request has more than one Host header; send one")
        if not (hosts and hosts[0].strip()) and scope.get("http_version") != "1.0":
            return RejectedRequest(400, "the request has no Host header; HTTP/1.1 needs one")
        given = hosts[0].decode("latin-1").strip() if hosts else ""
        host = _host_and_port(given)
        if given and host is None:
            return RejectedRequest(
                400, (f"the Host header {_shown(given)} is not a host with an optional port")
            )
        if host is not None and self._on_loopback and not self._is_own(host.host):
            return RejectedRequest(
                403,
                f"this server listens on loopback and is not known as {_shown(given)}; use "
                f"localhost or 127.0.0.1, or start it with --allow-host {_shown(host.host)}",
            )
        return self._foreign(scope, headers, host) or _of_a_form(headers)

    def _foreign(
        self, scope: Scope, headers: dict[bytes, list[bytes]], host: _HostAndPort | None
    ) -> RejectedRequest | None:
        for origin in headers.get(b"origin", ()):
            rejection = self._foreign_origin(origin.decode("latin-1"), host)
            if rejection is not None:
                return rejection
        if _FOREIGN_SITES.isdisjoint(headers.get(b"sec-fetch-site", ())):
            return None
        if (
            scope["method"] in ("GET", "HEAD")
            and headers.get(b"sec-fetch-mode") == [b"navigate"]
            and headers.get(b"sec-fetch-dest") == [b"document"]
        ):
            return None  # a person followed a link, and the other page does not see the answer
        return RejectedRequest(
            403, ("this server does not answer requests from web pages of other sites")
        )

    def _foreign_origin(self, origin: str, host: _HostAndPort | None) -> RejectedRequest | None:
        scheme, _, authority = origin.lower().partition("://")
        default = _PORTS.get(scheme)
        place = _host_and_port(authority) if default is not None else None
        if place is None or host is None or place.host != host.host:
            return _other_site(origin)
        if (place.port or default) != (host.port or default):
            return _other_site(origin)
        if self._is_own(host.host) or _address(host.host) is not None:
            return None
        return RejectedRequest(
            403,
            (
                f"this server does not know {_shown(host.host)} as its own name, so it does not "
                f"answer web pages from there; start it with --allow-host {_shown(host.host)}"
            ),
        )

    def _is_own(self, host: str) -> bool:
        return host == "localhost" or host in self._allowed or is_loopback(host)

    def _log(self, scope: Scope, rejection: RejectedRequest) -> None:
        now = self._clock()
        if now < self._logged + _LOG_SECONDS:
            self._not_logged += 1
            return
        more = f" ({self._not_logged} more since the last line)" if self._not_logged else ""
        log.warning(
            "rejected %s %r with %d: %s%s",
            scope["method"], scope["path"][:_SHOWN], *rejection, more,
        )  # fmt: skip
        self._logged, self._not_logged = now, 0


def host_of_target(target: bytes) -> bytes | None:
    """The host in a request's target, if it is a whole URL; it counts instead of ``Host``."""
    try:
        return urlsplit(target).netloc.rpartition(b"@")[2] or None
    except ValueError:
        return b"[]"  # no host at all, and rejected as such


@functools.lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    """Whether an address, not a name, is this machine's own."""
    address = _address(host)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address is not None and address.is_loopback


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _host_and_port(authority: str) -> _HostAndPort | None:
    found = _AUTHORITY.fullmatch(authority.lower())
    if found is None:
        return None
    host, port = found.groups()
    if host.startswith("["):
        host = host[1:-1]
        if _address(host) is None:
            return None
    return _HostAndPort(host.removesuffix("."), int(port) if port else None)


def _of_a_form(headers: dict[bytes, list[bytes]]) -> RejectedRequest | None:
    if b"origin" not in headers or not _has_body(headers):
        return None
    given = headers.get(b"content-type", [b""])[0].decode("latin-1")
    media = given.partition(";")[0].strip().lower()
    if media not in _OF_FORMS:
        return None
    return RejectedRequest(
        415, f"a web page must send application/json, not {_shown(media) if media else 'nothing'}"
    )


def _has_body(headers: dict[bytes, list[bytes]]) -> bool:
    return b"transfer-encoding" in headers or headers.get(b"content-length", [b"0"]) != [b"0"]


def _other_site(origin: str) -> RejectedRequest:
    return RejectedRequest(
        403,
        (
            "this server does not answer requests from web pages of other sites (Origin "
            f"{_shown(origin)})"
        ),
    )


def _shown(text: str) -> str:
    """A text from outside, fit for a log line and a terminal."""
    return "".join(c if c.isprintable() else "?" for c in text[:_SHOWN])


def _error_body(_: int, sentence: str) -> bytes:
    return msgspec.json.encode({"error": sentence})
