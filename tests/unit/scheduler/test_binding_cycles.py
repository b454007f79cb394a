"""Binding cycles: what has to be done before a binding, and who fails in them."""

import runpy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import mooring as mr
from mooring import Node, Pod, hook
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.observer import Observer
from mooring.framework.filtering import Rejection
from mooring.model.storage import PersistentVolumeClaim
from mooring.scheduler.effects import Bind, BindFailed, Bound, PatchStatus, PreemptVictims
from mooring.scheduler.queued_pod import SubQueue
from mooring.testing import make_node, make_pod
from tests.unit.scheduler.world import World

PLAN = hook.Plan(
    doing="greeting",
    writes=(
        hook.Write(
            verb="patch", kind=PersistentVolumeClaim, key="default/c",
            body={"metadata": {"annotations": {"hello": "world"}}},
        ),
    ),
    ready=lambda cluster: cluster.catalog.get(PersistentVolumeClaim, "default/c") is not None,
    objects=((PersistentVolumeClaim, "default/c"),),
    seconds=5,
)  # fmt: skip


class Careful(hook.Reserve, hook.Permit, hook.PreBind, hook.Requeues):
    """Answers what a test says, and counts what it holds."""

    name = "Careful"

    def __init__(self, *, reserve: Any = None, permit: Any = None, check: Any = hook.SKIP) -> None:
        self.answers = {"reserve": reserve, "permit": permit, "check": check}
        self.held: list[str] = []

    def reserve(self, cycle: Cycle, node: Node) -> Any:
        self.held.append(cycle.pod.name)
        return self.answers["reserve"]

    def unreserve(self, cycle: Cycle, node: Node) -> None:
        if cycle.pod.name in self.held:
            self.held.remove(cycle.pod.name)

    def permit(self, cycle: Cycle, node: Node) -> Any:
        return self.answers["permit"]

    def pre_bind_check(self, cycle: Cycle, node: Node) -> Any:
        answer = self.answers["check"]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def pre_bind(self, binding: mr.Binding) -> None:
        raise AssertionError("the core runs nothing that may wait")

    def requeue_on(self) -> list[hook.RequeueHint]:
        return []


def pod(name: str, cpu: str = "1", priority: int = 0) -> Pod:
    made = make_pod(name, requests={"cpu": cpu}).raw
    meta = {**made["metadata"], "uid": f"{name}-uid", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return Pod.from_dict({**made, "metadata": meta, "spec": {**made["spec"], "priority": priority}})


class BindingWorld(World):
    """One node, a plugin; bindings are made when a test says so."""

    def __init__(
        self,
        plugin: hook.Hook | None = None,
        *pods: Pod,
        observers: Mapping[str, Observer] | None = None,
    ) -> None:
        self.nominated: list[tuple[str, str | None]] = []
        #: Whether the watch shows what is written to pods' statuses.
        self.watched = True
        policy = mr.Policy("test")
        if plugin is not None:
            policy.add(plugin)
        node = make_node("a", cpu="4", memory="16Gi")
        super().__init__(node, *pods, policy=policy, observers=observers)
        self.prompt = False
        self.run()

    def _patch(self, effect: PatchStatus) -> None:
        if effect.nominated_node is not None:
            before = effect.pod.status.nominated_node_name or ""
            if before != effect.nominated_node:  # the shell leaves out what is as it should be
                self.nominated.append((effect.pod.name, effect.nominated_node))
        if self.watched:
            super()._patch(effect)

    def fail(self, effect: Bind, message: str, *, rejected: bool = False) -> None:
        node = effect.binding.node_name
        report = BindFailed(effect.pod, node, message, rejected=rejected)
        self.do(self.core.report(report, self.now))

    def sub_queue(self, name: str) -> SubQueue:
        queued = self.core.queue.get(f"default/{name}")
        assert queued is not None
        return queued.sub_queue


class TestBeforeTheBinding:
    def test_a_pod_without_work_before_its_binding_is_bound_at_once(self) -> None:
        world = BindingWorld(Careful(), pod("p"))
        (effect,) = world.binds
        assert (effect.plans, effect.pre_binds, effect.takes_time) == ((), frozenset(), False)
        assert world.nominated == []

    def test_a_plan_goes_with_the_binding_and_the_node_is_written_to_the_pod(self) -> None:
        world = BindingWorld(Careful(reserve=PLAN), pod("p"))
        (effect,) = world.binds
        ((plugin, plan),) = effect.plans
        assert (plugin, plan) == ("Careful", PLAN)
        assert effect.takes_time
        assert world.nominated == [("p", "a")]
        (cycle,) = world.core.binding
        assert cycle.plan_seconds == 5

    def test_a_hook_that_takes_part_is_run_and_the_node_is_written_to_the_pod(self) -> None:
        world = BindingWorld(Careful(check=None), pod("p"))
        (effect,) = world.binds
        assert (effect.plans, effect.pre_binds, effect.takes_time) == ((), {"Careful"}, True)
        assert world.nominated == [("p", "a")]

    def test_a_plugin_that_says_nothing_takes_part(self) -> None:
        class Silent(hook.PreBind):
            name = "Silent"

            async def pre_bind(self, binding: mr.Binding) -> None:
                pass

        world = BindingWorld(Silent(), pod("p"))
        assert [one.pre_binds for one in world.binds] == [{"Silent"}]

    def test_the_default_plugins_have_nothing_to_do_for_a_plain_pod(self) -> None:
        world = BindingWorld(None, pod("p"))
        assert [one.takes_time for one in world.binds] == [False]

    def test_a_pod_that_waits_for_permission_is_nominated_once_and_keeps_its_plan(self) -> None:
        plugin = Careful(reserve=PLAN, permit=hook.Wait(30), check=None)
        world = BindingWorld(plugin, pod("p"))
        assert (world.binds, world.nominated) == ([], [("p", "a")])
        waiting = world.core.waiting.get("default/p")
        assert waiting is not None
        waiting.allow("Careful")
        world.run()
        (effect,) = world.binds
        assert ([one.plan for one in effect.plans], effect.pre_binds) == ([PLAN], {"Careful"})
        assert world.nominated == [("p", "a")]

    @pytest.mark.parametrize("answer", [True, "no", mr.reject("no"), ZeroDivisionError("oops")])
    def test_a_check_that_fails_gives_everything_back(self, answer: object) -> None:
        plugin = Careful(check=answer)
        world = BindingWorld(plugin, pod("p"))
        assert (world.binds, world.used, plugin.held) == ([], [0], [])
        (_, reason, note) = world.events[-1]
        assert reason == "FailedScheduling"
        assert note.startswith("plugin Careful failed in pre_bind_check for pod default/p: ")
        assert world.sub_queue("p") is SubQueue.ERROR_BACKOFF

    def test_the_sample_plugin_waits_until_a_node_has_the_dataset(self) -> None:
        sample = Path(__file__).parents[3] / "docs" / "samples" / "dataset_plugin.py"
        world = BindingWorld(runpy.run_path(str(sample))["Datasets"](), pod("plain"))
        labels = {"example.com/dataset": "genes"}
        world.put(make_pod("p", labels=labels))
        world.run()
        plain, effect = world.binds
        assert not plain.takes_time
        ((plugin, plan),) = effect.plans
        assert (plugin, plan.doing) == ("Datasets", "fetching dataset genes")
        assert plan.ready is not None
        assert plan.ready(world.cluster) is False
        world.put(make_node("a", cpu="4", labels={"datasets.example.com/genes": "here"}))
        assert plan.ready(world.cluster) is True
        world.delete(world.cluster.nodes["a"])
        assert plan.ready(world.cluster) is False

    def test_from_then_on_no_events_are_kept_for_the_pod(self) -> None:
        """It is tried again whatever happens, so nobody has to know what did."""
        world = BindingWorld(Careful(check=None), pod("p"))
        assert len(world.core.queue.in_flight) == 0
        assert len(world.core.queue) == 0


class TestFailures:
    def test_a_rejection_makes_the_pod_unschedulable_and_it_is_tried_after_its_backoff(
        self,
    ) -> None:
        """As with kube-scheduler: after Permit, no requeue hint counts any more."""
        plugin = Careful(check=None)
        world = BindingWorld(plugin, pod("p"))
        world.fail(world.binds.pop(), "licence server says no", rejected=True)
        assert world.conditions == [("p", "Unschedulable", "licence server says no")]
        assert world.events == [("p", "FailedScheduling", "licence server says no")]
        assert (world.used, plugin.held) == ([0], [])
        assert world.sub_queue("p") is SubQueue.ERROR_BACKOFF
        world.wait(3)
        assert [one.pod.name for one in world.binds] == ["p"]

    def test_a_failure_is_an_error_of_the_scheduler(self) -> None:
        world = BindingWorld(Careful(check=None), pod("p"))
        world.fail(world.binds.pop(), 'running PreBind plugin "Careful": oops')
        told = 'running PreBind plugin "Careful": oops'
        assert world.conditions == [("p", "SchedulerError", told)]

    @pytest.mark.parametrize("watched", [True, False])
    def test_a_node_that_was_written_to_the_pod_is_taken_back(self, watched: bool) -> None:
        """Though the watch may not have shown yet that it was written."""
        world = BindingWorld(Careful(check=None))
        world.watched = watched
        world.put(pod("p"))
        world.run()
        world.fail(world.binds.pop(), "no", rejected=True)
        assert world.nominated == [("p", "a"), ("p", "")]
        assert world.cluster.nominations.node_of("default/p") is None

    def test_a_node_that_was_not_written_is_not_taken_back(self) -> None:
        world = BindingWorld(Careful(), pod("p"))
        world.fail(world.binds.pop(), "no")
        assert world.nominated == []

    def test_a_report_that_comes_twice_changes_nothing(self) -> None:
        world = BindingWorld(Careful(check=None), pod("p"))
        effect = world.binds.pop()
        world.fail(effect, "no", rejected=True)
        events = list(world.events)
        world.fail(effect, "no", rejected=True)
        assert world.events == events

    def test_others_may_have_the_room_that_is_free_again(self) -> None:
        world = BindingWorld(Careful(check=None), pod("p", "4"))
        world.put(pod("other", "2"))
        world.run()
        assert world.sub_queue("other") is SubQueue.UNSCHEDULABLE
        world.fail(world.binds.pop(), "no", rejected=True)
        world.wait(1)
        assert [one.pod.name for one in world.binds] == ["other"]


class TestVictims:
    def crowded(self, plugin: Careful) -> BindingWorld:
        """A pod takes the whole node and is not bound yet; a more important one needs it."""
        world = BindingWorld(plugin, pod("low", "4"))
        plugin.answers["permit"] = None
        world.put(pod("vip", "4", priority=100))
        world.run()
        return world

    def test_one_that_waits_for_permission_goes_back_to_the_queue(self) -> None:
        world = self.crowded(Careful(permit=hook.Wait(30)))
        (evict,) = world.evicts
        assert evict.victims == ()
        note = "Preempted by pod vip-uid on node a (in kube-scheduler memory)."
        assert ("low", "Preempted", note) in world.events
        world.run()
        told = "waiting on permit for pod: preempted"
        assert ("low", "SchedulerError", told) in world.conditions
        assert world.sub_queue("low") is SubQueue.ERROR_BACKOFF
        assert world.used == [0]

    def test_one_that_is_being_bound_is_left_to_who_binds_it(self) -> None:
        world = self.crowded(Careful(check=None))
        (evict,) = world.evicts
        assert isinstance(evict, PreemptVictims)
        assert [one.name for one in evict.victims] == ["low"]
        assert evict.plugin == "DefaultPreemption"

    def test_its_binding_cycle_may_be_broken_off_and_the_room_is_for_the_other(self) -> None:
        world = self.crowded(Careful(check=None))
        (low,) = world.binds
        world.binds.clear()
        told = 'running PreBind plugin "Careful": preempted by DefaultPreemption'
        world.fail(low, told)
        assert world.conditions[-1] == ("low", "SchedulerError", told)
        assert world.sub_queue("low") is SubQueue.ERROR_BACKOFF
        world.evict(replace(world.evicts[0], victims=()))
        world.wait(1)
        assert [one.pod.name for one in world.binds] == ["vip"]
        assert world.used == [4000]

    def test_one_that_was_bound_after_all_is_deleted(self) -> None:
        world = self.crowded(Careful(check=None))
        (low,) = world.binds
        world.binds.clear()
        world.do(world.core.report(Bound(low.pod, "a"), world.now))
        world.evict(world.evicts[0])
        world.wait(1)
        assert [one.pod.name for one in world.binds] == ["vip"]


class Failing(Observer):
    """Fails over one of the steps that it is told of."""

    def __init__(self, step: str) -> None:
        self.step = step

    def started(self, point: str) -> None:
        self._fail(f"started {point}")

    def reserved(self, rejection: Rejection | None) -> None:
        self._fail("reserved")

    def permitted(self, answer: object) -> None:
        self._fail("permitted")

    def waited(self, code: str, seconds: float) -> None:
        self._fail("waited")

    def failed(self) -> None:
        self._fail("failed")

    def _fail(self, step: str) -> None:
        if step == self.step:
            raise ZeroDivisionError("the metrics are gone")


@pytest.mark.parametrize(
    ("step", "answers"),
    [
        ("started Reserve", {}),
        ("reserved", {}),
        ("reserved", {"reserve": mr.reject("no")}),
        ("failed", {"reserve": 7}),
        ("started Permit", {}),
        ("permitted", {}),
        ("permitted", {"permit": mr.reject("no")}),
        ("failed", {"permit": 7}),
        ("waited", {"permit": hook.Wait(1)}),
    ],
)
def test_a_pod_is_not_lost_if_who_watches_fails(step: str, answers: dict[str, Any]) -> None:
    plugin, observer = Careful(**answers), Failing(step)
    world = BindingWorld(plugin, pod("p"), observers={"default-scheduler": observer})
    world.wait(2)
    assert (world.binds, world.used, plugin.held) == ([], [0], [])
    assert world.sub_queue("p") is SubQueue.ERROR_BACKOFF
    assert world.conditions[-1][1:] == (
        "SchedulerError", "internal error: ZeroDivisionError: the metrics are gone",
    )  # fmt: skip
    observer.step = ""
    plugin.answers |= {"reserve": None, "permit": None}
    world.wait(20)
    assert [one.pod.name for one in world.binds] == ["p"]


@pytest.mark.parametrize("forks", [False, True])
def test_reserve_and_permit_see_the_pod_on_its_node(forks: bool) -> None:
    seen: list[int] = []

    class Looking(Careful, hook.PreFilter):
        def pre_filter(self, cycle: Cycle) -> None:
            if forks:
                cycle.cluster.fork()

        def reserve(self, cycle: Cycle, node: Node) -> None:
            seen.append(node.used["cpu"])

        def permit(self, cycle: Cycle, node: Node) -> None:
            seen.append(node.used["cpu"])

    policy = mr.Policy("looking")
    policy.add(Looking())
    world = World(make_node("n"), pod("p"), policy=policy)
    world.run()
    assert seen == [1000, 1000]


def test_a_pod_that_somebody_else_has_bound_meanwhile_makes_no_room_when_its_binding_fails() -> (
    None
):
    world = World(make_node("n", cpu="2"))
    world.prompt = False
    pod = make_pod("p", requests={"cpu": "2"})
    world.put(pod)
    world.run()
    world.put(make_pod("next", requests={"cpu": "2"}))
    world.run()
    world.put(replace(pod, spec=replace(pod.spec, node_name="n")))
    world.reject(world.binds[0], "pod p is already assigned to node n")
    queued = world.core.queue.get("default/next")
    assert queued is not None
    assert queued.sub_queue is SubQueue.UNSCHEDULABLE


@pytest.mark.parametrize("answer_first", [True, False])
def test_a_pod_that_needs_another_is_tried_when_that_is_bound_whoever_tells_first(
    answer_first: bool,
) -> None:
    near = {"topologyKey": "host", "labelSelector": {"matchLabels": {"app": "web"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}
    web = make_pod("web", labels={"app": "web"})
    cache = make_pod("cache", spec={"affinity": affinity})
    world = World(make_node("n", labels={"host": "n"}), cache)
    world.run()
    world.put(web)
    world.prompt = False
    world.run()
    (effect,) = world.binds
    if answer_first:
        world.do(world.core.report(Bound(effect.pod, "n"), world.now))
    world.put(effect.pod.placed("n", {}))
    if not answer_first:
        world.do(world.core.report(Bound(effect.pod, "n"), world.now))
    world.wait(20)
    assert [one.pod.name for one in world.binds] == ["web", "cache"]
