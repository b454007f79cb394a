import asyncio
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.kube.informer import Informer
from tests.unit.kube.fake_api import FakeApi, fake_api
from tests.unit.kube.harness import Listener, Thing, watching

GARBAGE = b"{not json\n"
EXPIRED = b'{"type":"ERROR","object":{"code":410,"reason":"Expired"}}\n'
FAULTS = ["none", "end", "cut", "garbage", "expired", "half", "busy", "bookmark", "replay"]

changes = st.lists(
    st.tuples(st.sampled_from(["put", "replace", "delete"]), st.integers(0, 4)), max_size=4
)


@dataclass(frozen=True)
class Round:
    """Some changes, something that breaks, more changes unseen, and how far the client gets."""

    before: list[tuple[str, int]]
    steps: int
    fault: str
    after: list[tuple[str, int]]
    compact: bool
    settle: bool


rounds = st.builds(
    Round,
    before=changes,
    steps=st.integers(0, 60),
    fault=st.sampled_from(FAULTS),
    after=changes,
    compact=st.booleans(),
    settle=st.booleans(),
)


def change(api: FakeApi, what: str, number: int) -> None:
    name = f"t{number}"
    if what != "put" and name in api.objects:
        api.delete(name)
        api.uids.pop(name)
    if what != "delete":
        uid = api.uids.setdefault(name, f"uid at {api.version}")
        api.put(name, value=api.version, uid=uid)


def fail(api: FakeApi, fault: str) -> None:
    match fault:
        case "end":
            api.end_watches()
        case "cut":
            api.cut()
        case "garbage" | "expired":
            api.suffix = GARBAGE if fault == "garbage" else EXPIRED
        case "half":
            api.send(b'{"type":"ADDED","object":{"meta')
            api.end_watches()
        case "busy":
            api.deny(429, "busy", "TooManyRequests")
            api.end_watches()
        case "bookmark":
            api.bookmark()
        case "replay":
            api.replay(-6, -2)
            api.replay(0, 4)


async def play(api: FakeApi, informer: Informer[Thing], listener: Listener, one: Round) -> None:
    for what, number in one.before:
        change(api, what, number)
    for _ in range(one.steps):  # let both sides get on, to some point in the middle
        await asyncio.sleep(0)
    fail(api, one.fault)
    for what, number in one.after:
        change(api, what, number)
    if one.compact:
        api.compact()
    if one.settle:
        await settle(api, informer, listener)


async def settle(api: FakeApi, informer: Informer[Thing], listener: Listener) -> None:
    """Wait until the informer knows the newest version, and compare."""
    api.put("sentinel")
    newest = api.version
    await listener.until(lambda: listener.versions.get("sentinel") == newest and informer.connected)
    told = {name: thing.metadata.resource_version for name, thing in listener.view.items()}
    assert told == {
        name: thing["metadata"]["resourceVersion"]  # type: ignore[index]
        for name, thing in api.objects.items()
    }


@settings(max_examples=200, deadline=None)
@given(
    script=st.lists(rounds, max_size=6),
    page_size=st.sampled_from([0, 1, 2, 500]),
    by_event=st.booleans(),
    split=st.booleans(),
)
def test_whatever_happens_the_informer_ends_up_with_what_the_server_has(
    script: list[Round], page_size: int, by_event: bool, split: bool
) -> None:
    async def main() -> None:
        async with fake_api() as api:
            api.expired_by_event = by_event
            api.split = split
            change(api, "put", 0)
            async with watching(api, page_size=page_size) as (informer, listener):
                for one in script:
                    await play(api, informer, listener, one)
                await settle(api, informer, listener)
                assert informer.known == {
                    f"ns/{name}": thing for name, thing in listener.view.items()
                }

    asyncio.run(main())
