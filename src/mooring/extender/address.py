"""An extender's address and TLS as its configuration has them, and errors of connections in words.

`http_extender` calls extenders with it, and `mooring.deploy.extender_test` tests them. No I/O but
the reading of certificates by name; sentences never show user names, passwords or queries.
"""

import os
import ssl
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import aiohttp

from mooring.config.types import Extender, ExtenderTLSConfig
from mooring.errors import InputError
from mooring.kube.cluster_config import ClusterConfig

_SHOWN_CHARACTERS: Final = 200
_DEFAULT_SECONDS: Final = 5.0
#: What `why` says of a server without TLS behind an https address.
NO_TLS: Final = "it answers without TLS"
#: OpenSSL's names for bytes that are not TLS.
_NOT_TLS: Final = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")


def timeout_seconds(settings: Extender) -> float:
    """How long kube-scheduler waits for an answer."""
    # parity v1.36.4: extender.go NewHTTPExtender; less than none is no time either
    seconds = settings.http_timeout.seconds
    return seconds if seconds > 0 else _DEFAULT_SECONDS


def server_of(settings: Extender) -> ClusterConfig:
    """The extender's address and trust, in the terms of the API server's client.

    Raises:
        InputError: the TLS settings contradict each other.
    """
    name = shown(settings.url_prefix)
    # parity v1.36.4: extender.go makeTransport, client-go/transport/transport.go TLSConfigFor
    tls = settings.tls_config or ExtenderTLSConfig()
    has_ca = bool(tls.ca_file or tls.ca_data)
    if tls.insecure and has_ca:
        raise InputError(
            f"extender {name}: tlsConfig.insecure and a certificate authority are mutually "
            "exclusive; use one of them"
        )
    return ClusterConfig(
        server=settings.url_prefix,
        source=f"extender {name}",
        ca_file=Path(tls.ca_file) if tls.ca_file else None,
        ca_data=tls.ca_data,
        insecure=tls.insecure or (settings.enable_https and not has_ca),
        tls_server_name=tls.server_name,
        cert_file=Path(tls.cert_file) if tls.cert_file else None,
        cert_data=tls.cert_data,
        key_file=Path(tls.key_file) if tls.key_file else None,
        key_data=tls.key_data,
    )


def is_address(url: str) -> bool:
    """Whether a ``urlPrefix`` can be called at all."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def shown(url: str) -> str:
    """An address for people: without user name, password and query."""
    if not is_address(url):
        return "without an address"
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def one_line(text: str) -> str:
    """The extender's own words on one line, not too long."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARACTERS else f"{line[:_SHOWN_CHARACTERS]}…"


def why(error: Exception) -> str:
    """What went wrong with a connection, as the rest of a sentence."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        cause = error.certificate_error
        return f"its certificate is not trusted: {getattr(cause, 'verify_message', '') or cause}"
    if isinstance(error, aiohttp.ClientConnectorError):
        if isinstance(error.os_error, ssl.SSLError) and error.os_error.reason in _NOT_TLS:
            return NO_TLS
        return f"it cannot be reached: {_os_words(error.os_error)}"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "it closed the connection"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "its response was truncated"
    if isinstance(error, aiohttp.ClientResponseError):
        return "its response is not HTTP"
    if isinstance(error, OSError):
        return f"the connection failed: {_os_words(error)}"
    return f"the exchange failed: {type(error).__name__}"


def _os_words(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return (error.reason or "TLS failed").lower().replace("_", " ")
    if error.errno is not None and error.errno > 0:  # names that are not found have negative ones
        return os.strerror(error.errno).lower()
    return (error.strerror or str(error) or type(error).__name__).rstrip(".")
