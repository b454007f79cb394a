"""Bindings that wait hold up nobody, and a loop that cannot go on rests."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import mooring as mr
from mooring import hook
from mooring.config.configuration import read_configuration
from mooring.config.runtimes import build_profiles
from mooring.kube.event_body import reference
from mooring.live.assembly import SchedulerComponents
from mooring.live.options import HookLimits, SchedulerSettings
from mooring.live.run import scheduling
from mooring.live.state_comparison import check_state
from mooring.plugins.in_tree import default_registry
from mooring.testing import make_node, make_pod
from tests.unit.live.fake_cluster import FakeCluster, fake_cluster

WAITING = 600
#: Not by chance: what never comes would be waited for this long.
FOR_EVER = 3600.0


class Patient(hook.PreBind):
    """Lets pods with the label ``waits`` wait until somebody says go."""

    name = "Patient"

    def __init__(self) -> None:
        self.waiting: set[str] = set()
        self.go = asyncio.Event()

    def pre_bind_check(self, cycle: hook.Cycle, node: mr.Node) -> hook.PreBindCheckAnswer:
        return None if "waits" in cycle.pod.labels else hook.SKIP

    async def pre_bind(self, binding: mr.Binding) -> None:
        assert binding.pod is not None
        assert "waits" in binding.pod.labels
        self.waiting.add(binding.name)
        try:
            await self.go.wait()
        finally:
            self.waiting.discard(binding.name)


def settings(cluster: FakeCluster, *plugins: hook.Hook, **more: Any) -> SchedulerSettings:
    policy = mr.Policy("patience")
    for one in plugins:
        policy.add(one)
    registry = default_registry()
    return SchedulerSettings(
        configuration=read_configuration({}),
        profiles=build_profiles({}, registry, [policy]),
        registry=registry,
        policies=(policy,),
        cluster=cluster.config,
        **more,
    )


@contextmanager
def counted_turns(components: SchedulerComponents) -> Iterator[Callable[[], int]]:
    """Count the turns of the loop."""
    core, turns = components.live.core, 0
    tick = core.tick

    def count(now: float, enough: Callable[[], bool] = lambda: False) -> Any:
        nonlocal turns
        turns += 1
        return tick(now, enough)

    core.tick = count  # type: ignore[method-assign]
    try:
        yield lambda: turns
    finally:
        core.tick = tick  # type: ignore[method-assign]


async def turns_while_nothing_happens(components: SchedulerComponents) -> int:
    """How many turns the loop makes while everybody else has a thousand."""
    with counted_turns(components) as turns:
        for _ in range(1000):
            await asyncio.sleep(0)
        return turns()


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(300):
        while not condition():  # noqa: ASYNC110 - a plugin has no events
            await asyncio.sleep(0.01)


def put_nodes(cluster: FakeCluster) -> None:
    for number in range(20):
        cluster.put_node(make_node(f"node-{number}", cpu="100"))


def test_six_hundred_waiting_bindings_hold_up_no_other_pod() -> None:
    async def run() -> None:
        async with fake_cluster() as cluster:
            put_nodes(cluster)
            patient = Patient()
            for number in range(WAITING):
                cluster.put_pod(make_pod(f"waits-{number}", labels={"waits": "yes"}))
            async with scheduling(settings(cluster, patient), drain=FOR_EVER) as components:
                await until(lambda: len(patient.waiting) == WAITING)
                cluster.put_pod(make_pod("other"))
                await cluster.until(lambda: cluster.bindings)
                assert [name for name, _ in cluster.bindings] == ["other"]
                nominated = [name for name, body in cluster.patches]
                assert len(nominated) == WAITING
                assert "other" not in nominated
                await until(lambda: len(components.live.core.binding) == WAITING)
                assert components.live.overdue() == []
                assert await turns_while_nothing_happens(components) <= 2
                patient.go.set()
                await cluster.until(lambda: len(cluster.bindings) == WAITING + 1)

    asyncio.run(run())


def test_a_scheduler_that_stops_breaks_off_what_only_waits() -> None:
    """It would wait for an hour otherwise, and this test with it."""

    async def run() -> list[tuple[str, str]]:
        async with fake_cluster() as cluster:
            put_nodes(cluster)
            patient = Patient()
            for number in range(50):
                cluster.put_pod(make_pod(f"waits-{number}", labels={"waits": "yes"}))
            async with scheduling(settings(cluster, patient), drain=FOR_EVER):
                await until(lambda: len(patient.waiting) == 50)
            assert patient.waiting == set()
            # Nothing is wrong with these pods, and nobody waits until they are told otherwise.
            assert [list(body["status"]) for _, body in cluster.patches] == [
                ["nominatedNodeName"]
            ] * 50
            assert cluster.events == []
            return cluster.bindings

    async def limited() -> list[tuple[str, str]]:
        async with asyncio.timeout(300):
            return await run()

    assert asyncio.run(limited()) == []


def test_no_more_than_64_writes_are_sent_at_once_whatever_plugins_there_are() -> None:
    async def run() -> None:
        async with fake_cluster() as cluster:
            put_nodes(cluster)
            cluster.gate.clear()
            for number in range(200):
                cluster.put_pod(make_pod(f"p-{number}"))
            async with scheduling(settings(cluster, Patient()), drain=5) as components:
                await until(lambda: components.client.writes == 200 and cluster.binding >= 64)
                assert await turns_while_nothing_happens(components) <= 2
                assert cluster.binding == 64
                cluster.gate.set()
                await cluster.until(lambda: len(cluster.bindings) == 200)

    asyncio.run(run())


def test_with_many_writes_under_way_the_loop_decides_no_more_and_rests() -> None:
    """An API server that does not answer must not make the scheduler spin."""

    async def run() -> None:
        async with fake_cluster() as cluster:
            put_nodes(cluster)
            cluster.gate.clear()
            for number in range(700):
                cluster.put_pod(make_pod(f"p-{number}"))
            async with scheduling(settings(cluster), drain=5) as components:
                await until(lambda: components.client.writes >= 512)
                before = components.live.last_progress
                assert await turns_while_nothing_happens(components) <= 2
                assert (
                    components.live.core.queue.counts()["active"]
                    == 700 - components.client.writes
                    > 0
                )
                await until(
                    lambda: components.live.last_progress > before
                )  # it rests, which is fine
                cluster.gate.set()
                await cluster.until(lambda: len(cluster.bindings) == 700)

    asyncio.run(run())


def test_a_hook_that_waits_too_long_is_ended_and_the_pod_tried_again() -> None:
    async def run() -> None:
        async with fake_cluster() as cluster:
            put_nodes(cluster)
            patient = Patient()
            cluster.put_pod(make_pod("waits", labels={"waits": "yes"}))
            limits = HookLimits(binding_seconds=0.05)
            async with scheduling(settings(cluster, patient, hook_limits=limits)) as components:
                await cluster.until(lambda: len(cluster.patches) == 2)
                (_, nominated), (name, body) = cluster.patches
                assert nominated["status"]["nominatedNodeName"].startswith("node-")
                assert name == "waits"
                # The watch of this cluster never shows the nominated node, which is taken back.
                assert body["status"]["nominatedNodeName"] is None
                assert "plugin Patient failed in pre_bind for pod default/waits: " in str(body)
                assert "it did not finish within 0.05 seconds" in str(body)
                patient.go.set()
                await cluster.until(lambda: cluster.bindings)
                await until(lambda: not components.live.core.binding)

    asyncio.run(run())


class Stubborn(hook.PreBind):
    """Goes on although it is cancelled."""

    name = "Stubborn"

    def __init__(self) -> None:
        self.cancelled = 0
        self.go = asyncio.Event()

    async def pre_bind(self, binding: mr.Binding) -> None:
        while not self.go.is_set():
            try:
                await self.go.wait()
            except asyncio.CancelledError:
                self.cancelled += 1


def test_a_hook_that_ignores_its_cancellation_is_left_behind() -> None:
    async def run() -> None:
        async with fake_cluster() as cluster:
            put_nodes(cluster)
            stubborn = Stubborn()
            cluster.put_pod(make_pod("p"))
            limits = HookLimits(binding_seconds=0.05)
            async with scheduling(settings(cluster, stubborn, hook_limits=limits)):
                await cluster.until(lambda: len(cluster.patches) == 2)
                assert stubborn.cancelled == 1
                stubborn.go.set()
                await cluster.until(lambda: cluster.bindings)

    asyncio.run(run())


class Late(hook.PostBind):
    """Is told of pods, and takes a moment for it."""

    name = "Late"

    def __init__(self) -> None:
        self.told: list[str] = []

    async def post_bind(self, binding: mr.Binding) -> None:
        await asyncio.sleep(0)
        self.told.append(binding.name)


def test_who_wants_to_know_of_a_bound_pod_is_told_though_the_scheduler_stops() -> None:
    async def run() -> list[str]:
        async with fake_cluster() as cluster:
            put_nodes(cluster)
            late = Late()
            cluster.gate.clear()
            cluster.put_pod(make_pod("p"))
            async with scheduling(settings(cluster, late), drain=FOR_EVER) as components:
                await cluster.until(lambda: cluster.binding)
                components.live._waiting_bindings.cancel_all()
                cluster.gate.set()
            return late.told

    assert asyncio.run(run()) == ["p"]


def test_with_the_api_server_away_decisions_rest_and_pods_keep_their_places() -> None:
    async def run() -> None:
        async with fake_cluster() as cluster:
            put_nodes(cluster)
            for number in range(700):
                cluster.put_pod(make_pod(f"p-{number}"))
            cluster.no_answer = True
            async with scheduling(settings(cluster), drain=5) as components:
                await until(lambda: components.client.writes >= 512)
                for _ in range(50):
                    await asyncio.sleep(0.01)
                # What became of these bindings is not known: they are asked for, few at a time.
                assert len(components.live.core.binding) == components.client.writes < 600
                assert components.live.core.cluster.assumed == len(components.live.core.binding)
                cluster.no_answer = False
                await cluster.until(lambda: len(cluster.bindings) == 700)

    asyncio.run(run())


def test_a_binding_that_nobody_works_on_is_a_difference(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> list[str]:
        async with fake_cluster() as cluster:
            put_nodes(cluster)
            patient = Patient()
            cluster.put_pod(make_pod("waits", labels={"waits": "yes"}))
            async with scheduling(settings(cluster, patient)) as components:
                await until(lambda: patient.waiting)
                live = components.live
                assert live.overdue() == []
                live._bindings.clear()  # as if its task had ended without a word
                found = await check_state(
                    components.client, live.core, ["default-scheduler"],
                    overdue=live.overdue, sleep=asyncio.sleep,
                )  # fmt: skip
                patient.go.set()
                return [one.text for one in found.differences]

    assert asyncio.run(run()) == [
        ("pod default/waits is being bound, and nothing completes the binding")
    ]


def test_events_wait_while_bindings_do_and_none_is_lost_at_the_end() -> None:
    async def run() -> set[str]:
        async with fake_cluster() as cluster:
            put_nodes(cluster)
            cluster.gate.clear()
            for number in range(100):
                cluster.put_pod(make_pod(f"p-{number}"))
            async with scheduling(settings(cluster, Patient()), drain=5) as components:
                await until(lambda: components.client.writes == 100 and cluster.binding >= 64)
                about = reference(make_pod("early"))
                components.recorder.record(about, None, "Normal", "Scheduled", "Binding", "n")
                await turns_while_nothing_happens(components)
                assert cluster.telling == 0
                cluster.gate.set()
                await cluster.until(lambda: len(cluster.bindings) == 100)
            return {one["regarding"]["name"] for one in cluster.events}

    assert asyncio.run(run()) == {"early", *(f"p-{number}" for number in range(100))}


def test_in_a_quiet_cluster_an_event_is_written_at_once() -> None:
    async def run() -> None:
        async with fake_cluster() as cluster:
            put_nodes(cluster)
            async with scheduling(settings(cluster, Patient()), drain=5) as components:
                for number in range(3):
                    cluster.put_pod(make_pod(f"p-{number}"))
                    await cluster.until(lambda: len(cluster.events) == number + 1)  # noqa: B023
                    assert not components.recorder._queue.held_back

    asyncio.run(run())
