"""The version of an API server and how far its clock is ahead; `cluster_reading` asks for them."""

import asyncio
import datetime
import time
from email.utils import parsedate_to_datetime
from typing import Any, Final

import msgspec

from mooring.errors import KubeError
from mooring.kube.cluster_config import ClusterConfig
from mooring.kube.sessions.api_request import DEFAULT_LIMITS, AnswerStream, ApiRequest
from mooring.kube.sessions.session import CONNECTION_ERRORS, Session

_PATH: Final = "/version"
#: The answer has less than a kilobyte; it is the first thing that whoever is there is asked.
_MOST_MIB: Final = 1


async def server_version(config: ClusterConfig) -> tuple[str, float | None]:
    """The API server's version, and how many seconds its clock is ahead; None if it has no date.

    Raises:
        KubeError: the API server could not be reached, or answers something else.
    """
    session = Session(config, DEFAULT_LIMITS, "mooring")
    await session.open()
    try:
        before = time.time()
        async with session.stream(ApiRequest(method="GET", path=_PATH)) as answer:
            try:
                body = await _body(answer)
            except CONNECTION_ERRORS as error:
                raise session.connection_error(error) from error
        middle = (before + time.time()) / 2
        date = answer.headers.get("date", "")
    finally:
        await session.close()
    try:
        version = str(msgspec.json.decode(body, type=dict[str, Any]).get("gitVersion", ""))
    except msgspec.MsgspecError:
        version = ""
    return version, _skew(date, middle)


async def _body(answer: AnswerStream) -> bytes:
    body = bytearray()
    seconds = DEFAULT_LIMITS.request_seconds
    async with asyncio.timeout(seconds):
        while part := await answer.read(seconds + 1):
            body += part
            if len(body) > _MOST_MIB << 20:
                raise KubeError(
                    f"The response to {_PATH} is not what Kubernetes answers: it has more than "
                    f"{_MOST_MIB} MiB."
                )
    return bytes(body)


def _skew(date: str, now: float) -> float | None:
    try:
        there = parsedate_to_datetime(date)
    except (TypeError, ValueError):
        return None
    if there.tzinfo is None:
        there = there.replace(tzinfo=datetime.UTC)
    # The header has whole seconds, rounded down.
    return there.timestamp() + 0.5 - now
