"""Any plan is carried out: its writes in order, then the wait for changes of its own objects."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from mooring import hook
from mooring.errors import ApiError, KubeError, PluginError
from mooring.framework.binding import Binding
from mooring.framework.plans.plan import PluginPlan
from mooring.framework.runtime import Runtime
from mooring.framework.verdict import fail, reject
from mooring.live.plans.plan_executor import PlanExecutor, PlanFailed, PlanProgress
from mooring.live.sync_hooks import SyncHooks
from mooring.live.waiting_bindings import WaitingBindings
from mooring.model.change import Put
from mooring.model.meta import KubeObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage import PersistentVolume, PersistentVolumeClaim
from mooring.process.deadline import Deadline
from mooring.scheduler.effects import Bind, ObjectWritten
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod

PODS = "/api/v1/namespaces/default/pods"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
CONFLICT = ApiError("it was changed", status=409, reason="Conflict")
PREFIX = 'running PreBind plugin "Mine": '


def claim(name: str = "c", version: str = "1") -> PersistentVolumeClaim:
    return PersistentVolumeClaim.from_dict(
        {"metadata": {"name": name, "namespace": "default", "resourceVersion": version}}
    )


class FakeClient:
    """Notes what is asked, and answers with what is prepared."""

    def __init__(self, *answers: dict[str, Any] | KubeError) -> None:
        self.asked: list[tuple[str, str, object]] = []
        self.content_types: list[str] = []
        self._answers = list(answers)

    async def request(
        self, method: str, path: str, *, body: object = None, content_type: str = "", **more: Any
    ) -> bytes:
        self.asked.append((method, path, body))
        self.content_types.append(content_type)
        answer = self._answers.pop(0) if self._answers else {}
        if isinstance(answer, KubeError):
            raise answer
        return msgspec.json.encode(answer)

    async def get(self, path: str, kind: type[KubeObject]) -> KubeObject:
        return kind.from_json(await self.request("GET", path))


class World:
    """A pod with plans, and the state they are about."""

    def __init__(self, *answers: dict[str, Any] | KubeError) -> None:
        self.client = FakeClient(*answers)
        self.cluster = Cluster()
        self.pod = make_pod("p")
        self.cluster.put(make_node("a"))
        self.cluster.put(self.pod)
        self.waiting = WaitingBindings()
        self.progress = PlanProgress()
        self.written: list[ObjectWritten] = []
        client: Any = self.client
        self.executor = PlanExecutor(
            client, {"s": Runtime(self.cluster)}, SyncHooks(Deadline(10)), self.waiting,
            self.written.append,
        )  # fmt: skip

    async def write(self, *plans: hook.Plan) -> None:
        await self.executor.write(self.pod, [PluginPlan("Mine", plan) for plan in plans])

    async def carry_out(self, *plans: hook.Plan) -> None:
        node = self.cluster.nodes["a"]
        binding = Binding(namespace="default", name="p", uid=self.pod.uid, node_name=node.name)
        named = tuple(PluginPlan("Mine", plan) for plan in plans)
        nothing: Any = None
        await self.executor.write(self.pod, named, self.progress)
        await self.executor.wait(Bind(self.pod, binding, nothing, "s", plans=named))

    async def undo(self, *plans: hook.Plan) -> None:
        named = tuple(PluginPlan("Mine", plan) for plan in plans)
        await self.executor.undo(self.pod, named, self.progress)

    def put(self, *things: KubeObject) -> None:
        for thing in things:
            self.cluster.put(thing)
        self.executor.on_changes([Put(thing) for thing in things])


def patch(name: str = "c", **more: Any) -> hook.Write:
    parts: dict[str, Any] = {"verb": "patch", "body": {"spec": {"n": name}}, **more}
    return hook.Write(kind=PersistentVolumeClaim, key=f"default/{name}", **parts)


class TestWrites:
    def test_they_are_sent_in_order_to_the_objects_of_their_kinds(self) -> None:
        world = World()
        plan = hook.Plan(
            writes=(
                patch("one"),
                patch("two", subresource="status"),
                hook.Write(
                    verb="create", kind=PersistentVolumeClaim, key="default/",
                    body={"metadata": {"generateName": "x-"}},
                ),
                hook.Write(
                    verb="create", kind=Pod, key="default/p", subresource="binding", body={}
                ),
                hook.Write(verb="patch", kind=PersistentVolume, key="pv", body={"a": 1}),
            )
        )  # fmt: skip
        asyncio.run(world.carry_out(plan))
        assert world.client.asked == [
            ("PATCH", f"{CLAIMS}/one", {"spec": {"n": "one"}}),
            ("PATCH", f"{CLAIMS}/two/status", {"spec": {"n": "two"}}),
            ("POST", CLAIMS, {"metadata": {"generateName": "x-"}}),
            ("POST", f"{PODS}/p/binding", {}),
            ("PATCH", "/api/v1/persistentvolumes/pv", {"a": 1}),
        ]

    def test_one_may_depend_on_the_answers_before_it(self) -> None:
        world = World({"metadata": {"name": "x-1", "namespace": "default", "uid": "u"}})

        def status(answers: tuple[KubeObject, ...]) -> hook.Write:
            (made,) = answers
            return patch(made.name, subresource="status", body={"uid": made.uid})

        create = hook.Write(
            verb="create", kind=PersistentVolumeClaim, key="default/", body={"a": 1}
        )
        asyncio.run(world.carry_out(hook.Plan(writes=(create, status, lambda _: None))))
        assert world.client.asked == [
            ("POST", CLAIMS, {"a": 1}),
            ("PATCH", f"{CLAIMS}/x-1/status", {"uid": "u"}),
        ]

    def test_a_conflict_is_an_error_that_says_what_was_done(self) -> None:
        world = World(CONFLICT)
        plan = hook.Plan(doing="making room", writes=(patch(doing="add finalizer to claim c"),))
        with pytest.raises(PlanFailed) as failed:
            asyncio.run(world.carry_out(plan, hook.Plan(writes=(patch("never"),))))
        told = f"{PREFIX}making room: add finalizer to claim c: it was changed"
        assert str(failed.value) == told
        assert not failed.value.rejected
        assert len(world.client.asked) == 1

    def test_after_a_conflict_the_write_is_made_anew_of_the_object_as_it_is_then(self) -> None:
        now = {"metadata": {"name": "c", "namespace": "default", "resourceVersion": "7"}}
        world = World(CONFLICT, now, CONFLICT, {"metadata": {"resourceVersion": "8"}}, {})

        def again(thing: KubeObject) -> hook.Write:
            return patch(body={"v": thing.resource_version}, on_conflict=again)

        asyncio.run(world.carry_out(hook.Plan(writes=(patch(on_conflict=again),))))
        assert [(method, body) for method, _, body in world.client.asked] == [
            ("PATCH", {"spec": {"n": "c"}}),
            ("GET", None),
            ("PATCH", {"v": "7"}),
            ("GET", None),
            ("PATCH", {"v": "8"}),
        ]

    def test_after_a_conflict_there_may_be_nothing_left_to_do(self) -> None:
        world = World(CONFLICT, {"metadata": {"name": "c", "uid": "now"}})
        seen: list[str] = []

        def note(answers: tuple[KubeObject, ...]) -> None:
            seen.extend(one.uid for one in answers)

        asyncio.run(world.carry_out(hook.Plan(writes=(patch(on_conflict=lambda _: None), note))))
        assert seen == ["now"]
        assert len(world.client.asked) == 2

    def test_after_a_conflict_it_may_be_too_late(self) -> None:
        world = World(CONFLICT)
        taken = patch(on_conflict=lambda _: fail("claim c got allocated elsewhere"))
        with pytest.raises(PlanFailed, match="^" + PREFIX + "claim c got allocated elsewhere$"):
            asyncio.run(world.carry_out(hook.Plan(writes=(taken,))))

    def test_conflicts_without_end_end(self) -> None:
        answers: list[dict[str, Any] | KubeError] = [CONFLICT, {}]
        world = World(*answers * 4, CONFLICT)

        def again(_: KubeObject) -> hook.Write:
            return patch(on_conflict=again)

        with pytest.raises(PlanFailed, match="it was changed"):
            asyncio.run(world.carry_out(hook.Plan(writes=(again(claim()),))))
        assert [method for method, _, _ in world.client.asked].count("PATCH") == 5

    @pytest.mark.parametrize(
        "step", [lambda _: 1 / 0, lambda _: "x" * 0, lambda: None, lambda _: hook.Plan()]
    )
    def test_a_step_that_fails_names_its_plugin(self, step: Any) -> None:
        world = World()
        with pytest.raises(PluginError, match="plugin Mine failed in plan"):
            asyncio.run(world.carry_out(hook.Plan(writes=(step,))))


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


class TestWaiting:
    def run(self, steps: Callable[[World, "asyncio.Task[None]"], Any], *plans: hook.Plan) -> None:
        """Begin to carry out plans, do something meanwhile, and end."""

        async def run() -> None:
            world = World()
            task = asyncio.create_task(world.carry_out(*plans))
            await settle()
            await steps(world, task)
            assert task.done()
            assert world.executor._waiting == {}

        asyncio.run(run())

    def test_it_looks_again_when_one_of_its_objects_changes_and_not_before(self) -> None:
        asked: list[str] = []

        def ready(cluster: Cluster) -> bool:
            found = cluster.catalog.get(PersistentVolumeClaim, "default/c")
            asked.append(found.resource_version if found is not None else "")
            return asked[-1] == "2"

        async def steps(world: World, task: "asyncio.Task[None]") -> None:
            world.put(claim("other"), make_node("b"), make_pod("q"))
            await settle()
            assert asked == [""]
            world.put(claim(version="1"))
            await settle()
            assert not task.done()
            world.put(claim(version="2"))
            await settle()
            assert asked == ["", "1", "2"]
            task.result()

        self.run(steps, hook.Plan(ready=ready, objects=((PersistentVolumeClaim, "default/c"),)))

    def test_what_waits_counts_as_waiting_and_is_broken_off_when_the_scheduler_stops(self) -> None:
        async def steps(world: World, task: "asyncio.Task[None]") -> None:
            assert world.waiting._tasks == {task}
            world.waiting.cancel_all()
            await asyncio.wait({task})
            assert task.cancelled()
            assert world.waiting._tasks == set()

        self.run(steps, hook.Plan(ready=lambda _: False))

    @pytest.mark.parametrize(
        ("answer", "told", "rejected"),
        [
            (reject("no licence"), "no licence", True),
            ("no licence", "no licence", True),
            (fail("volume is gone"), f"{PREFIX}binding: volume is gone", False),
        ],
    )
    def test_what_never_will_be_is_told(self, answer: Any, told: str, rejected: bool) -> None:
        async def steps(world: World, task: "asyncio.Task[None]") -> None:
            failed = task.exception()
            assert isinstance(failed, PlanFailed)
            assert (str(failed), failed.rejected) == (told, rejected)

        self.run(steps, hook.Plan(doing="binding", ready=lambda _: answer))

    def test_its_time_is_up(self) -> None:
        async def steps(world: World, task: "asyncio.Task[None]") -> None:
            await asyncio.wait({task})
            assert str(task.exception()) == f"{PREFIX}binding: context deadline exceeded"

        self.run(steps, hook.Plan(doing="binding", ready=lambda _: False, seconds=0.01))

    def test_a_pod_that_is_gone_needs_nothing_any_more(self) -> None:
        async def steps(world: World, task: "asyncio.Task[None]") -> None:
            world.cluster.remove(world.pod)
            world.executor.on_changes([Put(world.pod)])
            await settle()
            assert str(task.exception()) == f"{PREFIX}binding: pod does not exist any more"

        self.run(steps, hook.Plan(doing="binding", ready=lambda _: False))

    def test_plans_are_waited_for_together_each_as_long_as_it_says(self) -> None:
        done: list[bool] = []
        slow = hook.Plan(ready=lambda _: bool(done), objects=((Node, "a"),), seconds=60)
        fast = hook.Plan(ready=lambda _: True, seconds=0)

        async def steps(world: World, task: "asyncio.Task[None]") -> None:
            assert not task.done()
            done.append(True)
            world.put(make_node("a"))
            await settle()
            task.result()

        self.run(steps, slow, fast)

    @pytest.mark.parametrize("ready", [lambda _: 1 / 0, lambda: True, lambda _: None])
    def test_a_condition_that_fails_names_its_plugin(self, ready: Any) -> None:
        async def steps(world: World, task: "asyncio.Task[None]") -> None:
            failed = task.exception()
            assert isinstance(failed, PluginError)
            assert str(failed).startswith("plugin Mine failed in plan.ready for pod default/p: ")

        self.run(steps, hook.Plan(ready=ready))


def test_an_object_is_deleted_after_it_was_changed() -> None:
    def last(answers: tuple[KubeObject, ...]) -> hook.Write | None:
        assert [one.resource_version for one in answers] == ["2"]  # what is deleted has no answer
        return None

    world = World({"metadata": {"name": "c", "resourceVersion": "2"}}, {"kind": "Status"})
    options = {"preconditions": {"uid": "u"}}
    changed = hook.Write(verb="patch", kind=PersistentVolumeClaim, key="default/c", body={})
    gone = hook.Write(verb="delete", kind=PersistentVolumeClaim, key="default/c", body=options)
    asyncio.run(world.write(hook.Plan(writes=(changed, gone, last))))
    assert world.client.asked == [
        ("PATCH", f"{CLAIMS}/c", {}),
        ("DELETE", f"{CLAIMS}/c", options),
    ]


def stored(name: str, version: str = "1", **spec: Any) -> dict[str, Any]:
    """An object as the API server answers."""
    metadata = {"name": name, "namespace": "default", "resourceVersion": version}
    return {"metadata": metadata, "spec": spec}


def version_of(name: str) -> Callable[[tuple[KubeObject, ...]], hook.WriteAnswer]:
    """A step that writes the version of what was written last; nothing if nothing was."""

    def step(answers: tuple[KubeObject, ...]) -> hook.Write | None:
        return patch(name, body={"v": answers[-1].resource_version}) if answers else None

    return step


def test_an_error_is_told_in_the_words_of_the_api_server() -> None:
    said = 'claim "c" is invalid: status.reservedFor: Too many: 257'
    world = World(ApiError(f"The API server x answered 422: {said}.", status=422, said=said))
    with pytest.raises(PlanFailed) as failed:
        asyncio.run(world.carry_out(hook.Plan(writes=(patch(doing="add user"),))))
    assert str(failed.value) == f"{PREFIX}add user: {said}"


class TestUndo:
    def test_what_was_written_is_taken_back_the_last_plan_first(self) -> None:
        world = World(stored("a", "5"), stored("b", "6"))
        first = hook.Plan(writes=(patch("a"),), undo=(version_of("undo-a"), patch("more")))
        second = hook.Plan(writes=(patch("b"),), undo=(version_of("undo-b"),))
        never = hook.Plan(writes=(patch("c"),), undo=(version_of("undo-c"),))
        asyncio.run(world.carry_out(first, second))
        del world.client.asked[:]
        asyncio.run(world.undo(first, second, never))
        assert world.client.asked == [
            ("PATCH", f"{CLAIMS}/undo-b", {"v": "6"}),
            ("PATCH", f"{CLAIMS}/undo-a", {"v": "5"}),
            ("PATCH", f"{CLAIMS}/more", {"spec": {"n": "more"}}),
        ]

    def test_only_the_writes_that_were_sent_are_known(self) -> None:
        world = World(stored("a", "5"), CONFLICT)
        plan = hook.Plan(writes=(patch("a"), patch("b")), undo=(version_of("undo"),))
        with pytest.raises(PlanFailed):
            asyncio.run(world.carry_out(plan))
        asyncio.run(world.undo(plan))
        assert world.client.asked[2:] == [("PATCH", f"{CLAIMS}/undo", {"v": "5"})]

    def test_what_fails_is_logged_and_the_rest_follows(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        world = World(ApiError("no", status=500), ApiError("gone", status=404))
        plan = hook.Plan(undo=(patch("a", doing="release a"), patch("b"), patch("c")))
        asyncio.run(world.undo(plan))
        assert [path for _, path, _ in world.client.asked] == [
            f"{CLAIMS}/a", f"{CLAIMS}/b", f"{CLAIMS}/c",
        ]  # fmt: skip
        # An object that is gone needs no undo.
        assert [one.getMessage() for one in caplog.records] == [
            f"pod default/p: not everything could be taken back: {PREFIX}release a: no"
        ]

    def test_a_strategic_patch_is_sent_as_one(self) -> None:
        world = World()
        asyncio.run(world.undo(hook.Plan(undo=(patch("a", patch_type="strategic"), patch("b")))))
        assert world.client.content_types == [
            "application/strategic-merge-patch+json", "application/merge-patch+json",
        ]  # fmt: skip


def test_what_was_written_is_reported_at_once() -> None:
    world = World(stored("a", "5"), stored("b", "6"))
    plan = hook.Plan(writes=(patch("a"), version_of("b")))
    asyncio.run(world.carry_out(plan))
    things = [(one.thing.name, one.thing.resource_version) for one in world.written]
    assert things == [("a", "5"), ("b", "6")]


def test_a_plan_says_itself_what_a_wait_that_takes_too_long_is_called() -> None:
    world = World()
    plan = hook.Plan(ready=lambda _: False, seconds=0, too_late="device binding timeout")
    with pytest.raises(PlanFailed, match=r"device binding timeout$"):
        asyncio.run(world.carry_out(plan))
