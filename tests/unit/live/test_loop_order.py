"""What is written about one pod is written in the order it was decided."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from mooring import Pod
from mooring.framework.binding import Binding
from mooring.live.loop import LiveScheduler
from mooring.process.deadline import Deadline
from mooring.scheduler.effects import (
    Bind,
    Bound,
    Effect,
    PatchStatus,
    PreemptVictims,
    VictimsPreempted,
)
from mooring.testing import make_pod

NOTHING: Any = None


class SlowBinder:
    """Notes what is done; statuses are patched only when `patched` is set."""

    def __init__(self) -> None:
        self.patched = asyncio.Event()
        self.done: list[str] = []

    async def patch(self, effect: PatchStatus) -> None:
        await self.patched.wait()
        self.done.append(f"{effect.pod.name} {effect.nominated_node}")

    async def bind(self, effect: Bind, before: asyncio.Task[None] | None) -> Bound:
        if before is not None:
            await asyncio.wait({before})
        self.done.append(f"{effect.pod.name} bound")
        return Bound(effect.pod, effect.binding.node_name)

    async def post_bind(self, effect: Bind) -> None:
        pass

    async def preempt(self, effect: PreemptVictims) -> VictimsPreempted:
        raise ZeroDivisionError(effect.node)


class Silent:
    """Counts nothing."""

    def attempt(self, *_: object) -> None:
        pass

    def bound(self, *_: object) -> None:
        pass


def bind(name: str) -> Bind:
    pod = make_pod(name)
    binding = Binding(namespace="default", name=name, uid=pod.uid, node_name="a")
    return Bind(pod, binding, NOTHING, "default-scheduler", 1, 0.0)


def patch(name: str, node: str) -> PatchStatus:
    return PatchStatus(make_pod(name), "Unschedulable", "no room", node)


def carried_out(effects: list[Effect]) -> tuple[list[str], list[str]]:
    """What is done before the first status is patched, and in the end."""

    async def run() -> tuple[list[str], list[str]]:
        metrics: Any = Silent()
        live = LiveScheduler(NOTHING, NOTHING, NOTHING, {}, metrics=metrics, deadline=Deadline(10))
        binder: Any = SlowBinder()
        live._binder = binder
        live._dispatch(effects)
        for _ in range(20):
            await asyncio.sleep(0)
        before = list(binder.done)
        binder.patched.set()
        while live._tasks:
            await asyncio.wait(live._tasks)
        assert live._patches == {}
        return before, binder.done

    return asyncio.run(run())


def test_a_pod_is_bound_after_its_status_was_patched() -> None:
    """Otherwise a bound pod would be marked as not scheduled, and keep a nominated node."""
    effects: list[Effect] = [patch("slow", "a"), bind("slow"), bind("other")]
    assert carried_out(effects) == (
        ["other bound"],
        ["other bound", "slow a", "slow bound"],
    )


def test_statuses_are_patched_one_after_the_other() -> None:
    effects: list[Effect] = [patch("p", "a"), patch("p", ""), patch("p", "b"), bind("p")]
    assert carried_out(effects) == ([], ["p a", "p ", "p b", "p bound"])


def told(pod: Pod) -> Pod:
    """The pod after its status was patched, as the watch shows it."""
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "no room",
    }
    status = {"conditions": [condition], "nominatedNodeName": "a"}
    return Pod.from_dict({**pod.raw, "status": status})


def test_a_status_that_is_as_it_should_be_is_no_work() -> None:
    """One deleted pod may wake ten thousand others, and for most of them nothing changes."""
    pod = told(make_pod("p"))
    same = PatchStatus(pod, "Unschedulable", "no room", "a")
    kept = PatchStatus(pod, "Unschedulable", "no room")
    effects: list[Effect] = [same, kept]
    assert carried_out(effects) == ([], [])
    other = PatchStatus(pod, "Unschedulable", "still no room", "a")
    cleared = PatchStatus(pod, "Unschedulable", "no room", "")
    error = PatchStatus(pod, "SchedulerError", "no room", "a")
    assert carried_out([other, same, cleared, error]) == ([], ["p a", "p ", "p a"])


def test_a_preemption_that_breaks_off_is_reported() -> None:
    """Its pod would be held back for ever otherwise."""

    async def run() -> list[object]:
        metrics: Any = Silent()
        live = LiveScheduler(NOTHING, NOTHING, NOTHING, {}, metrics=metrics, deadline=Deadline(10))
        binder: Any = SlowBinder()
        live._binder = binder
        live._dispatch(
            [PreemptVictims((make_pod("victim"),), make_pod("vip"), "a", "default-scheduler")]
        )
        while live._tasks:
            await asyncio.wait(live._tasks)
        return list(live._reports)

    (report,) = asyncio.run(run())
    assert isinstance(report, VictimsPreempted)
    assert report.preemptor.name == "vip"
    assert report.error


class Moody:
    """A core that fails over the first moment that passes, and has nothing to do."""

    def __init__(self) -> None:
        self.ticks = 0
        self.live: Any = None

    def tick(self, now: float, enough: Callable[[], bool]) -> list[Effect]:
        self.ticks += 1
        if self.ticks == 1:
            raise ZeroDivisionError("by zero")
        self.live.stop()
        return []

    def schedule_one(self, now: float) -> None:
        return None

    def next_time(self) -> float:
        return 0.0


class Idle:
    """An API server to which nothing is written."""

    writes = 0


class NoEvents:
    """A recorder to which nothing is told."""

    def hold_back(self, *, while_: bool) -> None:
        assert not while_


def test_the_loop_goes_on_when_mooring_fails_over_the_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run() -> int:
        core, metrics, client = Moody(), Silent(), Idle()
        some: Any = core, client, metrics, NoEvents()
        core.live = LiveScheduler(
            some[0], some[1], some[3], {}, metrics=some[2], deadline=Deadline(10)
        )
        await core.live.run()
        return core.ticks

    with caplog.at_level(logging.ERROR):
        assert asyncio.run(run()) == 2
    assert "by zero" in caplog.text
