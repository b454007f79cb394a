"""The scheduler's client: who may write, and how often."""

import asyncio

import pytest

from mooring.kube.client import Client
from mooring.live.client import LiveClient, NotLeading, RateLimiter
from mooring.live.options import RateLimit
from tests.unit.kube.fake_api import fake_api


class FakeTime:
    """A clock that moves only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0
        self.pauses: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(round(seconds, 6))
        self.now += seconds

    def rate_limiter(self, qps: float, burst: int) -> RateLimiter:
        return RateLimiter(RateLimit(qps, burst), clock=lambda: self.now, sleep=self.sleep)


class TestPace:
    def test_a_burst_then_evenly(self) -> None:
        time = FakeTime()
        rate_limiter = time.rate_limiter(10, 3)

        async def run() -> None:
            for _ in range(6):
                await rate_limiter.wait()

        asyncio.run(run())
        assert time.pauses == [0.1, 0.1, 0.1]

    def test_a_pause_gives_the_burst_back_and_no_more(self) -> None:
        time = FakeTime()
        rate_limiter = time.rate_limiter(10, 2)

        async def run() -> None:
            for _ in range(3):
                await rate_limiter.wait()
            time.now += 1000
            for _ in range(3):
                await rate_limiter.wait()

        asyncio.run(run())
        assert time.pauses == [0.1, 0.1]

    def test_those_who_wait_together_wait_for_each_other(self) -> None:
        pauses: list[float] = []

        async def sleep(seconds: float) -> None:
            pauses.append(round(seconds, 6))

        rate_limiter = RateLimiter(RateLimit(1, 1), clock=lambda: 5.0, sleep=sleep)

        async def run() -> None:
            await asyncio.gather(*(rate_limiter.wait() for _ in range(4)))

        asyncio.run(run())
        assert pauses == [1, 2, 3]

    def test_no_burst_still_lets_one_through(self) -> None:
        time = FakeTime()
        asyncio.run(time.rate_limiter(10, 0).wait())
        assert time.pauses == []


class TestClient:
    def test_only_a_leader_writes(self) -> None:
        leads = True

        async def run() -> list[str]:
            nonlocal leads
            async with fake_api() as api:
                client: Client
                async with LiveClient(api.config, may_write=lambda: leads) as client:
                    await client.request("POST", "/x", body={})
                    leads = False
                    for method in ("POST", "PUT", "PATCH", "DELETE"):
                        with pytest.raises(NotLeading, match=f"{method} /x is not sent"):
                            await client.request(method, "/x", body={})
                    with pytest.raises(NotLeading):
                        await client.bind("ns", "pod", "uid", "node")
                    await client.request("GET", "/x")
                return [one.method for one in api.seen]

        assert asyncio.run(run()) == ["POST", "GET"]

    def test_who_stops_leading_while_it_waits_for_its_turn_writes_nothing(self) -> None:
        leads = True

        async def run() -> int:
            nonlocal leads
            async with fake_api() as api:
                client = LiveClient(api.config, rate=RateLimit(10, 1), may_write=lambda: leads)
                async with client:
                    await client.request("POST", "/x")
                    waiting = asyncio.create_task(client.request("POST", "/x"))
                    await asyncio.sleep(0)
                    leads = False
                    with pytest.raises(NotLeading):
                        await waiting
                return len(api.seen)

        assert asyncio.run(run()) == 1

    def test_who_stops_leading_while_a_connection_is_made_writes_nothing(self) -> None:
        """A process that was stopped and wakes up has requests that wait for connections."""
        asked = 0

        def only_at_first() -> bool:
            nonlocal asked
            asked += 1
            return asked == 1

        async def run() -> list[str]:
            async with fake_api() as api:
                async with LiveClient(api.config, may_write=only_at_first) as client:
                    with pytest.raises(NotLeading, match="POST /x is not sent"):
                        await client.request("POST", "/x", body={})
                    await client.request("GET", "/x")
                return [one.method for one in api.seen]

        assert asyncio.run(run()) == ["GET"]

    def test_it_says_who_it_is(self) -> None:
        async def run() -> list[str]:
            async with fake_api() as api, LiveClient(api.config) as client:
                await client.request("GET", "/x")
                return api.seen[0].headers["user-agent"]

        assert asyncio.run(run()) == ["mooring/scheduler"]
