"""Serving TLS, with certificates that may be renewed while the server runs.

`Certificates` makes the context that listens; each handshake uses the newest files. A renewal that
cannot be read yet (half written) leaves the old certificate in place.
"""

import asyncio
import logging
import ssl
from pathlib import Path

from mooring.errors import InputError

log = logging.getLogger("mooring.http")


class Certificates:
    """The server's certificate, its key, and the authority that client certificates must come from.

    Args:
        cert: the certificate chain in PEM.
        key: the private key in PEM.
        client_ca: the authority for client certificates; None accepts clients without one.

    Raises:
        InputError: a file is missing or is not what it should be.
    """

    def __init__(self, cert: Path, key: Path, client_ca: Path | None = None) -> None:
        self._cert, self._key, self._client_ca = cert, key, client_ca
        self._seen = self._stamps()
        self._newest = self._load()
        #: The context to listen with.
        self.context = self._load()
        # The callback runs in every handshake, whether or not the client names a server.
        self.context.sni_callback = self._choose

    def renew(self) -> bool:
        """Load the files again if one changed; whether a new certificate is in use."""
        try:
            stamps = self._stamps()
            if stamps == self._seen:
                return False
            self._newest = self._load()
        except InputError as error:
            log.warning("kept the old certificate: %s", error)
            return False
        self._seen = stamps
        log.info("using the renewed certificate %s", self._cert)
        return True

    async def watch(self, seconds: float = 1.0) -> None:
        """Look for renewed files until cancelled."""
        while True:
            await asyncio.sleep(seconds)
            self.renew()

    def _choose(self, connection: ssl.SSLObject, name: str | None, old: ssl.SSLContext) -> None:  # noqa: ARG002
        connection.context = self._newest

    def _stamps(self) -> list[tuple[int, int]]:
        stamps = []
        for path in (self._cert, self._key, self._client_ca):
            if path is None:
                continue
            try:
                found = path.stat()
            except OSError as error:
                raise InputError(f"{path} cannot be read: {error.strerror}") from error
            stamps.append((found.st_mtime_ns, found.st_ino))
        return stamps

    def _load(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self._cert, self._key)
        except (ssl.SSLError, OSError, ValueError) as error:
            raise InputError(
                f"{self._cert} and {self._key} are not a certificate and its key in PEM "
                f"format: {error}"
            ) from error
        if self._client_ca is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            try:
                context.load_verify_locations(self._client_ca)
            except (ssl.SSLError, OSError, ValueError) as error:
                raise InputError(
                    f"{self._client_ca} is not a CA file in PEM format: {error}"
                ) from error
        return context
