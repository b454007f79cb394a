import asyncio
import random
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.errors import ApiError, InputError, KubeError
from mooring.kube.leader import LeaderElector
from mooring.kube.lease import LeaseSettings, make_identity
from tests.unit.kube.virtual_time import VirtualTime

T = TypeVar("T")

PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
COLLECTION = PATH.rpartition("/")[0]
HOLD = LeaseSettings().hold_seconds


class DownError(KubeError):
    pass


@dataclass
class LeaseServer:
    """One Lease behind a network with moods.

    Attributes:
        lease: what is stored.
        latency: how long a request takes to arrive, and its answer to come back.
        down: every request fails at once.
        mood: what happens to the next request: None, ``lost`` (never arrives), ``unheard`` (is
            done, but the answer is lost), ``hangs`` (never arrives, nobody says so), ``mute``
            (is done, nobody says so); the rest is done as asked.
        requests: methods so far.
    """

    time: VirtualTime
    lease: dict[str, Any] | None = None
    latency: float = 0.0
    down: bool = False
    mood: Callable[[], str | None] = lambda: None
    requests: list[str] = field(default_factory=list)
    limits: list[float] = field(default_factory=list)
    version: int = 0

    @property
    def spec(self) -> dict[str, Any]:
        assert self.lease is not None
        found: dict[str, Any] = self.lease["spec"]
        return found

    def found(self) -> dict[str, Any]:
        if self.lease is None:
            raise ApiError("not found", status=404, reason="NotFound")
        return self.lease

    def create(self, body: object) -> dict[str, Any]:
        if self.lease is not None:
            raise ApiError("exists", status=409, reason="AlreadyExists")
        return self._store(body)

    def replace(self, body: object) -> dict[str, Any]:
        new = msgspec.to_builtins(body)
        if new["metadata"].get("resourceVersion") != self.found()["metadata"]["resourceVersion"]:
            raise ApiError("changed", status=409, reason="Conflict")
        return self._store(body)

    def _store(self, body: object) -> dict[str, Any]:
        self.version += 1
        new: dict[str, Any] = msgspec.to_builtins(body)
        assert new["apiVersion"] == "coordination.k8s.io/v1"
        assert new["kind"] == "Lease"
        for name in ("acquireTime", "renewTime"):
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", new["spec"][name])
        new["metadata"]["resourceVersion"] = str(self.version)
        self.lease = new
        return new

    def edit(self, **spec: object) -> None:
        """Somebody changes the Lease by hand."""
        self.version += 1
        assert self.lease is not None
        self.lease = {
            "metadata": {**self.lease["metadata"], "resourceVersion": str(self.version)},
            "spec": {**self.spec, **spec},
        }


@dataclass
class Line:
    """One elector's way to the server, which may be cut while others are not.

    Attributes:
        cut: every request over it hangs.
    """

    server: LeaseServer
    cut: bool = False

    async def get(self, path: str, type_: type[T], *, seconds: float | None = None) -> T:
        assert path == PATH
        return await self._send("GET", self.server.found, type_, seconds)

    async def create(
        self, path: str, body: object, type_: type[T], *, seconds: float | None = None
    ) -> T:
        assert path == COLLECTION
        return await self._send("POST", lambda: self.server.create(body), type_, seconds)

    async def replace(
        self, path: str, body: object, type_: type[T], *, seconds: float | None = None
    ) -> T:
        assert path == PATH
        return await self._send("PUT", lambda: self.server.replace(body), type_, seconds)

    async def _send(
        self,
        method: str,
        act: Callable[[], dict[str, Any]],
        type_: type[T],
        seconds: float | None,
    ) -> T:
        server = self.server
        server.requests.append(method)
        assert seconds is not None
        assert seconds > 0
        server.limits.append(seconds)
        if server.down:
            raise DownError("The API server cannot be reached.")
        mood = server.mood()
        if mood == "hangs" or self.cut:
            await asyncio.Event().wait()
        if server.latency:
            await server.time.sleep(server.latency)
        if mood == "lost":
            raise DownError("The connection broke.")
        answer = msgspec.json.encode(act())
        if mood == "mute":
            await asyncio.Event().wait()
        if server.latency:
            await server.time.sleep(server.latency)
        if mood == "unheard":
            raise DownError("The connection broke.")
        return msgspec.json.decode(answer, type=type_)


@dataclass
class World:
    """Electors on one Lease, and the rule that never may two lead."""

    time: VirtualTime = field(default_factory=VirtualTime)
    electors: list[LeaderElector] = field(default_factory=list)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    lines: dict[str, Line] = field(default_factory=dict)
    server: LeaseServer = field(init=False)

    def __post_init__(self) -> None:
        self.server = LeaseServer(self.time)
        self.time.on_step = self.check

    def check(self) -> None:
        assert sum(one.leading for one in self.electors) <= 1
        for one in self.electors:
            assert not (one.leading and one.lost.is_set())

    def elector(self, identity: str, **clock: Any) -> LeaderElector:
        line = self.lines[identity] = Line(self.server)
        made = LeaderElector(
            line,
            LeaseSettings(),
            identity,
            on_new_leader=lambda leader: self.seen.append(f"{identity} sees {leader}"),
            pacing=self.time.pacing(**clock),
            now_ns=lambda: self.time.now_ns() + int(clock.get("offset", 0) * 1e9),
        )
        self.electors.append(made)
        return made

    def start(self, identity: str, **clock: Any) -> LeaderElector:
        made = self.elector(identity, **clock)
        self.tasks.append(asyncio.create_task(made.acquire()))
        return made

    async def end(self) -> None:
        for task in self.tasks:
            task.cancel()
        for one in self.electors:
            one._stop()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await asyncio.sleep(0)


def leads(one: LeaderElector) -> bool:
    return one.leading


def run(story: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        world = World()
        try:
            await story(world)
        finally:
            await world.end()

    asyncio.run(main())


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


def test_release_copes_with_a_renewal_on_its_way_and_with_a_dead_server() -> None:
    async def story(world: World) -> None:
        time = world.time
        first = world.start("a")
        await time.pass_by(1)
        moods = iter([None, "race", None, None])

        def mood() -> str | None:
            now = next(moods)
            if now == "race":
                world.server.edit(renewTime="1970-01-01T00:17:00.000000Z")
            return None

        world.server.requests.clear()
        world.server.mood = mood
        await first.release()
        assert world.server.requests == ["GET", "PUT", "GET", "PUT"]
        assert world.server.spec["holderIdentity"] == ""

        world.server.mood = lambda: None
        second = world.start("b")
        await time.pass_by(1)
        assert leads(second)
        world.server.mood = lambda: "hangs"
        releasing = asyncio.create_task(second.release())
        await time.pass_by(10)
        assert releasing.done()
        await releasing
        assert not leads(second)
        assert world.server.spec["holderIdentity"] == "b"

    run(story)


def test_a_rejected_release_is_only_told(caplog: pytest.LogCaptureFixture) -> None:
    async def story(world: World) -> None:
        first = world.start("a")
        await world.time.pass_by(1)

        async def reject(*_: object, **__: object) -> Any:
            raise ApiError("leases is forbidden", status=403, reason="Forbidden")

        world.lines["a"].replace = reject  # type: ignore[method-assign]
        await first.release()
        assert not leads(first)
        assert "was not released and ends by itself: leases is forbidden" in caplog.text

    run(story)


def test_a_server_away_for_less_than_the_deadline_costs_nothing() -> None:
    async def story(world: World) -> None:
        time = world.time
        first = world.start("a")
        second = world.start("b")
        await time.pass_by(21)
        leader, other = (first, second) if first.leading else (second, first)
        world.server.down = True
        await time.pass_by(8.9)
        assert leads(leader)
        assert str(leader.error) == "The API server cannot be reached."
        world.server.down = False
        await time.pass_by(60)
        assert leads(leader)
        assert leader.error is None
        assert not leader.lost.is_set()
        assert not leads(other)

    run(story)


def test_a_server_away_for_longer_ends_the_leadership_on_time() -> None:
    async def story(world: World) -> None:
        time = world.time
        first = world.start("a")
        await time.pass_by(20)
        renewed = time.now
        second = world.start("b")
        await time.pass_by(1)
        world.server.down = True
        await time.until(first.lost.is_set)
        assert time.now - renewed == pytest.approx(HOLD)
        assert HOLD == 12
        assert not leads(first)
        await time.pass_by(100)
        assert not leads(second)
        world.server.requests.clear()
        world.server.down = False
        await time.until(lambda: second.leading, most=5)
        assert not leads(first)

    run(story)


@pytest.mark.parametrize("mood", ["hangs", "mute"])
def test_a_request_that_hangs_does_not_delay_the_end(mood: str) -> None:
    async def story(world: World) -> None:
        time = world.time
        first = world.start("a")
        await time.pass_by(10)
        renewed = time.now
        world.server.mood = lambda: mood
        world.server.limits.clear()
        await time.pass_by(HOLD - 0.001)
        assert leads(first)
        await time.pass_by(0.001)
        assert not leads(first)
        assert first.lost.is_set()
        assert time.now == pytest.approx(renewed + HOLD)
        # five seconds each at most, and never beyond the end
        assert world.server.limits == [5.0, 5.0]
        await time.pass_by(100)
        assert len(world.server.limits) == 2

    run(story)


def test_one_hanging_request_does_not_cost_the_leadership() -> None:
    async def story(world: World) -> None:
        first = world.start("a")
        await world.time.pass_by(10)
        moods = iter(["hangs"])
        world.server.mood = lambda: next(moods, None)
        await world.time.pass_by(30)
        assert leads(first)

    run(story)


def test_leading_ends_by_the_clock_even_when_nobody_had_a_chance_to_run() -> None:
    async def story(world: World) -> None:
        first = world.start("a")
        await world.time.pass_by(10)
        world.time.now += HOLD  # the machine was suspended
        assert not leads(first)
        assert not first.lost.is_set()
        # the first to wake up may be the renewal; it must not go on as if nothing were
        await world.time.pass_by(0.1)
        assert first.lost.is_set()
        await world.time.pass_by(30)
        assert not leads(first)

    run(story)


def test_an_answer_after_the_end_does_not_count() -> None:
    async def story(world: World) -> None:
        first = world.start("a")
        await world.time.pass_by(9)
        world.server.latency = 0.5
        await world.time.pass_by(1.6)  # a renewal is on its way back
        world.time.now += HOLD
        await world.time.settle()
        assert not leads(first)
        await world.time.pass_by(2)
        assert first.lost.is_set()
        assert not leads(first)

    run(story)


def test_an_answer_to_the_first_write_that_is_too_old_does_not_make_a_leader() -> None:
    async def story(world: World) -> None:
        world.server.latency = 1.0
        first = world.start("a")
        await world.time.pass_by(2.5)
        assert world.server.requests == ["GET", "POST"]
        assert world.server.lease is not None
        world.time.now += 60
        await world.time.pass_by(0.5)
        assert not leads(first)
        await world.time.until(lambda: first.leading, most=10)

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


def test_rejections_are_told_once_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    async def story(world: World) -> None:
        sentence = "leases is forbidden: grant it"

        async def reject(*_: object, **__: object) -> Any:
            raise ApiError(sentence, status=403, reason="Forbidden")

        first = world.start("a")
        line = world.lines["a"]
        allowed = line.get
        line.get = reject  # type: ignore[method-assign]
        await world.time.pass_by(60)
        assert not leads(first)
        assert str(first.error) == sentence
        assert [each.message for each in caplog.records].count(
            f"{sentence} (the Lease; it is tried again)"
        ) == 1
        line.get = allowed  # type: ignore[method-assign]
        await world.time.pass_by(5)
        assert leads(first)
        assert first.error is None

    run(story)


def test_a_failure_nobody_expected_ends_the_leadership_at_once() -> None:
    async def story(world: World) -> None:
        first = world.start("a")
        await world.time.pass_by(1)

        async def broken(*_: object, **__: object) -> Any:
            raise ZeroDivisionError

        world.lines["a"].replace = broken  # type: ignore[method-assign]
        await world.time.pass_by(2)
        assert first.lost.is_set()

    run(story)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"lease_seconds": 10.0}, "leaseDuration is 10 whole seconds"),
        ({"lease_seconds": 10.9, "renew_seconds": 10.5}, "leaseDuration is 10 whole seconds"),
        ({"renew_seconds": 2.4}, "renewDeadline is 2.4s, give more than 1.2 times"),
        ({"retry_seconds": 0.0}, "retryPeriod is 0s"),
    ],
)
def test_times_that_cannot_work_are_rejected(wrong: dict[str, float], words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        LeaseSettings(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("lease", [3.0, 15.0, 60.0])
@pytest.mark.parametrize("renew_part", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("retry_part", [0.1, 0.5, 0.8])
def test_a_leader_always_ends_before_others_begin(
    lease: float, renew_part: float, retry_part: float
) -> None:
    made = LeaseSettings(
        lease_seconds=lease,
        renew_seconds=lease * renew_part,
        retry_seconds=lease * renew_part * retry_part,
    )
    assert made.renew_seconds < made.hold_seconds < made.stored_seconds


def test_identities_are_the_hosts_name_and_something_unique() -> None:
    first, second = make_identity(), make_identity()
    assert first != second
    assert re.fullmatch(r".+_[0-9a-f-]{36}", first)


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
