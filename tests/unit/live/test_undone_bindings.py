"""What was written for a pod is taken back before anybody hears that it was not bound."""

import asyncio
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from mooring import hook
from mooring.errors import ApiError, KubeError
from mooring.framework.binding import Binding
from mooring.framework.plans.plan import PluginPlan
from mooring.framework.runtime import Runtime
from mooring.live.async_hooks import AsyncHooks
from mooring.live.binder import Binder
from mooring.live.plans.plan_executor import PlanExecutor
from mooring.live.sync_hooks import SyncHooks
from mooring.live.waiting_bindings import WaitingBindings
from mooring.model.meta import KubeObject
from mooring.model.pod import Pod
from mooring.model.storage import PersistentVolumeClaim
from mooring.process.deadline import Deadline
from mooring.scheduler.effects import Bind, BindFailed, Bound
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod

NO = ApiError("no room", status=422)
UNAVAILABLE = ApiError("overloaded", status=503)


def write(name: str) -> hook.Write:
    return hook.Write(
        verb="patch", kind=PersistentVolumeClaim, key=f"default/{name}", body={"spec": {}}
    )


class World:
    """A binder and an API server that answers what is prepared."""

    def __init__(self, plan: hook.Plan) -> None:
        self.pod = make_pod("p")
        cluster = Cluster()
        cluster.put(make_node("a"))
        cluster.put(self.pod)
        self.asked: list[str] = []
        self.errors: dict[str, KubeError] = {}
        self.found: Pod | KubeError = self.pod
        self.notes: list[tuple[str, str, str, str]] = []
        self.writes = 0
        runtimes = {"s": Runtime(cluster)}
        self.waiting = WaitingBindings()
        deadline = Deadline(10)
        client: Any = self
        plans = PlanExecutor(client, runtimes, SyncHooks(deadline), self.waiting)
        hooks = AsyncHooks(deadline, 60, self.waiting)
        self.binder = Binder(client, client, plans, hooks)
        binding = Binding(
            namespace="default", name="p", uid=self.pod.uid, node_name="a", pod=self.pod
        )
        nothing: Any = None
        named = (PluginPlan("Mine", plan),)
        self.effect = Bind(
            self.pod, binding, nothing, "s", plans=named, hooks=runtimes["s"].binding_hooks
        )

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        if what in self.errors:
            raise self.errors[what]

    async def request(self, method: str, path: str, **more: Any) -> bytes:
        self._ask(path.rpartition("/")[2])
        return msgspec.json.encode({"metadata": {"name": "x", "namespace": "default"}})

    async def get(self, path: str, kind: type[KubeObject]) -> KubeObject:
        self._ask(f"get {path.rpartition('/')[2]}")
        if isinstance(self.found, KubeError):
            raise self.found
        return self.found

    async def bind(self, *_: object) -> None:
        self._ask("bind")

    def record(self, regarding: Any, related: Any, *texts: str, **more: Any) -> None:
        kind, reason, action, note = texts
        self.notes.append((kind, reason, action, note))

    def carry_out(self) -> Bound | BindFailed:
        return asyncio.run(self.binder.bind(self.effect))


PLAN = hook.Plan(writes=(write("one"), write("two")), undo=(write("undo"),))


def test_a_plan_that_fails_is_taken_back() -> None:
    world = World(PLAN)
    world.errors["two"] = NO
    report = world.carry_out()
    assert isinstance(report, BindFailed)
    assert report.message == 'running PreBind plugin "Mine": no room'
    assert world.asked == ["one", "two", "get p", "undo"]


def test_a_binding_that_fails_takes_the_plan_back() -> None:
    world = World(PLAN)
    world.errors["bind"] = NO
    report = world.carry_out()
    assert isinstance(report, BindFailed)
    assert world.asked == ["one", "two", "bind", "get p", "undo"]


def test_a_pod_that_is_bound_keeps_everything() -> None:
    world = World(PLAN)
    assert isinstance(world.carry_out(), Bound)
    assert world.asked == ["one", "two", "bind"]


def test_a_pod_that_somebody_else_bound_keeps_what_was_written_for_it() -> None:
    world = World(PLAN)
    world.errors["bind"] = NO
    world.found = world.pod.placed("b", {})
    assert isinstance(world.carry_out(), BindFailed)
    assert "undo" not in world.asked


def test_another_pod_of_the_same_name_does_not_count() -> None:
    world = World(PLAN)
    world.errors["bind"] = NO
    other = make_pod("p").placed("b", {})
    world.found = replace(other, metadata=replace(other.metadata, uid="another"))
    assert isinstance(world.carry_out(), BindFailed)
    assert world.asked[-1] == "undo"


def test_a_pod_that_is_gone_leaves_nothing_behind() -> None:
    world = World(PLAN)
    world.errors["bind"] = ApiError("it is gone", status=404)
    world.found = ApiError("it is gone", status=404)
    assert isinstance(world.carry_out(), BindFailed)
    assert world.asked[-1] == "undo"


def test_an_api_server_that_is_away_is_not_asked_for_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World(PLAN)
    world.errors["two"] = UNAVAILABLE
    world.found = UNAVAILABLE
    assert isinstance(world.carry_out(), BindFailed)
    assert world.asked == ["one", "two", "get p"]
    assert "pod default/p: nothing could be taken back: overloaded" in caplog.text


def test_a_plan_without_undo_costs_no_request() -> None:
    world = World(hook.Plan(writes=(write("one"),)))
    world.errors["bind"] = NO
    assert isinstance(world.carry_out(), BindFailed)
    assert world.asked == ["one", "bind"]


def test_one_that_is_preempted_while_it_waits_is_taken_back() -> None:
    async def run() -> tuple[World, Bound | BindFailed]:
        world = World(hook.Plan(ready=lambda _: False, undo=(write("undo"),)))
        task = asyncio.create_task(world.binder.bind(world.effect))
        for _ in range(20):
            await asyncio.sleep(0)
        assert world.binder._pods_in_pre_bind.cancel(world.pod.uid, "preempted by X")
        return world, await task

    world, report = asyncio.run(run())
    assert isinstance(report, BindFailed)
    assert world.asked == ["get p", "undo"]


def test_a_scheduler_that_stops_leaves_everything_to_the_next() -> None:
    async def run() -> World:
        world = World(hook.Plan(ready=lambda _: False, undo=(write("undo"),)))
        task = asyncio.create_task(world.binder.bind(world.effect))
        for _ in range(20):
            await asyncio.sleep(0)
        world.waiting.cancel_all()
        await asyncio.wait({task})
        assert task.cancelled()
        return world

    assert asyncio.run(run()).asked == []


def test_an_event_says_what_a_pod_waits_for() -> None:
    event = hook.WaitingEvent(reason="BindingConditionsPending", note="waiting for gpu-0")
    world = World(hook.Plan(writes=(write("one"),), ready=lambda _: True, event=event))
    assert isinstance(world.carry_out(), Bound)
    assert world.notes == [
        ("Normal", "BindingConditionsPending", "Scheduling", "waiting for gpu-0")
    ]
