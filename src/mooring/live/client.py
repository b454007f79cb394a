"""The scheduler's client: nothing is written by a process that may not lead any more.

A bounded number of writes is under way at the same time, and the configuration's limit of requests
is kept, if it has one. Leader election has a client of its own, so that its requests wait for no
others.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from mooring.errors import KubeError
from mooring.kube.client import JSON, Client
from mooring.kube.cluster_config import ClusterConfig
from mooring.kube.http1.slots import Slots
from mooring.kube.sessions.api_request import ClientLimits, Params
from mooring.live.options import RateLimit

#: So many writes are sent at the same time, each over its own connection; the others wait.
MAX_CONCURRENT_WRITES: Final = 64
#: Half of the connections are for writes.
_LIMITS: Final = ClientLimits(connections=2 * MAX_CONCURRENT_WRITES)


class NotLeading(KubeError):  # noqa: N818 - reads as the sentence it is raised with
    """Something was to be written after the Lease was lost."""


def guard_of(may_write: Callable[[], bool]) -> Callable[[str, str], None]:
    """What a client asks before it sends a body: nobody writes who may not.

    Args:
        may_write: whether this process may change the cluster at this very moment.
    """

    def guard(method: str, path: str) -> None:
        if method != "GET" and not may_write():
            raise NotLeading(f"{method} {path} is not sent: this process is not the leader.")

    return guard


class RateLimiter:
    """Lets so many through a second, in the order they came.

    Args:
        rate: how many.
        clock: seconds that only grow.
        sleep: waits.
    """

    def __init__(
        self,
        rate: RateLimit,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._step = 1 / rate.qps
        self._ahead = max(rate.burst, 1) / rate.qps
        self._clock = clock
        self._sleep = sleep
        self._next = 0.0

    def take(self) -> Awaitable[object] | None:
        """Take one's turn; what to await until it has come, None if it is now."""
        now = self._clock()
        # The time at which this one would come if all came evenly; it may come a burst earlier.
        self._next = max(self._next, now) + self._step
        wait = self._next - now - self._ahead
        return self._sleep(wait) if wait > 0 else None

    async def wait(self) -> None:
        """Wait for one's turn."""
        if (turn := self.take()) is not None:
            await turn


class LiveClient(Client):
    """Talks to the API server for the scheduler.

    Args:
        config: which API server, and who we are.
        limits: how long and how much to wait for.
        rate: how many requests are sent a second; None for no limit. Watches do not count.
        may_write: whether this process may change the cluster at this very moment.
    """

    def __init__(
        self,
        config: ClusterConfig,
        *,
        limits: ClientLimits = _LIMITS,
        rate: RateLimit | None = None,
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:
        #: Asked before a request waits for a connection, and again when it is sent.
        self._check = guard_of(may_write)
        # Near the API server, to compress a list takes it longer than to send it.
        config = replace(config, compression=False)
        super().__init__(config, limits=limits, user_agent="mooring/scheduler", guard=self._check)
        self._rate_limiter = RateLimiter(rate) if rate is not None else None
        self._write_slots = Slots(MAX_CONCURRENT_WRITES)
        #: How many writes are under way, wait for their turn or have an unknown outcome.
        self.writes = 0

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        body: object = None,
        content_type: str = JSON,
        seconds: float | None = None,
    ) -> bytes:
        """Send one request and return the whole answer, as `Client.request` does.

        Raises:
            NotLeading: it would change the cluster, and this process does not lead.
            KubeError: as `Client.request` raises it.
        """
        if method == "GET":
            return await self._send(method, path, params, body, content_type, seconds)
        self.writes += 1
        try:
            if not self._write_slots.take():
                await self._write_slots.wait()
            try:
                return await self._send(method, path, params, body, content_type, seconds)
            finally:
                self._write_slots.give_back()
        finally:
            self.writes -= 1

    async def _send(
        self,
        method: str,
        path: str,
        params: Params | None,
        body: object,
        content_type: str,
        seconds: float | None,
    ) -> bytes:
        if self._rate_limiter is not None and (turn := self._rate_limiter.take()) is not None:
            await turn
        self._check(method, path)
        return await super().request(
            method, path, params=params, body=body, content_type=content_type, seconds=seconds
        )
