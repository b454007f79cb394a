"""Turning what went wrong between us and the API server into one sentence.

`client` and `reflector` call it. The sentences name the server's address and the API server's own
words, never credentials.
"""

import errno
import math
import os
import ssl
from http import HTTPStatus

import msgspec

from mooring.errors import ApiError, KubeError
from mooring.kube.cluster_config import ClusterConfig
from mooring.kube.http1.transport_errors import (
    InvalidResponse,
    NotConnected,
    ProxyAnswered,
    ProxyUnreachable,
    ServerClosed,
    TransportError,
    Truncated,
)

_MESSAGE_CHARACTERS = 1000


class Status(msgspec.Struct):
    """The part of a Kubernetes ``Status`` object that says what went wrong."""

    message: str = ""
    reason: str = ""
    code: int = 0
    status: str = ""


def decode_status(body: bytes | msgspec.Raw) -> Status:
    """The Status in a body; an empty one when the body is something else."""
    try:
        return msgspec.json.decode(body, type=Status)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Status()


def failure_code(body: bytes) -> int | None:
    """The status code of an answer that is a Status of a failure; None if it is none."""
    if b'"Failure"' not in body:
        return None
    status = decode_status(body)
    if status.status != "Failure":
        return None
    return status.code if status.code >= HTTPStatus.BAD_REQUEST else 500


def api_error(config: ClusterConfig, http_status: int, body: bytes) -> ApiError:
    """The error for an answer that is not a success."""
    status = decode_status(body)
    said = " ".join(status.message.split())[:_MESSAGE_CHARACTERS].rstrip(".")
    server = config.server
    if http_status == HTTPStatus.UNAUTHORIZED:
        text = (
            f"The API server {server} rejected the credentials (401); renew those of "
            f"{config.source}."
        )
    elif http_status == HTTPStatus.FORBIDDEN and said:
        text = (
            f"The API server {server} denied the request (403): {said}; grant the "
            "permission with an RBAC role."
        )
    elif said:
        text = f"The API server {server} answered {http_status}: {said}."
    else:
        text = f"The API server {server} answered {http_status}{_phrase(http_status)}."
        if http_status < HTTPStatus.BAD_REQUEST:
            text = text[:-1] + ", a redirection; check the address."
    return ApiError(text, status=http_status, reason=status.reason, said=said)


def _phrase(status: int) -> str:
    try:
        return f" {HTTPStatus(status).phrase}"
    except ValueError:
        return ""


def connection_error(config: ClusterConfig, error: Exception) -> KubeError:
    """The error for a connection that could not be made or broke."""
    server, source = config.server, config.source
    distrust = certificate_error(error)
    if distrust is not None:
        why = getattr(distrust, "verify_message", "") or str(distrust)
        return KubeError(
            f"The certificate of the API server {server} is not trusted: {why.rstrip('.')}; "
            f"check the certificate authority of {source}."
        )
    if isinstance(error, ProxyAnswered):
        return KubeError(f"The proxy to the API server {server} answered {error.status}.")
    if isinstance(error, ProxyUnreachable):
        return KubeError(f"The proxy to the API server {server} cannot be reached; check it.")
    if isinstance(error, NotConnected):
        if error.os_error.errno in (errno.EMFILE, errno.ENFILE):
            return KubeError(
                f"No file descriptors are left for a connection to the API server {server}; "
                "raise the limit with ulimit -n."
            )
        why = _os_words(error.os_error)
        return KubeError(
            f"The API server {server} cannot be reached: {why}; "
            f"check that it runs and that {source} has the right address."
        )
    if isinstance(error, TimeoutError):
        return KubeError(f"The API server {server} did not answer in time.")
    return KubeError(f"The connection to the API server {server} failed: {_words(error)}.")


def certificate_error(error: Exception) -> Exception | None:
    """Why the server's certificate is not trusted, if that is what went wrong."""
    if isinstance(error, NotConnected) and isinstance(error.os_error, ssl.CertificateError):
        return error.os_error
    return None


def failed_to_connect(error: KubeError) -> OSError | None:
    """Why no connection could be made, if that is what went wrong: then nothing was sent."""
    cause = error.__cause__
    if isinstance(cause, NotConnected):
        return cause.os_error
    return None


def _os_words(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return (error.reason or "TLS failed").lower().replace("_", " ")
    if error.errno is not None and error.errno > 0:  # names that are not found have negative ones
        return os.strerror(error.errno)
    return (error.strerror or str(error) or type(error).__name__).rstrip(".")


def _words(error: Exception) -> str:
    if isinstance(error, ServerClosed):
        return "the server closed it"
    if isinstance(error, Truncated):
        return "the response was truncated"
    if isinstance(error, InvalidResponse):
        return "the response is not HTTP"
    if isinstance(error, OSError):
        return _os_words(error)
    if isinstance(error, TransportError) and str(error):
        return str(error)
    return type(error).__name__


def retry_after(status: int, header: str) -> float | None:
    """How long a busy API server asks us to wait, if it does.

    Args:
        status: of its answer.
        header: its ``Retry-After``; empty if there is none.
    """
    if status != HTTPStatus.TOO_MANY_REQUESTS and status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return None
    try:
        seconds = float(header)
    except ValueError:
        return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None
