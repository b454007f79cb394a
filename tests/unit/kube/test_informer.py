import asyncio
import logging

import pytest

from mooring.errors import ApiError, KubeError
from mooring.kube.client import Client
from mooring.kube.informer import Informer
from mooring.kube.reflector import Reflector, ReflectorQuery
from mooring.model.change import Gone, Put
from tests.unit.kube.fake_api import PATH, FakeApi, fake_api
from tests.unit.kube.harness import Listener, Thing, identity, make, watching


def names(api: FakeApi) -> set[str]:
    return {f"ns/{name}" for name in api.objects}


def test_the_first_list_comes_from_memory_that_is_new_and_then_events_follow() -> None:
    async def main() -> None:
        async with fake_api() as api:
            for number in range(7):
                api.put(f"t{number}")
            async with watching(api, page_size=3) as (informer, listener):
                await informer.wait_synced()
                assert [len(batch) for batch in listener.batches] == [7]
                assert informer.known.keys() == names(api)
                api.put("t0", value=5)
                api.delete("t1")
                await listener.until(lambda: len(listener.view) == 6)
                assert informer.known["ns/t0"].value == 5
                assert informer.connected
                assert informer.stale_since is None
                assert informer.error is None
                await listener.until(lambda: api.watchers == 1)
            assert [seen.query.get("limit") for seen in api.seen] == ["3", None, None]
            assert api.seen[1].query == {
                "resourceVersion": "8",
                "resourceVersionMatch": "NotOlderThan",
            }
            assert api.seen[1].headers["accept-encoding"] == ["identity"]
            watch = api.seen[-1].query
            assert watch["allowWatchBookmarks"] == "true"
            assert watch["timeoutSeconds"] == "600"
            assert informer.counters.lists == 1
            assert informer.counters.watches == 1
            assert informer.counters.events == 2
            assert not informer.connected

    asyncio.run(main())


def test_later_lists_come_in_pages_and_are_the_newest() -> None:
    async def main() -> None:
        async with fake_api() as api:
            for number in range(7):
                api.put(f"t{number}")
            api.answer(200, b'{"metadata":{"resourceVersion":"7","continue":"x"},"items":[]}')
            api.answer(200, b'{"metadata":{"resourceVersion":"8"},"items":[{"metadata":')
            async with watching(api, page_size=3) as (informer, listener):
                await informer.wait_synced()
                assert [len(batch) for batch in listener.batches] == [3, 3, 1]
                assert informer.known.keys() == names(api)
            lists = [seen.query for seen in api.seen if "watch" not in seen.query]
            assert [query.get("limit") for query in lists] == ["3", None, "3", "3", "3"]
            versions = [query.get("resourceVersion") for query in lists]
            assert versions == [None, "7", None, None, None]
            assert informer.counters.lists == informer.counters.errors == 1

    asyncio.run(main())


def test_the_first_list_comes_in_pages_if_memory_is_behind() -> None:
    async def main() -> None:
        async with fake_api() as api:
            for number in range(7):
                api.put(f"t{number}")
            released = api.hang(after=1)
            async with watching(api, page_size=3) as (informer, listener):
                await informer.wait_synced()
                assert [len(batch) for batch in listener.batches] == [3, 3, 1]
                assert informer.known.keys() == names(api)
                released.set()
            limits = [seen.query.get("limit") for seen in api.seen if "watch" not in seen.query]
            assert limits == ["3", None, "3", "3"]
            assert informer.counters.errors == 0

    asyncio.run(main())


@pytest.mark.parametrize(
    ("objects", "page_size", "limits"),
    [
        # what fits into the first answer is not asked for twice, nor what is left of it is little
        (7, 500, ["100"]),
        (7, 3, ["3", "3", "3"]),
        (130, 500, ["100", "500"]),
    ],
)
def test_the_first_list_is_not_asked_for_twice_if_it_is_short(
    objects: int, page_size: int, limits: list[str]
) -> None:
    async def main() -> None:
        async with fake_api(counts=True) as api:
            for number in range(objects):
                api.put(f"t{number}")
            async with watching(api, page_size=page_size) as (informer, _):
                await informer.wait_synced()
                assert informer.known.keys() == names(api)
            lists = [seen.query for seen in api.seen if "watch" not in seen.query]
            assert [query.get("limit") for query in lists] == limits
            assert not any("resourceVersion" in query for query in lists)

    asyncio.run(main())


def test_events_of_one_chunk_are_told_in_one_call() -> None:
    async def main() -> None:
        async with fake_api() as api, watching(api) as (_, listener):
            await listener.until(lambda: api.watchers == 1)
            lines = b"".join(
                b'{"type":"ADDED","object":{"metadata":{"name":"n%d","namespace":"ns",'
                b'"uid":"u","resourceVersion":"%d"}}}\n' % (number, 10 + number)
                for number in range(5)
            )
            api.send(lines)
            await listener.until(lambda: bool(listener.view))
            assert [len(batch) for batch in listener.batches] == [5]

    asyncio.run(main())


def test_a_clean_end_resumes_at_once_from_the_last_version() -> None:
    async def main() -> None:
        async with fake_api() as api:
            api.put("a")
            async with watching(api) as (informer, listener):
                await listener.until(lambda: api.watchers == 1)
                api.put("b")
                await listener.until(lambda: "b" in listener.view)
                last = str(api.version)
                api.end_watches()
                await listener.until(lambda: informer.counters.watches == 2 and api.watchers == 1)
                assert api.seen[-1].query["resourceVersion"] == last
                assert listener.pauses == []
                assert informer.counters.lists == 1

    asyncio.run(main())


def test_a_bookmark_moves_the_version_forward() -> None:
    async def main() -> None:
        async with fake_api() as api, watching(api) as (informer, listener):
            await listener.until(lambda: api.watchers == 1)
            api.bookmark()
            at_bookmark = str(api.version)
            api.end_watches()
            await listener.until(lambda: informer.counters.watches == 2)
            assert api.seen[-1].query["resourceVersion"] == at_bookmark
            assert informer.counters.events == 0

    asyncio.run(main())


def test_a_broken_connection_resumes_after_a_pause_and_loses_nothing() -> None:
    async def main() -> None:
        async with fake_api() as api:
            api.put("a")
            async with watching(api) as (informer, listener):
                await listener.until(lambda: api.watchers == 1)
                api.cut()
                api.put("b")
                api.delete("a")
                await listener.until(lambda: set(listener.view) == {"b"})
                assert listener.puts == ["a", "b"]
                assert listener.pauses == [0.8]
                assert informer.counters.lists == 1
                assert informer.counters.errors == 1

    asyncio.run(main())


@pytest.mark.parametrize("by_event", [False, True])
def test_an_expired_version_lists_again_and_tells_only_the_difference(by_event: bool) -> None:
    async def main() -> None:
        async with fake_api() as api:
            api.expired_by_event = by_event
            for name in ("stays", "goes", "changes", "is-replaced"):
                api.put(name)
            async with watching(api) as (informer, listener):
                await listener.until(lambda: api.watchers == 1)
                listener.time += 400.0
                api.end_watches()
                await listener.until(lambda: api.watchers == 0)
                # before the informer is back
                api.delete("goes")
                api.put("changes", value=1)
                api.delete("is-replaced")
                api.put("is-replaced", uid="other")
                api.put("comes")
                api.compact()
                await listener.until(lambda: "goes" not in listener.view)
                told = [change for batch in listener.batches[1:] for change in batch]
                assert [type(change) for change in told] == [Put, Put, Put, Gone]
                assert informer.counters.lists == 2
                assert informer.known.keys() == names(api)
                assert listener.pauses == []

    asyncio.run(main())


def test_a_list_that_expires_between_pages_starts_again_in_one_piece() -> None:
    async def main() -> None:
        async with fake_api() as api:
            for number in range(5):
                api.put(f"t{number}")
            api.answer(500, b"")  # later lists are in pages
            listener = Listener(api.bell)

            def on_page(changes: list[Put[Thing] | Gone[Thing]]) -> None:
                listener.on_changes(changes)
                if len(listener.batches) == 1:
                    api.delete("t0")
                    api.compact()

            async with Client(api.config) as client:
                source = Reflector(
                    client,
                    ReflectorQuery(path=PATH, page_size=2),
                    make,
                    identity,
                    pacing=listener.pacing,
                )
                informer = Informer(source, on_page, clock=listener.clock)
                async with asyncio.TaskGroup() as group:
                    group.create_task(informer.run())
                    await informer.wait_synced()
                    informer.stop()
            assert informer.known.keys() == names(api)
            assert [seen.query.get("limit") for seen in api.seen[1:4]] == ["2", "2", None]
            assert len(listener.pauses) == 1

    asyncio.run(main())


def test_an_api_server_that_only_says_expired_is_not_hammered() -> None:
    async def main() -> None:
        async with fake_api() as api, watching(api) as (informer, listener):
            await listener.until(lambda: api.watchers == 1)
            listener.time += 400.0
            api.compacted = 10**9
            api.end_watches()
            await listener.until(lambda: len(listener.pauses) == 4)
            assert listener.pauses == [0.8, 1.6, 3.2, 6.4]
            assert isinstance(informer.error, ApiError)

    asyncio.run(main())


def test_a_watch_that_ends_at_once_is_not_hammered() -> None:
    async def main() -> None:
        async with fake_api() as api:
            api.answer(200, b'{"metadata":{"resourceVersion":"5"},"items":[]}')
            for _ in range(3):
                api.answer(200)
            async with watching(api) as (_, listener):
                await listener.until(lambda: api.watchers == 1)
                assert listener.pauses == [0.8, 1.6, 3.2]

    asyncio.run(main())


def test_missing_rights_are_told_at_once_logged_once_and_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sentence = 'things is forbidden: User "me" cannot list resource "things" in API group ""'

    async def main() -> None:
        async with fake_api() as api:
            for _ in range(4):
                api.deny(403, sentence, "Forbidden")
            async with watching(api) as (informer, listener):
                with pytest.raises(ApiError, match='cannot list resource "things"') as caught:
                    await informer.wait_synced()
                assert caught.value.status == 403
                assert informer.error is not None
                assert informer.stale_since == 0.0
                await informer.synced.wait()
                await listener.until(lambda: api.watchers == 1)
                await informer.wait_synced()
                assert listener.pauses == [0.8, 1.6, 3.2, 6.4]
                api.bookmark()
                api.put("a")
                await listener.until(lambda: bool(listener.view))
                assert informer.error is None

    with caplog.at_level(logging.INFO, "mooring.kube"):
        asyncio.run(main())
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert [sentence in record.getMessage() for record in warnings] == [True]
    assert any("again" in record.getMessage() for record in caplog.records)


def test_an_object_that_cannot_be_understood_is_skipped_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        async with fake_api() as api:
            api.put("bad", value="no number")
            api.put("good")
            api.put("turns-bad")
            api.put("replaced-by-bad")
            async with watching(api) as (informer, listener):
                await listener.until(lambda: api.watchers == 1)
                assert set(listener.view) == {"good", "turns-bad", "replaced-by-bad"}
                api.put("bad", value="still no number")
                api.put("turns-bad", value="now")
                api.put("good", value=2)
                await listener.until(lambda: listener.view["good"].value == 2)
                assert informer.known["ns/turns-bad"].value == 0
                api.end_watches()
                api.delete("replaced-by-bad")
                api.put("replaced-by-bad", uid="other", value="no number")
                api.compact()
                await listener.until(lambda: "replaced-by-bad" not in listener.view)
                assert "turns-bad" in listener.view
                api.delete("turns-bad")
                api.delete("bad")
                await listener.until(lambda: "turns-bad" not in listener.view)
                assert informer.counters.skipped >= 4

    asyncio.run(main())
    texts = [record.getMessage() for record in caplog.records]
    assert len([text for text in texts if text.startswith("ns/bad ")]) == 1


@pytest.mark.parametrize("garbage", [b"what?\n", b"[1]\n", b'{"type":"ADDED"}\n', b"\xff\xfe\n"])
def test_a_garbage_line_watches_again_from_the_last_version(garbage: bytes) -> None:
    async def main() -> None:
        async with fake_api() as api, watching(api) as (informer, listener):
            await listener.until(lambda: api.watchers == 1)
            api.send(garbage)
            await listener.until(lambda: len(listener.pauses) == 1)
            api.put("a")
            await listener.until(lambda: "a" in listener.view)
            assert informer.counters.lists == 1

    asyncio.run(main())


def test_huge_objects_arrive() -> None:
    async def main() -> None:
        async with fake_api() as api, watching(api) as (_, listener):
            await listener.until(lambda: api.watchers == 1)
            api.put("huge", value=7, padding="x" * (8 * 2**20))
            api.put("small")
            await listener.until(lambda: "small" in listener.view)
            assert listener.view["huge"].value == 7

    asyncio.run(main())


def test_other_errors_on_a_watch_do_not_list_again() -> None:
    async def main() -> None:
        async with fake_api() as api, watching(api) as (informer, listener):
            await listener.until(lambda: api.watchers == 1)
            api.deny(429, "too many requests", "TooManyRequests")
            api.end_watches()
            api.put("a")
            await listener.until(lambda: "a" in listener.view)
            assert informer.counters.lists == 1
            assert informer.counters.errors == 1

    asyncio.run(main())


def test_an_error_event_is_told_with_its_words() -> None:
    async def main() -> None:
        async with fake_api() as api, watching(api) as (informer, listener):
            await listener.until(lambda: api.watchers == 1)
            api.send(b'{"type":"ERROR","object":{"code":500,"message":"etcd is away"}}\n')
            await listener.until(lambda: len(listener.pauses) == 1)
            assert "etcd is away" in str(informer.error)

    asyncio.run(main())


def test_an_answer_that_is_no_list_is_an_error() -> None:
    async def main() -> None:
        async with fake_api() as api:
            api.answer(200, b"<html>")
            api.answer(200, b'{"metadata":{},"items":[]}')
            async with watching(api) as (informer, listener):
                await listener.until(lambda: len(listener.pauses) == 1)
                assert "is not a list" in str(informer.error)
                await listener.until(lambda: len(listener.pauses) == 2)
                assert "no resourceVersion" in str(informer.error)

    asyncio.run(main())


def test_contact_and_staleness_follow_the_clock() -> None:
    async def main() -> None:
        async with fake_api() as api, watching(api) as (informer, listener):
            before = informer.last_contact
            assert before is None
            await listener.until(lambda: informer.connected)
            assert informer.last_contact == 0.0
            listener.time = 100.0
            api.put("a")
            await listener.until(lambda: "a" in listener.view)
            assert informer.last_contact == 100.0
            api.cut()
            await listener.until(lambda: len(listener.pauses) == 1)
            assert informer.stale_since == 100.0

    asyncio.run(main())


def test_an_exception_of_the_listener_ends_run() -> None:
    async def main() -> None:
        async with fake_api() as api, Client(api.config) as client:
            api.put("a")

            def fail(changes: object) -> None:
                raise OSError("a bug of the caller, not of the connection")

            source = Reflector(client, ReflectorQuery(path=PATH), make, identity)
            informer = Informer(source, fail)
            with pytest.raises(OSError, match="a bug"):
                await informer.run()
            with pytest.raises(KubeError, match="stopped before its first list"):
                await informer.wait_synced()

    asyncio.run(main())


def test_cancelling_and_stopping() -> None:
    async def main() -> None:
        async with fake_api() as api, Client(api.config) as client:
            source = Reflector(client, ReflectorQuery(path=PATH), make, identity)
            informer = Informer(source, lambda _: None)
            task = asyncio.create_task(informer.run())
            await informer.wait_synced()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            informer.stop()
            await informer.run()  # stopped before it began

    asyncio.run(main())


@pytest.mark.parametrize("status", [403, 404])
def test_a_resource_that_need_not_be_there_is_empty_until_it_is(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with fake_api() as api:
            for _ in range(3):
                api.deny(status, "there is no such thing", "")
            async with watching(api, optional=True) as (informer, listener):
                await informer.wait_synced()
                assert not informer.known
                absent = informer.absent
                assert absent
                assert informer.stale_seconds == 0.0
                api.put("a")
                await listener.until(lambda: "a" in listener.view)
                await listener.until(lambda: informer.connected)
                assert not informer.absent
                assert informer.error is None

    asyncio.run(main())
    warnings = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert warnings[0].endswith("(/api/v1/things; it is treated as empty; retrying)")


def test_what_need_not_be_there_can_still_be_unreachable() -> None:
    async def main() -> None:
        async with fake_api() as api:
            api.deny(500, "etcd is away", "")
            async with watching(api, optional=True) as (informer, listener):
                await listener.until(lambda: len(listener.pauses) == 1)
                assert not informer.synced.is_set()
                assert not informer.absent
                await informer.wait_synced()

    asyncio.run(main())
