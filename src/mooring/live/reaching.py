"""Waiting for the API server at the start.

A scheduler may be started before it, as on a new control plane. `life` asks here first, so that one
sentence says what is wrong and not one for each resource that is watched.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final

from mooring.errors import ApiError, ConfigError, KubeError
from mooring.kube.client import Client
from mooring.live.health import Health

log = logging.getLogger("mooring.live")

_FIRST_PAUSE_SECONDS: Final = 0.25
_MOST_PAUSE_SECONDS: Final = 5.0


async def reach(
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
                break  # whoever may not ask for the version may have all other rights
            health.trouble = str(error)
            if health.trouble != said:
                log.warning("%s (it is tried again)", error)
                said = health.trouble
            await sleep(pause)
            pause = min(2 * pause, _MOST_PAUSE_SECONDS)
        else:
            break
    health.trouble = ""
