"""A victim whose binding is not sent yet gives its place back; it is not deleted."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import mooring as mr
from mooring import hook
from mooring.framework.binding import Binding
from mooring.framework.extension_points import PluginAtPoint
from mooring.framework.plans.plan import PluginPlan
from mooring.framework.runtime import Runtime
from mooring.live.async_hooks import AsyncHooks
from mooring.live.binder import Binder
from mooring.live.plans.plan_executor import PlanExecutor
from mooring.live.sync_hooks import SyncHooks
from mooring.live.waiting_bindings import WaitingBindings
from mooring.process.deadline import Deadline
from mooring.scheduler.effects import Bind, BindFailed, Bound, PreemptVictims
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod

NOTHING: Any = None
MEMORY = "Preempted by pod uid-default-vip on node a (in kube-scheduler memory)."


class Gate(hook.PreBind, hook.Bind):
    """Waits before the binding and just before it is sent, until somebody says go."""

    name = "Gate"

    def __init__(self) -> None:
        self.at = ""
        self.cancelled = False
        self.go = {"pre_bind": asyncio.Event(), "bind": asyncio.Event()}

    async def pre_bind(self, binding: mr.Binding) -> None:
        await self._wait("pre_bind")

    async def bind(self, binding: mr.Binding) -> None:
        await self._wait("bind")

    async def _wait(self, where: str) -> None:
        self.at = where
        try:
            await self.go[where].wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise


class World:
    """A binder with one plugin; it notes what it writes."""

    def __init__(self, *, takes_part: bool = True, plan: hook.Plan | None = None) -> None:
        self.bound: list[str] = []
        self.deleted: list[str] = []
        self.notes: list[str] = []
        self.gate = Gate()
        self.writes = 0
        self.pod = make_pod("low")
        cluster = Cluster()
        cluster.put(make_node("a"))
        cluster.put(self.pod)
        point = [PluginAtPoint("Gate", self.gate)]
        runtimes = {"s": Runtime(cluster)}
        runtimes["s"].install("s", {"preBind": point, "bind": point})
        waiting, deadline = WaitingBindings(), Deadline(10)
        client: Any = self
        plans = PlanExecutor(client, runtimes, SyncHooks(deadline), waiting)
        self.binder = Binder(client, client, plans, AsyncHooks(deadline, 60, waiting))
        binding = Binding(
            namespace="default", name="low", uid=self.pod.uid, node_name="a", pod=self.pod
        )
        named = (PluginPlan("Mine", plan),) if plan is not None else ()
        names = frozenset({"Gate"}) if takes_part else frozenset[str]()
        self.effect = Bind(
            self.pod, binding, NOTHING, "s", plans=named, pre_binds=names,
            hooks=runtimes["s"].binding_hooks,
        )  # fmt: skip

    async def bind(self, namespace: str, name: str, *_: object) -> None:
        self.bound.append(name)

    async def patch_pod_status(self, *_: Any, **more: Any) -> None:
        pass

    async def delete_pod(self, namespace: str, name: str, uid: str) -> None:
        self.deleted.append(name)

    def record(self, regarding: Any, related: Any, *texts: Any, **more: Any) -> None:
        self.notes.append(texts[-1])

    async def preempt(self) -> None:
        vip = make_pod("vip")
        effect = PreemptVictims((self.pod,), vip, "a", "s", "DefaultPreemption")
        assert (await self.binder.preempt(effect)).error == ""


Steps = Callable[[World, "asyncio.Task[Bound | BindFailed]"], Awaitable[None]]


def carried_out(
    steps: Steps, make: Callable[[], World] = World
) -> tuple[World, Bound | BindFailed]:
    """Begin to bind a pod, do something meanwhile, and see what came of it."""

    async def run() -> tuple[World, Bound | BindFailed]:
        world = make()
        task = asyncio.create_task(world.binder.bind(world.effect))
        for _ in range(20):
            await asyncio.sleep(0)
        await steps(world, task)
        report = await task
        assert task.cancelling() == 0
        assert len(world.binder._pods_in_pre_bind) == 0
        return world, report

    return asyncio.run(run())


def test_its_hook_is_cancelled_and_the_pod_is_not_bound() -> None:
    async def steps(world: World, task: "asyncio.Task[Bound | BindFailed]") -> None:
        assert world.gate.at == "pre_bind"
        await asyncio.gather(world.preempt(), world.preempt())  # by two pods: once is enough

    world, report = carried_out(steps)
    assert isinstance(report, BindFailed)
    assert report.message == 'running PreBind plugin "Gate": preempted by DefaultPreemption'
    assert not report.rejected
    assert (world.bound, world.deleted, world.gate.cancelled) == ([], [], True)
    assert world.notes == [MEMORY, MEMORY]


def test_its_plan_is_broken_off() -> None:
    async def steps(world: World, task: "asyncio.Task[Bound | BindFailed]") -> None:
        assert world.gate.at == ""
        await world.preempt()

    world, report = carried_out(steps, lambda: World(plan=hook.Plan(ready=lambda _: False)))
    assert isinstance(report, BindFailed)
    assert report.message == 'running PreBind plugin "Mine": preempted by DefaultPreemption'
    assert (world.bound, world.deleted, world.notes) == ([], [], [MEMORY])


def test_one_that_waits_for_its_turn_is_broken_off_as_well() -> None:
    async def run() -> tuple[World, Bound | BindFailed]:
        world = World()
        patch: asyncio.Task[None] = asyncio.create_task(asyncio.sleep(3600))
        task = asyncio.create_task(world.binder.bind(world.effect, patch))
        await asyncio.sleep(0)
        await world.preempt()
        report = await task
        patch.cancel()
        return world, report

    world, report = asyncio.run(run())
    assert isinstance(report, BindFailed)
    assert report.message == "preempted by DefaultPreemption"
    assert (world.bound, world.deleted) == ([], [])


def test_one_whose_binding_is_being_sent_is_deleted() -> None:
    async def steps(world: World, task: "asyncio.Task[Bound | BindFailed]") -> None:
        world.gate.go["pre_bind"].set()
        for _ in range(20):
            await asyncio.sleep(0)
        assert world.gate.at == "bind"
        await world.preempt()
        world.gate.go["bind"].set()

    world, report = carried_out(steps)
    assert isinstance(report, Bound)
    assert (world.bound, world.deleted) == (["low"], ["low"])
    assert world.notes == ["Preempted by pod uid-default-vip on node a"]


def test_one_with_nothing_to_do_before_its_binding_is_deleted() -> None:
    async def steps(world: World, task: "asyncio.Task[Bound | BindFailed]") -> None:
        assert world.gate.at == "bind"
        await world.preempt()
        world.gate.go["bind"].set()

    world, report = carried_out(steps, lambda: World(takes_part=False))
    assert isinstance(report, Bound)
    assert (world.bound, world.deleted) == (["low"], ["low"])


def test_a_scheduler_that_stops_at_the_same_time_ends_the_task() -> None:
    async def run() -> bool:
        world = World()
        task = asyncio.create_task(world.binder.bind(world.effect))
        for _ in range(20):
            await asyncio.sleep(0)
        assert world.binder._pods_in_pre_bind.cancel(world.pod.uid, "preempted")
        task.cancel()
        await asyncio.wait({task})
        return task.cancelled() and not world.bound

    assert asyncio.run(run())


class Stubborn(Gate):
    """Goes on although it is cancelled."""

    async def _wait(self, where: str) -> None:
        while not self.go[where].is_set():
            try:
                await super()._wait(where)
            except asyncio.CancelledError:
                continue


def test_a_hook_that_ignores_its_cancellation_does_not_keep_the_place() -> None:
    def make() -> World:
        world = World()
        world.gate.__class__ = Stubborn
        return world

    async def steps(world: World, task: "asyncio.Task[Bound | BindFailed]") -> None:
        await world.preempt()
        for _ in range(20):
            await asyncio.sleep(0)
        assert task.done()
        world.gate.go["pre_bind"].set()

    world, report = carried_out(steps, make)
    assert isinstance(report, BindFailed)
    assert world.bound == []
