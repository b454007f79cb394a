"""Who leads: the Lease is created, renewed, released and taken over."""

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.kube.leader import LeaderElector
from mooring.kube.lease import LeaseSettings
from tests.unit.kube.lease_world import Line, World, leads, run


def test_the_first_creates_the_lease_and_renews_it() -> None:
    async def story(world: World) -> None:
        time = world.time
        first = world.elector("a")
        assert not leads(first)
        await first.acquire()
        assert leads(first)
        assert first.leader == "a"
        assert world.server.lease is not None
        assert world.server.lease["metadata"]["name"] == "kube-scheduler"
        assert world.server.lease["metadata"]["namespace"] == "kube-system"
        assert world.server.spec == {
            "holderIdentity": "a",
            "leaseDurationSeconds": 15,
            "acquireTime": "1970-01-01T00:16:40.000000Z",
            "renewTime": "1970-01-01T00:16:40.000000Z",
            "leaseTransitions": 0,
        }
        await time.pass_by(4)
        assert world.server.spec["renewTime"] == "1970-01-01T00:16:44.000000Z"
        assert world.server.spec["acquireTime"] == "1970-01-01T00:16:40.000000Z"
        # the leader writes without reading first
        assert world.server.requests == ["GET", "POST", "PUT", "PUT"]
        await time.pass_by(1000)
        assert leads(first)
        assert world.server.requests.count("GET") == 1
        assert world.server.requests.count("PUT") == 502
        assert world.seen == ["a sees a"]
        with pytest.raises(RuntimeError, match="one election only"):
            await first.acquire()

    run(story)


def test_another_waits_a_whole_lease_after_the_last_renewal_it_saw() -> None:
    async def story(world: World) -> None:
        time = world.time
        first = world.start("a")
        await time.pass_by(1)
        second = world.start("b")
        await time.pass_by(60)
        assert leads(first)
        assert second.leader == "a"
        world.server.requests.clear()
        first._stop()  # it dies without a word
        died = time.now
        await time.until(lambda: second.leading)
        assert 13 <= time.now - died <= 15 + 2.1
        assert world.server.spec["leaseTransitions"] == 1
        assert world.server.spec["holderIdentity"] == "b"
        assert world.server.spec["acquireTime"] == world.server.spec["renewTime"]
        assert world.seen == ["a sees a", "b sees a", "b sees b"]

    run(story)


def test_the_pause_between_tries_is_jittered() -> None:
    async def story(world: World) -> None:
        time = world.time
        world.start("a")
        await time.pass_by(1)
        world.tasks[0].cancel()
        world.electors[0]._stop()
        world.server.requests.clear()
        world.start("b", random=lambda: 0.5)
        await time.pass_by(3.2 * 3 + 0.1)
        assert world.server.requests == ["GET"] * 4

    run(story)


def test_a_released_lease_is_taken_at_the_next_try() -> None:
    async def story(world: World) -> None:
        time = world.time
        first = world.start("a")
        await time.pass_by(1)
        second = world.start("b")
        await time.pass_by(20)
        await first.release()
        assert not leads(first)
        assert not first.lost.is_set()
        assert world.server.spec["holderIdentity"] == ""
        assert world.server.spec["leaseDurationSeconds"] == 1
        assert world.server.spec["leaseTransitions"] == 0
        released = time.now
        await time.until(lambda: second.leading)
        assert time.now - released <= 2
        assert world.server.spec["leaseTransitions"] == 1
        assert world.server.spec["leaseDurationSeconds"] == 15
        await first.release()  # again does no harm
        assert leads(second)
        assert world.server.spec["holderIdentity"] == "b"

    run(story)


def test_a_lease_may_be_kept_at_the_end() -> None:
    async def story(world: World) -> None:
        kept = LeaderElector(
            Line(world.server),
            LeaseSettings(release_on_stop=False),
            "a",
            pacing=world.time.pacing(),
            now_ns=world.time.now_ns,
        )
        await kept.acquire()
        await kept.release()
        assert not leads(kept)
        assert world.server.spec["holderIdentity"] == "a"

    run(story)


def test_who_never_tried_to_write_releases_nothing() -> None:
    async def story(world: World) -> None:
        await world.elector("a").release()
        assert world.server.requests == []

    run(story)


def test_an_acquire_cut_off_after_it_wrote_can_be_released() -> None:
    async def story(world: World) -> None:
        world.server.mood = lambda: "mute" if world.server.requests[-1] == "POST" else None
        first = world.start("a")
        await world.time.pass_by(1)
        world.tasks[0].cancel()
        await world.time.settle()
        assert world.server.spec["holderIdentity"] == "a"
        assert not leads(first)
        await first.release()
        assert world.server.spec["holderIdentity"] == ""

    run(story)


def test_a_conflict_is_looked_into() -> None:
    async def story(world: World) -> None:
        time = world.time
        first = world.start("a")
        await time.pass_by(5)
        world.server.requests.clear()
        world.server.edit(leaseTransitions=7)  # still ours
        await time.pass_by(1)
        assert world.server.requests == ["PUT", "GET", "PUT"]
        assert leads(first)
        assert world.server.spec["leaseTransitions"] == 7

        world.server.edit(holderIdentity="")  # somebody wants an election: we win it
        await time.pass_by(2)
        assert leads(first)
        assert world.server.spec["holderIdentity"] == "a"
        assert world.server.spec["leaseTransitions"] == 8

        world.server.lease = None  # somebody deletes it
        await time.pass_by(2)
        assert leads(first)
        assert world.server.spec["leaseTransitions"] == 0

        world.server.edit(holderIdentity="c")
        await time.pass_by(2)
        assert first.lost.is_set()
        assert not leads(first)
        world.server.requests.clear()
        await time.pass_by(100)
        assert world.server.requests == []
        await first.release()
        assert world.server.spec["holderIdentity"] == "c"

    run(story)


def test_labels_of_the_lease_are_kept_and_managed_fields_are_not_sent() -> None:
    async def story(world: World) -> None:
        world.server.lease = {
            "metadata": {
                "name": "kube-scheduler",
                "namespace": "kube-system",
                "labels": {"team": "a"},
                "managedFields": [{}],
                "resourceVersion": "0",
            },
            "spec": {},
        }
        first = world.start("a")
        await world.time.pass_by(0)
        assert leads(first)
        metadata = world.server.lease["metadata"]
        assert metadata["labels"] == {"team": "a"}
        assert "managedFields" not in metadata
        assert world.server.spec["leaseTransitions"] == 1

    run(story)


def test_renewals_change_the_lease_although_the_wall_clock_stands_still() -> None:
    async def story(world: World) -> None:
        first = world.elector("a")
        first._now_ns = lambda: 5_000_000_000
        await first.acquire()
        second = world.start("b")
        await world.time.pass_by(100)
        assert leads(first)
        assert not leads(second)
        assert world.server.spec["renewTime"] == "1970-01-01T00:00:05.000050Z"

    run(story)


def test_clocks_that_differ_do_not_matter() -> None:
    async def story(world: World) -> None:
        time = world.time
        first = world.start("a", offset=-1e6)
        await time.pass_by(1)
        second = world.start("b", offset=1e8)
        await time.pass_by(200)
        assert leads(first)
        world.server.down = True
        await time.pass_by(11)
        world.server.down = False
        await time.until(lambda: second.leading or first.leading, most=20)

    run(story)


@pytest.mark.parametrize(("first_rate", "second_rate"), [(1.0, 1.2), (0.85, 1.0), (1.3, 0.8)])
def test_clocks_that_run_a_fifth_faster_or_slower_do_not_make_two_leaders(
    first_rate: float, second_rate: float
) -> None:
    async def story(world: World) -> None:
        time = world.time
        first = world.start("a", rate=first_rate)
        await time.pass_by(1)
        second = world.start("b", rate=second_rate)
        await time.pass_by(30)
        assert leads(first)
        world.lines["a"].cut = True
        await time.until(lambda: second.leading)
        assert first.lost.is_set()

    run(story)


MOODS = st.sampled_from([None, None, None, None, None, "lost", "unheard", "hangs", "mute"])


@settings(max_examples=60, deadline=None)
@given(
    moods=st.lists(MOODS, max_size=120),
    pauses=st.lists(st.floats(0.1, 20), min_size=3, max_size=12),
    actions=st.lists(
        st.sampled_from(["down", "up", "slow", "fast", "kill", "release", "join", "cut"]),
        min_size=3,
        max_size=12,
    ),
    seed=st.integers(0, 1000),
)
def test_never_two_leaders_and_always_one_in_the_end(
    moods: list[str | None], pauses: list[float], actions: list[str], seed: int
) -> None:
    async def story(world: World) -> None:
        time, server = world.time, world.server
        chance = random.Random(seed)
        upcoming = iter(moods)
        server.mood = lambda: next(upcoming, None)
        for name in "abc":
            world.start(
                name,
                rate=chance.uniform(0.95, 1.05),
                offset=chance.uniform(-1e5, 1e5),
                random=chance.random,
            )
        for number, (pause, action) in enumerate(zip(pauses, actions, strict=False)):
            await time.pass_by(pause)
            leader = next((one for one in world.electors if one.leading), None)
            if action in ("down", "up"):
                server.down = action == "down"
            elif action in ("slow", "fast"):
                server.latency = chance.uniform(0, 3) if action == "slow" else 0.01
            elif action == "kill" and leader is not None:
                leader._stop()
            elif action == "release" and leader is not None:
                await time.settle()
                releasing = asyncio.create_task(leader.release())
                await time.until(releasing.done)
            elif action == "cut" and leader is not None:
                world.lines[leader.identity].cut = True
            elif action == "join":
                world.start(f"new-{number}", random=chance.random)
        await time.pass_by(30)
        server.down, server.latency = False, 0.01
        server.mood = lambda: None
        world.start("last")
        await time.until(lambda: any(one.leading for one in world.electors), most=40)
        settled = next(one for one in world.electors if one.leading)
        await time.pass_by(100)
        assert leads(settled)
        assert server.spec["holderIdentity"] == settled.identity

    run(story)
