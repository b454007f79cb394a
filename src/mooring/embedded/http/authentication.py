"""Who a client is: a token, a certificate, or nobody in particular.

`app` asks it first of all. There is no authorization: whoever may come in may do everything.
"""

import hmac
import secrets
from collections.abc import Mapping, MutableMapping
from typing import Any, Final

from mooring.embedded.status_errors import unauthorized

#: Where the connection puts the name in a client's certificate.
EXTENSION: Final = "mooring.user"
ANONYMOUS: Final = "system:admin"


class Authenticator:
    """Finds out which user sent a request.

    Args:
        tokens: users by bearer token.
        closed: clients that show neither are rejected; otherwise they are ``system:admin``.
    """

    def __init__(self, tokens: Mapping[str, str] | None = None, *, closed: bool = False) -> None:
        self._tokens = dict(tokens or {})
        self._closed = closed

    def user(self, scope: MutableMapping[str, Any]) -> str:
        """Who sent a request.

        Raises:
            StatusError: nobody we know.
        """
        certificate = (scope.get("extensions") or {}).get(EXTENSION)
        if certificate:
            return str(certificate["name"])
        for header, value in scope["headers"]:
            if header == b"authorization":
                return self._by_token(value.decode("latin-1"))
        if self._closed:
            raise unauthorized()
        return ANONYMOUS

    def issue(self, user: str) -> str:
        """A new token for a user, for as long as the server lives."""
        token = secrets.token_urlsafe(32)
        self._tokens[token] = user
        return token

    def _by_token(self, header: str) -> str:
        scheme, _, given = header.partition(" ")
        if scheme.lower() == "bearer":
            found = ""
            for token, user in self._tokens.items():
                # All are compared: the time it takes says nothing about any of them.
                if hmac.compare_digest(token.encode(), given.strip().encode()):
                    found = user
            if found:
                return found
        raise unauthorized()
