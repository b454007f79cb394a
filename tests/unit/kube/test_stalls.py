"""Watches that go silent, in a time that only passes when the test says so."""

import asyncio
import logging

import pytest
from aiohttp import web

from mooring.kube.client import Client
from mooring.kube.informer import Informer
from mooring.kube.sessions.api_request import ClientLimits
from mooring.kube.stalls import SILENCE_SECONDS, Stalled, ends_when_silent
from tests.unit.kube.fake_api import FakeApi, fake_api
from tests.unit.kube.harness import Listener, Thing, watching
from tests.unit.kube.virtual_time import VirtualTime

_A_WHILE = SILENCE_SECONDS + 2


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]


async def opened(api: FakeApi, informer: Informer[Thing], listener: Listener, watches: int) -> None:
    await listener.until(lambda: informer.counters.watches == watches and api.watchers >= 1)


def test_a_watch_that_stalls_is_told_and_replaced(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with fake_api() as api, watching(api) as (informer, listener):
            await opened(api, informer, listener, 1)
            api.bookmark()
            listener.time = 50.0
            api.put("a")
            await listener.until(lambda: "a" in listener.view)
            assert informer.stale_seconds == 0.0
            for stalls in (1, 2, 3):
                before = listener.time
                await listener.pass_by(_A_WHILE)
                await opened(api, informer, listener, 1 + stalls)
                assert informer.counters.stalls == stalls
                assert informer.counters.lists == 1
                assert listener.time >= before + _A_WHILE
            assert informer.last_contact == listener.time
            assert informer.connected

    asyncio.run(main())
    [warning] = warnings(caplog)
    assert "No data was received for /api/v1/things for 90s, not even the bookmark" in warning


def test_staleness_counts_from_the_last_word_of_a_stalled_watch() -> None:
    async def main() -> None:
        async with fake_api() as api, watching(api) as (informer, listener):
            await opened(api, informer, listener, 1)
            listener.time = 10.0
            api.bookmark()
            api.put("a")
            await listener.until(lambda: "a" in listener.view)
            seen: list[float | None] = []
            closed = informer.watch_closed

            def note(*, stalled: bool) -> None:
                closed(stalled=stalled)
                seen.extend((informer.stale_since, informer.stale_seconds))

            informer.watch_closed = note  # type: ignore[method-assign]
            await listener.pass_by(_A_WHILE)
            await listener.until(lambda: bool(seen))
            assert seen == [10.0, SILENCE_SECONDS + 1]
            await opened(api, informer, listener, 2)
            assert informer.stale_seconds == 0.0

    asyncio.run(main())


def test_a_resource_without_changes_is_watched_anew_without_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        async with fake_api() as api, watching(api) as (informer, listener):
            await opened(api, informer, listener, 1)
            await listener.pass_by(_A_WHILE)
            await opened(api, informer, listener, 2)
            look, watch = api.seen[-2:]
            assert look.query.get("limit") == "1"
            assert "watch" not in look.query
            assert watch.query["resourceVersion"] == "1"
            assert informer.counters.lists == 1
            assert informer.counters.errors == 0
            assert listener.pauses == []

    asyncio.run(main())
    assert warnings(caplog) == []


def test_an_api_server_without_bookmarks_is_not_complained_about(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        async with fake_api() as api, watching(api) as (informer, listener):
            await opened(api, informer, listener, 1)
            api.put("a")
            await listener.until(lambda: "a" in listener.view)
            await listener.pass_by(_A_WHILE)
            await opened(api, informer, listener, 2)

    asyncio.run(main())
    assert warnings(caplog) == []


def test_what_the_dead_connection_kept_back_arrives_with_the_next_watch() -> None:
    async def main() -> None:
        async with fake_api() as api, watching(api) as (informer, listener):
            await opened(api, informer, listener, 1)
            api.mute()
            api.put("a")
            await listener.pass_by(_A_WHILE)
            await listener.until(lambda: "a" in listener.view)
            assert informer.counters.lists == 1

    asyncio.run(main())


def test_an_api_server_that_does_not_answer_any_more_is_told_soon() -> None:
    async def never(request: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    async def main() -> None:
        async with fake_api() as api:
            # Of all time limits, the shortest is meant to be the one that counts.
            client = Client(api.config, limits=ClientLimits(request_seconds=1.0))
            async with watching(api, client=client) as (informer, listener):
                await opened(api, informer, listener, 1)
                api.script.append(never)
                await listener.pass_by(_A_WHILE)
                await listener.until(lambda: "did not answer in time" in str(informer.error))
                assert informer.stale_since is not None
                await listener.until(lambda: informer.connected)

    asyncio.run(main())


def test_words_in_time_keep_a_watch_open() -> None:
    async def main() -> None:
        async with fake_api() as api, watching(api) as (informer, listener):
            await opened(api, informer, listener, 1)
            for _ in range(5):
                await listener.pass_by(SILENCE_SECONDS - 1)
                api.bookmark()
                await listener.until(lambda: informer.last_contact == listener.time)
            assert informer.counters.watches == 1
            assert informer.counters.stalls == 0

    asyncio.run(main())


def test_after_a_long_stop_there_is_time_to_read_what_has_arrived() -> None:
    async def main() -> None:
        time = VirtualTime(now=0.0)
        heard_at = 0.0
        went_on = False

        async def read() -> None:
            nonlocal heard_at, went_on
            await time.sleep(SILENCE_SECONDS + 0.5)
            heard_at = time.now  # it lay there all the time
            await time.sleep(SILENCE_SECONDS - 1)
            went_on = True
            await time.sleep(1000.0)

        async def watch() -> None:
            async with ends_when_silent(lambda: heard_at, time.clock, time.sleep):
                await read()

        task = asyncio.create_task(watch())
        await time.pass_by(2 * SILENCE_SECONDS)
        assert went_on
        assert not task.done()
        await time.pass_by(5.0)
        with pytest.raises(Stalled):
            await task

    asyncio.run(main())


def test_a_timeout_of_the_reader_stays_what_it_is() -> None:
    async def main() -> None:
        time = VirtualTime()
        with pytest.raises(TimeoutError, match="mine"):
            async with ends_when_silent(time.clock, time.clock, time.sleep):
                raise TimeoutError("mine")

    asyncio.run(main())
