"""What an informer makes of events and lists that tell of the past."""

import asyncio
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.kube.client import Client
from mooring.kube.cluster_config import ClusterConfig
from mooring.kube.informer import Informer
from mooring.kube.reflector import Reflector, ReflectorQuery
from mooring.kube.watch_protocol import OLDER_LISTS, ReceivedObject
from mooring.model.change import Gone, Put
from tests.unit.kube.fake_api import PATH, FakeApi, fake_api
from tests.unit.kube.harness import Listener, Meta, Thing, identity, make, watching


def shown(informer: Informer[Thing]) -> dict[str, tuple[str, str]]:
    """What an informer knows: names with unique ids and versions."""
    return {
        key: (thing.metadata.uid, thing.metadata.resource_version)
        for key, thing in informer.known.items()
    }


async def caught_up(api: FakeApi, listener: Listener) -> None:
    """Wait until everything that was sent has been read."""
    api.put("sentinel")
    newest = api.version
    await listener.until(lambda: listener.versions.get("sentinel") == newest)


def test_a_replayed_event_does_not_bring_an_older_state_back() -> None:
    async def main() -> None:
        async with fake_api() as api, watching(api) as (informer, listener):
            await listener.until(lambda: api.watchers == 1)
            api.put("a", value=1)
            api.put("a", value=2)
            api.replay(0, 2)
            await caught_up(api, listener)
            assert informer.known["ns/a"].value == 2
            assert informer.counters.replayed == 2
            newest = str(api.version)
            api.replay(0, 2)
            api.end_watches()
            await listener.until(lambda: informer.counters.watches == 2)
            assert api.seen[-1].query["resourceVersion"] == newest

    asyncio.run(main())


def test_a_replayed_event_does_not_bring_a_deleted_object_back() -> None:
    async def main() -> None:
        async with fake_api() as api:
            api.put("listed-and-deleted")
            api.delete("listed-and-deleted")
            async with watching(api) as (informer, listener):
                await listener.until(lambda: api.watchers == 1)
                api.put("a")
                api.delete("a")
                api.replay(0, 4)
                await caught_up(api, listener)
                assert set(informer.known) == {"ns/sentinel"}
                assert listener.puts == ["a", "sentinel"]

    asyncio.run(main())


def test_the_end_of_an_object_is_not_the_end_of_its_successor() -> None:
    async def main() -> None:
        async with fake_api() as api, watching(api) as (informer, listener):
            await listener.until(lambda: api.watchers == 1)
            api.put("a", uid="first")
            api.delete("a")
            api.put("a", uid="second")
            api.replay(1, 2)
            await caught_up(api, listener)
            assert informer.known["ns/a"].metadata.uid == "second"
            assert informer.counters.replayed == 1

    asyncio.run(main())


def test_a_deletion_without_a_version_of_its_own_counts() -> None:
    async def main() -> None:
        async with fake_api() as api:
            api.put("a")
            last = {"type": "DELETED", "object": json.loads(json.dumps(api.objects["a"]))}
            async with watching(api) as (informer, listener):
                await listener.until(lambda: api.watchers == 1)
                api.send(json.dumps(last).encode() + b"\n")
                await listener.until(lambda: not listener.view)
                assert not informer.known

    asyncio.run(main())


def test_an_older_list_is_asked_for_again() -> None:
    async def main() -> None:
        async with fake_api() as api:
            api.put("a", value=1)
            old = json.dumps(
                {
                    "metadata": {"resourceVersion": str(api.version)},
                    "items": [*api.objects.values()],
                }
            ).encode()
            api.put("a", value=2)
            async with watching(api) as (informer, listener):
                await listener.until(lambda: api.watchers == 1)
                api.put("b")
                await listener.until(lambda: "b" in listener.view)
                listener.time += 400
                api.answer(200, b'{"type":"ERROR","object":{"code":410}}\n')
                for _ in range(OLDER_LISTS - 1):
                    api.answer(200, old)
                api.end_watches()
                await listener.until(lambda: len(listener.pauses) == OLDER_LISTS - 1)
                assert "an older state" in str(informer.error)
                await caught_up(api, listener)
                assert informer.known["ns/a"].value == 2
                assert informer.counters.lists == 2
                assert [type(one) for batch in listener.batches for one in batch] == [Put] * 3

    asyncio.run(main())


def test_a_restored_backup_counts_in_the_end_and_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        async with fake_api() as api:
            api.put("a", value=1)
            api.put("b")
            backup = api.backup()
            api.put("a", value=2)
            api.delete("b")
            api.put("c")
            async with watching(api) as (informer, listener):
                listener.forgives = True
                await listener.until(lambda: api.watchers == 1)
                api.bookmark()
                api.restore(backup)
                # a watch from a version that is yet to come: the API server says nothing at all
                await listener.until(lambda: api.watchers == 1 and informer.counters.watches == 2)
                await listener.pass_by(92)
                await listener.until(lambda: "b" in listener.view and "c" not in listener.view)
                assert listener.view["a"].value == 1
                told = [one for batch in listener.batches[1:] for one in batch]
                assert [(type(one), one.object.metadata.name) for one in told] == [
                    (Gone, "a"),
                    (Put, "a"),
                    (Put, "b"),
                    (Gone, "c"),
                ]
                api.put("a", value=3)
                await listener.until(lambda: listener.view["a"].value == 3)
                assert informer.counters.lists == 2

    asyncio.run(main())
    errors = [one.getMessage() for one in caplog.records if one.levelno == logging.ERROR]
    assert len(errors) == 1
    assert "went back from 7 to 3" in errors[0]


def test_a_restored_backup_with_a_bumped_revision_counts_at_once() -> None:
    async def main() -> None:
        async with fake_api() as api:
            api.put("a", value=1)
            backup = api.backup()
            api.put("a", value=2)
            async with watching(api) as (informer, listener):
                listener.forgives = True
                await listener.until(lambda: api.watchers == 1)
                listener.time += 400
                api.restore(backup, bump=1000)
                await listener.until(lambda: listener.view["a"].value == 1)
                assert informer.counters.lists == 2
                assert listener.pauses == []

    asyncio.run(main())


def test_a_bookmark_from_the_past_makes_the_informer_look_where_the_api_server_stands() -> None:
    async def main() -> None:
        async with fake_api() as api:
            api.put("a")
            backup = api.backup()
            api.put("a")
            async with watching(api) as (informer, listener):
                listener.forgives = True
                await listener.until(lambda: api.watchers == 1)
                old = b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1"}}}\n'
                api.send(old)
                await listener.until(lambda: informer.counters.watches == 2)
                assert api.seen[-2].query.get("limit") == "1"
                assert informer.counters.lists == 1
                await caught_up(api, listener)
                api.restore(backup)
                await listener.until(lambda: api.watchers == 1 and informer.counters.watches == 3)
                api.send(old)
                await listener.until(lambda: informer.counters.lists == 2)
                assert shown(informer) == {"ns/a": ("u", "2")}

    asyncio.run(main())


@dataclass(frozen=True)
class Told:
    """One event of a history."""

    name: str
    uid: str
    version: int
    deleted: bool

    def item(self) -> ReceivedObject[Thing]:
        thing = Thing(Meta(self.name, "ns", self.uid, str(self.version)), self.version)
        return ReceivedObject(identity(thing), thing, self.deleted)


def history(script: Sequence[tuple[str, int]]) -> list[Told]:
    """What an API server would tell of these changes; it begins with version 1."""
    found: list[Told] = []
    uids: dict[str, str] = {}
    for what, number in script:
        name, version = f"t{number}", len(found) + 2
        if what == "delete" and name in uids:
            found.append(Told(name, uids.pop(name), version, deleted=True))
        elif what != "delete":
            uid = uids.setdefault(name, f"uid {version}")
            found.append(Told(name, uid, version, deleted=False))
    return found


def state_after(events: Sequence[Told]) -> dict[str, tuple[str, str]]:
    newest = {one.name: one for one in events}
    return {
        f"ns/{one.name}": (one.uid, str(one.version)) for one in newest.values() if not one.deleted
    }


scripts = st.lists(
    st.tuples(st.sampled_from(["put", "put", "delete"]), st.integers(0, 3)),
    min_size=1,
    max_size=25,
)


@given(data=st.data(), script=scripts)
def test_any_order_of_any_events_ends_in_the_newest_state(
    data: st.DataObject, script: list[tuple[str, int]]
) -> None:
    events = history(script)
    listed = data.draw(st.integers(0, len(events)), "listed at")
    again = st.lists(st.sampled_from(events), max_size=20) if events else st.just([])
    order = data.draw(st.permutations([*events[listed:], *data.draw(again, "again")]), "order")

    async def main() -> None:
        listener = Listener(asyncio.Event())
        client = Client(ClusterConfig(server="http://127.0.0.1:1", source="the test"))
        source = Reflector(client, ReflectorQuery(path=PATH), make, identity)
        informer = Informer(source, listener.on_changes)
        informer.list_started()
        present = set(state_after(events[:listed]).values())
        newest = [one for one in events[:listed] if (one.uid, str(one.version)) in present]
        informer.page([one.item() for one in newest])
        informer.list_done(str(listed + 1))
        rest = order
        while rest:
            size = data.draw(st.integers(1, len(rest)), "batch")
            informer.events([one.item() for one in rest[:size]])
            rest = rest[size:]
        assert shown(informer) == state_after(events)
        assert informer.known == {f"ns/{name}": thing for name, thing in listener.view.items()}

    asyncio.run(main())
