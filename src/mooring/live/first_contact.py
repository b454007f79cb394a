"""Waiting for the API server and the first lists, at the start.

A scheduler may be started before it, as on a new control plane. `lifecycle` asks here first, so
that one sentence says what is wrong and not one for each resource that is watched.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

from mooring.errors import ApiError, ConfigError, KubeError
from mooring.kube.client import Client
from mooring.kube.informer import Informer
from mooring.live.health import Health

log = logging.getLogger("mooring.live")

_FIRST_PAUSE_SECONDS: Final = 0.25
_MOST_PAUSE_SECONDS: Final = 5.0
_OTHERS_SECONDS: Final = 2.0


async def wait_for_api_server(
    client: Client,
    health: Health,
    *,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> None:
    """Wait until the API server answers.

    Args:
        client: asks it.
        health: shows why it does not answer.
        sleep: waits between two tries.

    Raises:
        ApiError: it does not accept our credentials.
        ConfigError: we have no credentials that could be used.
    """
    said, pause = "", _FIRST_PAUSE_SECONDS
    while True:
        try:
            await client.request("GET", "/version")
        except KubeError as error:
            status = error.status if isinstance(error, ApiError) else 0
            if status == HTTPStatus.UNAUTHORIZED or isinstance(error, ConfigError):
                raise
            if 0 < status < HTTPStatus.INTERNAL_SERVER_ERROR:
                break  # whoever may not ask for the version may have all other permissions
            health.api_server_error = str(error)
            if health.api_server_error != said:
                log.warning("%s (retrying)", error)
                said = health.api_server_error
            await sleep(pause)
            pause = min(2 * pause, _MOST_PAUSE_SECONDS)
        else:
            break
    health.api_server_error = ""


async def wait_synced(
    informers: Mapping[str, Informer[Any]], *, seconds: float = _OTHERS_SECONDS
) -> None:
    """Wait until all first lists are complete.

    Args:
        informers: they run already; by resource.
        seconds: once one is rejected, the others have so long to learn whether they are, too.

    Raises:
        KubeError: the API server rejects some of them; it names all.
    """
    waits = {
        resource: asyncio.create_task(informer.wait_synced())
        for resource, informer in informers.items()
    }
    try:
        done, pending = await asyncio.wait(waits.values(), return_when=asyncio.FIRST_EXCEPTION)
        if pending:
            more, pending = await asyncio.wait(pending, timeout=seconds)
            done |= more
        rejected = {
            resource: error
            for resource, task in waits.items()
            if task in done and (error := task.exception()) is not None
        }
    finally:
        for task in waits.values():
            task.cancel()
    if rejected:
        first, *others = rejected
        raise _together(rejected[first], others)


def _together(error: BaseException, others: list[str]) -> BaseException:
    """One error for all that were rejected; what is wrong with credentials is said once anyway."""
    if not others or not isinstance(error, ApiError) or error.status != HTTPStatus.FORBIDDEN:
        return error
    text = f"{str(error).rstrip('.')}. Also rejected: {', '.join(others)}."
    return ApiError(text, status=error.status, reason=error.reason)
