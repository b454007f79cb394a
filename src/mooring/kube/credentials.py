"""Who we are to the API server, for each request anew.

An `AuthSource` hands out `Credentials`; `client` asks it before every request and lets it know when
the API server rejected them. Sources that run a program are in `exec_plugin`. Nothing here may put
a secret into a repr, a log line or an error.
"""

import base64
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from mooring.errors import ConfigError
from mooring.kube.config_texts import shown

logger = logging.getLogger("mooring.kube")

TOKEN_FILE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Credentials:
    """What one request carries to say who sends it.

    Attributes:
        authorization: the value of the ``Authorization`` header; empty for none.
        certificate: a client certificate in PEM, when the source gives one.
        key: the key of that certificate in PEM.
    """

    authorization: str = field(default="", repr=False)
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)


class AuthSource(Protocol):
    """Hands out credentials and renews them."""

    async def credentials(self) -> Credentials:
        """The credentials for the next request; called before every request, so it is cheap.

        Raises:
            ConfigError: they cannot be had; the sentence says what to do.
        """
        ...

    async def renew(self, rejected: Credentials) -> bool:
        """The API server answered 401 to `rejected`; say whether trying again makes sense."""
        ...


@dataclass(frozen=True, slots=True)
class FixedCredentials:
    """Credentials that never change: none, a token, or a user name and a password."""

    value: Credentials = field(default=Credentials(), repr=False)

    async def credentials(self) -> Credentials:
        """Always the same."""
        return self.value

    async def renew(self, rejected: Credentials) -> bool:  # noqa: ARG002 - the protocol's
        """There is nothing to renew."""
        return False


def bearer(token: str) -> Credentials:
    """Credentials that carry a bearer token."""
    return Credentials(authorization=f"Bearer {token}")


def basic(username: str, password: str) -> Credentials:
    """Credentials that carry a user name and a password."""
    pair = base64.b64encode(f"{username}:{password}".encode()).decode()
    return Credentials(authorization=f"Basic {pair}")


class TokenFile:
    """A bearer token in a file that somebody else rotates, as the kubelet does.

    The file is read at most once a minute, and at once after the API server rejected the token.
    When it cannot be read any more, the last token stays in use.

    Args:
        path: the file.
        initial: a token to use as long as the file was never readable.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        path: Path,
        *,
        initial: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path = path
        self._clock = clock
        self._value = bearer(initial) if initial else None
        self._read_at: float | None = None

    async def credentials(self) -> Credentials:
        """The token as the file had it during the last minute."""
        read_at = self._read_at
        if self._value is None or read_at is None or self._clock() >= read_at + TOKEN_FILE_SECONDS:
            self._value = self._read()
        return self._value

    async def renew(self, rejected: Credentials) -> bool:
        """Read the file again; a new try makes sense when it has another token now."""
        self._value = self._read()
        return self._value != rejected

    def _read(self) -> Credentials:
        self._read_at = self._clock()
        try:
            token = self.path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            problem = getattr(error, "strerror", None) or "it is not text"
        else:
            # a header value must stay one line, whatever the file has
            if token and token.isprintable():
                return bearer(token)
            problem = "it is empty" if not token else "it has more than one line"
        if self._value is None:
            raise ConfigError(
                f"The token file {shown(str(self.path))} cannot be used: {problem}; "
                "check that it exists and holds one token."
            )
        logger.warning(
            "The token file %s cannot be read again (%s); the old token stays in use.",
            self.path,
            problem,
        )
        return self._value
