"""TLS and proxies for the connections to an API server.

`client` calls it. Keys are written to a temporary file only as long as OpenSSL needs to read it.
"""

import asyncio
import ipaddress
import os
import socket
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from mooring.errors import ConfigError
from mooring.kube.cluster_config import ClusterConfig
from mooring.kube.credentials import Credentials


class Tls:
    """The TLS context of one cluster; made once, and again when the certificates changed."""

    def __init__(self, config: ClusterConfig) -> None:
        self._config = config
        self._context: ssl.SSLContext | None = None
        self._certificate = b""

    def context(self, credentials: Credentials) -> ssl.SSLContext:
        """The context for a request with these credentials.

        Raises:
            ConfigError: a certificate or a key cannot be used.
        """
        if self._context is None or self._certificate != credentials.certificate:
            self._context = make_context(self._config, credentials)
            self._certificate = credentials.certificate
        return self._context

    def forget(self) -> None:
        """Make the context anew for the next request: its files may have been replaced."""
        self._context = None


def make_context(config: ClusterConfig, credentials: Credentials) -> ssl.SSLContext:
    """A TLS context that trusts and accepts what Go's TLS would with the same settings.

    Raises:
        ConfigError: a certificate or a key cannot be used.
    """
    try:
        if config.ca_data:
            context = ssl.create_default_context(cadata=config.ca_data.decode("ascii"))
        else:
            context = ssl.create_default_context(cafile=config.ca_file)
    except (ssl.SSLError, OSError, ValueError) as error:
        raise ConfigError(
            f"The certificate authority of {config.source} cannot be used: {_problem(error)}."
        ) from None
    # Go neither wants an authority key identifier nor a chain up to a self-signed certificate;
    # clusters with hand-made certificates rely on that.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if config.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    certificate = credentials.certificate or config.cert_data or config.cert_file
    key = credentials.key or config.key_data or config.key_file
    if certificate and key:
        try:
            _load_pair(context, _bytes(certificate), _bytes(key))
        except (ssl.SSLError, OSError, ValueError) as error:
            raise ConfigError(
                f"The client certificate of {config.source} cannot be used: {_problem(error)}."
            ) from None
    return context


def _bytes(source: bytes | Path) -> bytes:
    return source if isinstance(source, bytes) else source.read_bytes()


def _load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """OpenSSL reads pairs only from files; this one is readable by us alone and removed at once."""
    with tempfile.NamedTemporaryFile(prefix="mooring-") as file:
        file.write(certificate + b"\n" + key)
        file.flush()
        # without a password function OpenSSL would ask for one on the terminal
        context.load_cert_chain(file.name, password=lambda: "")


def _problem(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return (error.reason or "OpenSSL rejects it").lower().replace("_", " ")
    return getattr(error, "strerror", None) or "it is not PEM"


def keep_alive(transport: asyncio.BaseTransport | None) -> None:
    """Let the kernel find out within a minute that the other end of a silent stream is dead."""
    connection = transport.get_extra_info("socket") if transport is not None else None
    if connection is None:
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):  # not everywhere
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def proxy_for(config: ClusterConfig, env: Mapping[str, str] = os.environ) -> str | None:
    """The HTTP proxy to use, with the rules of Go's net/http; None for a direct connection."""
    if config.proxy_url:
        return config.proxy_url
    parts = urlsplit(config.server)
    name = "https_proxy" if parts.scheme == "https" else "http_proxy"
    proxy = env.get(name.upper()) or env.get(name) or ""
    if not proxy or _bypassed(parts.hostname or "", parts.port, env):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _bypassed(host: str, port: int | None, env: Mapping[str, str]) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        address = None
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    for rule in (env.get("NO_PROXY") or env.get("no_proxy") or "").split(","):
        rule = rule.strip().lower()
        if rule == "*":
            return True
        if address is not None:
            try:
                if address in ipaddress.ip_network(rule, strict=False):
                    return True
            except ValueError:
                pass
        name, colon, number = rule.rpartition(":")
        if colon and number.isdigit() and name.count(":") == 0:
            if number != str(port):
                continue
            rule = name
        suffix = rule.removeprefix("*")
        if rule and (host == rule.lstrip("*.") or host.endswith("." + suffix.lstrip("."))):
            return True
    return False
