"""However long plugins take over what the loop does, everybody else has a turn in between."""

import asyncio
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from mooring.live.loop import LiveScheduler
from mooring.process.deadline import Deadline
from mooring.scheduler.effects import BindFailed, Effect, Report
from mooring.testing import make_pod

NOTHING: Any = None
#: Longer than the loop does one thing, and shorter than it would sleep for.
SLOW_SECONDS = 0.02
REPORTS = [BindFailed(make_pod(f"p{number}"), "a", "no") for number in range(3)]


class Idle:
    """An API server to which nothing is written."""

    writes = 0


class NoEvents:
    """A recorder to which nothing is told."""

    def hold_back(self, *, while_: bool) -> None:
        assert not while_


class Turns:
    """Counts the turns that others have on the event loop."""

    def __init__(self) -> None:
        self.count = 0

    async def run(self) -> None:
        while True:
            self.count += 1
            await asyncio.sleep(0)


class SlowCore:
    """A core whose plugins take their time; it stops the loop when it has nothing to do."""

    def __init__(self, turns: Turns) -> None:
        self.now = 0.0
        self.ticking_seconds = 0.0
        self.reported: list[int] = []
        self.tasks: list[object] = []
        self.live: Any = None
        self._turns = turns

    def clock(self) -> float:
        return self.now

    def tick(self, now: float, enough: Callable[[], bool]) -> list[Effect]:
        if not self.tasks:
            self.live._reports.extend(REPORTS)
        self.now += self.ticking_seconds
        return []

    def report(self, report: Report, now: float) -> list[Effect]:
        self.now += SLOW_SECONDS
        self.reported.append(self._turns.count)
        return []

    def schedule_one(self, now: float) -> None:
        self.tasks.append(asyncio.current_task())
        if len(self.reported) == len(REPORTS):
            self.live.stop()

    def next_time(self) -> float:
        return 0.0


def driven(drive: Callable[[LiveScheduler], Any]) -> SlowCore:
    """A core whose loop was run over three reports."""

    async def main() -> SlowCore:
        turns = Turns()
        others = asyncio.create_task(turns.run())
        core = SlowCore(turns)
        some: Any = core, Idle(), NoEvents()
        live = core.live = LiveScheduler(
            some[0], some[1], some[2], {},
            metrics=NOTHING, clock=core.clock, deadline=Deadline(10),
        )  # fmt: skip
        await drive(live)
        others.cancel()
        return core

    return asyncio.run(main())


def test_others_have_a_turn_between_two_reports_over_which_plugins_are_slow() -> None:
    """Otherwise the Lease would not be renewed while many bindings that failed are undone."""
    core = driven(lambda live: live.run())
    assert len(core.reported) == len(REPORTS)
    assert min(later - before for before, later in pairwise(core.reported)) > 0


def test_others_have_a_turn_between_two_reports_when_it_stops() -> None:
    """Otherwise neither the Lease nor the time to stop in could be kept."""

    async def drain(live: Any) -> None:
        give_turn = live._yield_to_network

        async def note(seconds: float) -> None:
            turns.append(round(seconds, 6))
            await give_turn(seconds)

        live._yield_to_network = note
        live._reports.extend(REPORTS)
        await live.drain(10)

    turns: list[float] = []
    core = driven(drain)
    assert len(core.reported) == len(REPORTS)
    assert min(later - before for before, later in pairwise(core.reported)) > 0
    assert turns == [SLOW_SECONDS] * len(REPORTS)


def test_plugins_that_are_asked_for_the_next_pod_do_not_see_the_task_of_the_loop() -> None:
    """They could cancel it: pods whose backoff is over are put in order then."""
    core = driven(lambda live: live.run())
    assert core.tasks
    assert not any(core.tasks)


def test_the_network_has_its_turn_after_plugins_took_long_as_time_passed() -> None:
    """They are asked about pods whose backoff is over, which has no effects."""

    async def tick_twice(live: Any) -> None:
        worked.append(live._tick())
        live.core.ticking_seconds = 5.0
        worked.append(live._tick())

    worked: list[bool] = []
    driven(tick_twice)
    assert worked == [False, True]


class Writes:
    """An API server to which so much is written in each turn of the loop."""

    def __init__(self, *turns: int) -> None:
        self.turns = list(turns)

    @property
    def writes(self) -> int:
        return self.turns[0]


class Held:
    """A recorder that notes whether events are held back; a turn of the loop takes 0.2 s."""

    def __init__(self, client: Writes) -> None:
        self.core: Any = None
        self.held: list[bool] = []
        self.client = client

    def hold_back(self, *, while_: bool) -> None:
        self.held.append(while_)
        self.core.now += 0.2
        self.client.turns.pop(0)
        if not self.client.turns:
            self.client.turns = [0]
            self.core.live.stop()


class IdleCore(SlowCore):
    """A core that has nothing to do, and lets the loop go on."""

    def tick(self, now: float, enough: Callable[[], bool]) -> list[Effect]:
        return []

    def schedule_one(self, now: float) -> None:
        return None


def held_back(*writes: int) -> list[bool]:
    """Whether events were held back, turn by turn, and at the end."""

    async def main() -> list[bool]:
        client = Writes(*writes)
        core, held = IdleCore(Turns()), Held(client)
        held.core = core
        some: Any = core, client, held
        core.live = LiveScheduler(
            some[0], some[1], some[2], {},
            metrics=NOTHING, clock=core.clock, deadline=Deadline(10),
        )  # fmt: skip
        await core.live.run()
        return held.held

    return asyncio.run(main())


def test_events_wait_until_nothing_was_busy_for_a_while() -> None:
    """Bindings that come again and again are interrupted for a moment all the time."""
    assert held_back(0, 16, 0, 0, 0, 0, 0) == [False, True, True, True, False, False, False, False]
    assert held_back(20, 0, 20, 0, 0, 20, 0) == [True] * 7 + [False]


def test_few_writes_hold_no_events_back() -> None:
    assert held_back(*[15] * 10) == [False] * 11
