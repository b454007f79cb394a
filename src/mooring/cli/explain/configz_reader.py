"""A running scheduler's ``/configz``: one request, whose answer may be anything.

For ``moor explain --config URL``. The address is asked as it is given: a redirection is not
followed, since it might lead anywhere.
"""

import asyncio
import json
import os
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

from mooring.errors import InputError

_SECONDS: Final = 10
_MOST_BYTES: Final = 16 << 20


def read_configz(url: str) -> dict[str, Any]:
    """What a running scheduler says of its configuration.

    Args:
        url: the scheduler's address, or that of the page itself.

    Raises:
        InputError: it cannot be read, or is no object.
    """
    host = url.partition("://")[2]
    address = url if "/" in host.rstrip("/") else f"{url.rstrip('/')}/configz"
    shown = without_credentials(address)
    try:
        content = asyncio.run(_get(address))
    except _UnreadableError as error:
        raise InputError(
            f"{shown} cannot be read: {error}; save it with kubectl get --raw and specify the file"
        ) from error
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise InputError(f"{shown} is not a configuration: its answer is not JSON") from None
    if not isinstance(found, dict):
        raise InputError(f"{shown} is not a configuration: it is not a JSON object")
    return found


def without_credentials(url: str) -> str:
    """An address that can be shown to anybody."""
    scheme, separator, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path.partition('?')[0]}"


class _UnreadableError(Exception):
    """Why an address cannot be read."""


async def _get(address: str) -> bytes:
    import aiohttp

    limit = aiohttp.ClientTimeout(total=_SECONDS)
    try:
        urlsplit(address).port  # noqa: B018 - raises for one that is no number
        async with (
            aiohttp.ClientSession(timeout=limit, trust_env=True) as session,
            session.get(address, allow_redirects=False) as answer,
        ):
            if answer.status != HTTPStatus.OK:
                raise _UnreadableError(f"it answers {answer.status} {answer.reason or ''}".rstrip())
            content = bytearray()
            async for part in answer.content.iter_any():
                content += part
                if len(content) > _MOST_BYTES:
                    raise _UnreadableError(f"it is larger than {_MOST_BYTES >> 20} MiB")
            return bytes(content)
    except TimeoutError:
        raise _UnreadableError(f"it did not answer within {_SECONDS} seconds") from None
    except aiohttp.ClientConnectorCertificateError as error:
        raise _UnreadableError(_certificate_problem(error.certificate_error)) from error
    except aiohttp.ClientConnectorError as error:
        raise _UnreadableError(_connection_problem(error.os_error)) from error
    except aiohttp.ClientResponseError as error:
        raise _UnreadableError("it does not answer in HTTP") from error
    except (aiohttp.InvalidURL, ValueError) as error:
        raise _UnreadableError("it is not an address") from error
    except (aiohttp.ClientError, OSError) as error:
        raise _UnreadableError(" ".join(str(error).split()) or type(error).__name__) from error


def _connection_problem(error: OSError) -> str:
    # asyncio's own text is about a call; numbers below 0 are those of name servers.
    number = error.errno or 0
    return os.strerror(number) if number > 0 else error.strerror or str(error)


def _certificate_problem(error: Exception) -> str:
    told = getattr(error, "verify_message", "")
    return f"certificate verify failed: {told}" if told else "certificate verify failed"
